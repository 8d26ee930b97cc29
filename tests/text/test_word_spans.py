"""The words that tokens stand for, however normalization changes the text."""

import numpy as np
import pytest
from animals import PAIRS, SENTENCES, SIZES

from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import UNKNOWN


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train(SENTENCES, 40)


@pytest.fixture(scope="module")
def sides():
    """(source, target): one vocabulary for each side."""
    return Subwords.train_pair(PAIRS, 17, joint=False, model_type="char", normalization="identity")


def words(subwords, sentence):
    """Return (token, first word, last word) for each token of a sentence."""
    (ids,), (spans,) = subwords.encode([sentence]), subwords.words([sentence])
    assert spans.dtype == np.int32
    tokens = subwords.tokens(ids).tolist()
    return [(token, *span) for token, span in zip(tokens, spans.tolist(), strict=True)]


def test_bytes_have_the_words_of_their_text(sides):
    source = sides[0]
    np.testing.assert_array_equal(source.words([b"ad cat"])[0], source.words(["ad cat"])[0])
    assert len(source.words([b"ad \xff cat"])[0]) == len(source.encode([b"ad \xff cat"])[0])


def test_tokens_know_their_words(sides):
    assert words(sides[0], "ad cat") == [
        ("▁", 0, 0),
        ("a", 0, 0),
        ("d", 0, 0),
        ("▁", 1, 1),
        ("c", 1, 1),
        ("a", 1, 1),
        ("t", 1, 1),
        ("</s>", 2, 2),
    ]


def test_any_white_space_separates_words(subwords):
    """White space of the raw text counts, encoded in UTF-8, however normalization changes it."""
    for sentence in ("  the \t dog ", "the\u3000\u00a0dog", "the\u2028dog"):
        found = words(subwords, sentence)
        assert found[0] == ("▁the", 0, 0)
        assert {tuple(span) for _, *span in found[1:-1]} == {(1, 1)}
        assert found[-1] == ("</s>", 2, 2)


def test_normalization_moves_no_token_to_another_word(subwords):
    # One half becomes three characters; a zero-width space becomes a space, but separates no words.
    for sentence, last in (("½ dog", 1), ("é\u200bé dog", 1), ("ﬀ ﬀ dog", 2)):
        found = words(subwords, sentence)
        assert [token for token, *_ in found[-2:]] == ["▁dog", "</s>"]
        assert found[-2][1:] == (last, last)
        assert found[0][1:] == (0, 0)
        assert found[-1][1:] == (last + 1, last + 1)


def test_a_word_model_joins_unknown_words_in_one_token():
    subwords = Subwords.train(SENTENCES, SIZES["word"], model_type="word")
    assert words(subwords, "the zig zag cat") == [
        ("▁the", 0, 0),
        ("<unk>", 1, 2),
        ("▁cat", 3, 3),
        ("</s>", 4, 4),
    ]


@pytest.mark.parametrize("model_type", SIZES)
def test_a_symbol_is_a_word(model_type):
    subwords = Subwords.train(SENTENCES, 44, model_type=model_type, symbols=["<2de>"], exact=False)
    found = words(subwords, "<2de> the")
    assert found[0] == ("▁<2de>", 0, 0)
    assert {tuple(span) for _, *span in found[1:-1]} == {(1, 1)}


def test_there_are_as_many_spans_as_tokens(subwords):
    texts = ["the cat", "", "  ", "猫 é \u2028 dog", "\u200b", "\x1c"]
    for end_of_empty in (True, False):
        spans = subwords.words(texts, end_of_empty)
        assert [*map(len, spans)] == [*map(len, subwords.encode(texts, end_of_empty))]
        assert {one.shape[1] for one in spans} == {2}
    assert subwords.words([]) == []


def test_pieces_know_the_bytes_that_they_stand_for(sides):
    """The spans are equal for strings and for bytes; é has two bytes."""
    for sentence in ("té cat", "té cat".encode()):
        pieces = sides[0].pieces(sentence)
        assert [piece.piece for piece in pieces] == [*"▁té▁cat"]
        assert [piece.id for piece in pieces][2] == UNKNOWN
        # The first word mark stands for no byte.
        spans = [(0, 0), (0, 1), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7)]
        assert [(piece.begin, piece.end) for piece in pieces] == spans
