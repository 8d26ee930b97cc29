"""Random text on both sides: `sentencepiece` on the host, tensorflow-text in the graph."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.text import Subwords
from keras_bahdanau.text.copies import (
    attended_words,
    decode_copying,
    graph_attended_words,
    graph_texts,
)
from keras_bahdanau.text.vocabulary import UNKNOWN

STRINGS, BYTES = 8000, 2000
KNOWN = [
    "the cat sat on the mat",
    "le chien rouge, un chat",
    "ein Mann fährt Rad",
    "猫が 好き です",
    "e\u0301 👩‍👩‍👧 \ufffd one",
] * 4
SIZES = {"bpe": 90, "unigram": 70, "char": 60, "word": 30}
ALPHABETS = [
    "abcdeghmnorstux ",
    "aäéøßﬁ½Ｔｈ  \u00a0",
    "a \t\n\v\f\r\x00\x07\x1b\x1c\x1f\x7f\x85",
    "ab \u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff",
    "aeo\u0301\u0308\u0327\u20e3\u0e33\u0943 ",
    "☃👩🏽\u200d👧🇩🇪🙂\ufe0f a",
    "▁a ▁⁇\ufffd<unk></s>",
    "猫が好き語नमस्तेשלום한 ",
]


def text_of(random):
    """Return a string of one alphabet, any code points, known words, or few repeated characters."""
    kind, length = random.integers(4), int(random.integers(0, 25))
    if kind == 0:
        codes = random.integers(0, 0x110000, length)
        return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)
    letters = ALPHABETS[random.integers(len(ALPHABETS))]
    drawn = "".join(letters[place] for place in random.integers(0, len(letters), length))
    if kind == 1:
        return drawn
    if kind == 2:
        words = KNOWN[random.integers(5)].split()
        words.insert(random.integers(len(words) + 1), drawn)
        return " ".join(words)
    return drawn[:3] * int(random.integers(1, 12)) if length else "a " * 100


def bytes_of(random):
    """Return bytes: all random, or encoded text with some bytes lost or changed."""
    if random.integers(2):
        return random.bytes(random.integers(0, 20))
    content = bytearray(text_of(random).encode())
    for place in random.integers(0, len(content), 2) if content else []:
        content[place] = random.integers(256)
    return bytes(content[random.integers(3) :])


def random_texts(seed, strings, some_bytes):
    random = np.random.default_rng(seed)
    texts = [text_of(random) for _ in range(strings)]
    return texts + [bytes_of(random) for _ in range(some_bytes)]


@pytest.fixture(scope="module")
def texts():
    return random_texts(0, STRINGS, BYTES)


@functools.cache
def trained(model_type):
    return Subwords.train(KNOWN, SIZES[model_type], model_type=model_type, exact=False)


@pytest.fixture(scope="module", params=SIZES)
def subwords(request):
    return trained(request.param)


def different(left, right, texts):
    """Return the first three texts for which two lists differ."""
    return [row for row in zip(texts, left, right, strict=True) if row[1] != row[2]][:3]


def decoded(tensor):
    return np.array([one.decode() for one in tensor.numpy().ravel()], object).reshape(tensor.shape)


def padded(rows):
    return tf.RaggedTensor.from_row_lengths(np.concatenate(rows), [*map(len, rows)]).to_tensor()


def test_the_texts_are_of_all_kinds(texts):
    """Otherwise the tests below would prove nothing."""
    strings, some_bytes = texts[:STRINGS], texts[STRINGS:]
    assert len(set(strings)) > 0.8 * STRINGS and "" in strings
    assert max(map(len, strings)) == 200
    everything = "".join(strings)
    assert set("▁\ufffd\0\u2028\u0301👩") < set(everything)
    assert sum(chr(0xFFFD) in one.decode(errors="replace") for one in some_bytes) > BYTES / 2


@pytest.mark.few(1)
def test_both_sides_split_alike(subwords, texts):
    for end_of_empty in (True, False):
        host = [row.tolist() for row in subwords.encode(texts, end_of_empty)]
        graph = subwords.graph.tokenize(texts, end_of_empty).to_list()
        assert different(host, graph, texts) == []


@pytest.mark.few(1)
def test_both_sides_name_tokens_alike(subwords, texts):
    ids = np.concatenate(subwords.encode(texts))
    assert np.array_equal(subwords.tokens(ids), decoded(subwords.graph.tokens(ids)))
    wild = np.arange(-9, subwords.vocabulary_size + 9)
    assert np.array_equal(subwords.tokens(wild), decoded(subwords.graph.tokens(wild)))


@pytest.mark.few(1)
def test_both_sides_spell_ids_alike(subwords, texts):
    """The ids are those of the texts, and random ones, some of them special or out of range."""
    size = (len(texts), 20)
    wild = np.random.default_rng(1).integers(-3, subwords.vocabulary_size + 3, size)
    for ids in (padded(subwords.encode(texts)).numpy(), wild):
        graph = [text.decode(errors="replace") for text in subwords.graph.detokenize(ids).numpy()]
        assert different(subwords.decode(ids), graph, texts) == []


def words_of_bytes(sentence):
    """Return the word number of each byte; white space belongs to the word after it."""
    number, inside, words = 0, False, []
    for letter in sentence:
        if inside and letter.isspace():
            number += 1
        inside = not letter.isspace()
        words += [number] * len(letter.encode())
    assert number + inside == len(sentence.split())
    return np.array([*words, number + inside])


@pytest.fixture(scope="module")
def words(texts):
    return [words_of_bytes(text) for text in texts[:STRINGS]]


@pytest.mark.few(1)
def test_words_are_those_of_the_offsets_in_the_graph(subwords, texts, words):
    texts = texts[:STRINGS]
    _, begins, ends = subwords.graph.tokenize_with_offsets(texts)
    splits, begins, ends = begins.row_splits.numpy(), begins.values.numpy(), ends.values.numpy()
    graph = []
    for word, start, stop in zip(words, splits[:-1], splits[1:], strict=True):
        first, after = begins[start:stop], ends[start:stop]
        # (tokens, 2): the words of the first and of the last byte.
        spans = np.stack([word[first], word[np.maximum(first, after - 1)]], axis=1)
        graph.append([*spans.tolist(), [word[-1], word[-1]]])
    host = [spans.tolist() for spans in subwords.words(texts)]
    assert different(host, graph, texts) == []
    some, graph = texts[:500], [row if row[1:] else [] for row in graph[:500]]
    host = [spans.tolist() for spans in subwords.words(some, end_of_empty=False)]
    assert different(host, graph, some) == [] and [] in graph


def random_alignments(random, lengths, source_time):
    """Return sums of a few multiples of 1/64, exact in any order, so that ties remain ties."""
    shape = (len(lengths), 8, source_time)
    weights = random.integers(0, 9, shape) * (random.random(shape) < 0.4)
    weights[:, -1] = 0  # a target token that attends to no source token
    real = np.arange(source_time) < lengths[:, None]  # (batch, source_time)
    return (weights * real[:, None] / 64).astype("float32")


@pytest.mark.few(1)
def test_both_sides_replace_unknown_words_alike(subwords):
    random = np.random.default_rng(3)
    texts = [text for text in random_texts(4, 480, 120) if len(text) < 90]
    lengths = np.array([len(row) for row in subwords.encode(texts)])
    alignments = random_alignments(random, lengths, lengths.max())
    words = graph_attended_words(subwords.graph, texts, alignments[:, None])  # (batch, 1, 8)
    host = [
        attended_words(subwords, text, alignment[:, :length]).tolist()
        for text, alignment, length in zip(texts, alignments, lengths, strict=True)
    ]
    assert different(host, decoded(words)[:, 0].tolist(), texts) == []
    assert len({word for row in host for word in row}) > 300

    ids = random.integers(0, subwords.vocabulary_size, (len(texts), 8))
    ids = np.where(random.random(ids.shape) < 0.4, UNKNOWN, ids).astype("int32")
    graph = decoded(graph_texts(subwords.graph, ids[:, None], words))[:, 0].tolist()
    host = [decode_copying(subwords, *row) for row in zip(ids, host, strict=True)]
    assert different(host, graph, texts) == []
