"""The word number of each token, computed in a graph, equals that of a result in Python."""

import numpy as np
import pytest
import steps
import tensorflow as tf
from animals import SENTENCES, SIZES

from keras_bahdanau.pipelines.confidence import word_spans_of
from keras_bahdanau.text.alignments import join_subwords, word_spans
from keras_bahdanau.text.copies import copied_tokens, decode_copying
from keras_bahdanau.text.ids import graph_word_numbers, word_parts
from keras_bahdanau.text.subwords import Subwords

TEXTS = [
    'the cat, the dog: "don\'t" (really)!',
    "猫 the 猫猫 dog猫, no.",
    "The cat's at 3.14 o'clock - isn't it?",
    "",
    " ",
    "dog",
    "zig zag ☃☃ the☃cat",
    "<V> the cat <V>",
]


def expected_numbers(tokens):
    """Compute the same numbers from the spans of `Translation.words`."""
    numbers = np.full(len(tokens), -1)
    for number, (_, first, last) in enumerate(word_spans_of(tokens, text="")):
        numbers[first : last + 1] = number
    return numbers.tolist()


@pytest.fixture(params=["in Python", pytest.param("in LiteRT", marks=pytest.mark.slow)])
def answer(request):
    """`answer(function, array)`: the output of a function, run in a graph or converted."""
    if request.param == "in LiteRT":
        return steps.litert
    return lambda function, array: tf.function(function)(array)


def assert_same(subwords, rows, answer):
    parts = word_parts(subwords.tokens(range(subwords.vocabulary_size)))
    ids = np.zeros((len(rows), max(map(len, rows)) + 1), np.int32)
    for row, one in zip(ids, rows, strict=True):
        row[: len(one)] = one
    found = np.asarray(answer(lambda ids: graph_word_numbers(ids, parts), ids))
    assert found.dtype == np.int32 and found.shape == ids.shape
    for numbers, one in zip(found.tolist(), rows, strict=True):
        tokens = subwords.tokens(one).tolist() if len(one) else []
        assert numbers[: len(one)] == expected_numbers(tokens), tokens
        assert set(numbers[len(one) :]) == {-1}
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "model_type, normalization",
    [*((name, "nmt_nfkc") for name in SIZES), ("char", "none"), ("char", "nfd")],
)
def test_texts_have_the_words_of_a_translation(model_type, normalization, answer):
    subwords = Subwords.train(
        [*SENTENCES, *TEXTS[:3], "<V> ,"],
        90,
        model_type=model_type,
        normalization=normalization,
        symbols=["<V>"],
        exact=False,
    )
    rows = subwords.encode(TEXTS)
    found = assert_same(subwords, [*rows, rows[0][:3], rows[1][:-1]], answer)
    assert found.max() >= 4 and any(1 in row for row in rows)  # an unknown token occurs


def test_any_tokens_have_the_words_of_a_translation(answer):
    subwords = Subwords.train(["a b ab ▁ ▁a"] * 3 + ["<V> a"], 20, symbols=["<V>"], exact=False)
    random = np.random.default_rng(4)
    usual = [one for one in range(1, subwords.vocabulary_size) if one != 3]
    rows = [[*random.choice(usual, random.integers(7))] for _ in range(300)]
    rows = [[*row, 3] if random.random() < 0.5 else row for row in rows]
    assert_same(subwords, [np.array(row, np.int32) for row in rows], answer)


def test_tokens_around_copies_have_the_words_of_the_text():
    """Letters after a copy belong to its last word; a copy of several words shifts later ones."""
    subwords = Subwords.train(["a b ab ▁ ▁a"] * 3 + ["<V> a"], 20, symbols=["<V>"], exact=False)
    parts = word_parts(subwords.tokens(range(subwords.vocabulary_size)))
    random = np.random.default_rng(5)
    usual = [one for one in range(1, subwords.vocabulary_size) if one not in (2, 3)]
    chances = np.array([5 if one == 1 else 1 for one in usual], float)
    ids = random.choice(usual, (300, 6), p=chances / chances.sum()).astype(np.int32)
    copies = random.choice(np.array(["a", "b c", "x y z", "⁇"], object), ids.shape)
    words = graph_word_numbers(ids, parts, tf.constant(copies)).numpy()
    for row, given, numbers in zip(ids, copies, words.tolist(), strict=True):
        tokens = copied_tokens(subwords.tokens(row).tolist(), given)
        *spans, (end, _) = word_spans(tokens).tolist()
        assert numbers == [first if first < end else -1 for first, _ in spans], tokens
        assert end == len(decode_copying(subwords, row, given).split()) or 1 not in row


def test_axes_before_are_kept():
    subwords = Subwords.train(SENTENCES, 40)
    parts = word_parts(subwords.tokens(range(40)))
    (ids,) = subwords.encode(["the cat"])
    whole = graph_word_numbers(np.stack([[ids, 0 * ids]]), parts).numpy()
    assert whole.shape == (1, 2, len(ids))
    assert whole[0, 0].tolist() == graph_word_numbers(ids, parts).numpy().tolist()
    assert set(whole[0, 1].tolist()) == {-1}
    assert graph_word_numbers(np.zeros((2, 0), np.int32), parts).shape == (2, 0)


def test_letters_that_spell_the_unknown_token_are_one_word():
    words, _ = join_subwords(["▁", *"<unk>", "e", "d", "<unk>", "x"])
    assert words == ["<unk>ed", "<unk>", "x"]
