"""Rows of ids encoded word by word equal those encoded by sentence, for any text."""

import random
import sys

import numpy as np
import pytest

from keras_bahdanau.text import id_rows
from keras_bahdanau.text.id_rows import IdRows, rows_by_word
from keras_bahdanau.text.subwords import Subwords

TEXT = ["the lower the newest the widest", "low lower lowest", "wide new ½ … ① ﬁ", "neu weit"] * 3
ODD = [
    "",
    " ",
    "  low  er ",
    "low\u00a0er",
    "\u3000",
    "a\u200bb \u200b c",
    "¨ x¨ ¨x",
    "\u0308 x \u0308",
]
ODD += [
    "\u2581",
    "low\u2581 er \u2581",
    "<2de> lower",
    "x<2de>y<2de>",
    "☃☃ ☃",
    "low\ter\r",
    "\x1c \x85",
]


def same(rows, others):
    return (rows.lengths == others.lengths).all() and (rows.flat() == others.flat()).all()


@pytest.fixture(scope="module", params=["nmt_nfkc", "identity", "nfkc_cf"])
def subwords(request):
    settings = {"normalization": request.param, "symbols": ("<2de>",)}
    return Subwords.train(TEXT, 60, exact=False, **settings)


@pytest.mark.parametrize("end_of_empty", [True, False])
def test_rows_by_word_are_those_by_sentence(subwords, end_of_empty):
    for sentences in ([], [""], TEXT, ODD, [*ODD, *TEXT]):
        expected = IdRows.encoded(subwords, sentences, end_of_empty)
        assert same(rows_by_word(subwords, sentences, end_of_empty), expected)


@pytest.mark.parametrize("step", [1201, pytest.param(11, marks=pytest.mark.slow)])
def test_every_character_stands_for_the_same_ids(subwords, step):
    draw = random.Random(0)
    characters = [chr(i) for i in range(0, sys.maxunicode, step) if not 0xD800 <= i < 0xE000]
    draw.shuffle(characters)
    # Each character occurs next to a space and inside a word.
    sentences = [f"a{one} {one} {one}b low{one}er" for one in characters]
    assert same(rows_by_word(subwords, sentences), IdRows.encoded(subwords, sentences))


def test_words_are_remembered_up_to_a_bound(subwords, monkeypatch):
    monkeypatch.setattr(id_rows, "MOST_WORDS", 3)
    for sentences in (TEXT, ODD, TEXT[::-1]):
        assert same(rows_by_word(subwords, sentences), IdRows.encoded(subwords, sentences))
    assert len(id_rows._words_of(subwords)) < len(set(" ".join([*TEXT, *ODD]).split(" ")))


@pytest.mark.parametrize("model_type", ["unigram", "char", "word"])
def test_other_models_split_whole_sentences(model_type):
    model = Subwords.train(TEXT, 40, model_type=model_type, exact=False)
    sentences = [*TEXT, *ODD]
    assert same(rows_by_word(model, sentences), IdRows.encoded(model, sentences))


def test_rows_can_be_taken_several_times():
    rows = IdRows.from_lists([np.array(one, np.int32) for one in ([4, 3], [], [5, 6, 3])])
    taken = rows.at(np.array([2, 0, 2, 1]))
    assert taken.flat().tolist() == [5, 6, 3, 4, 3, 5, 6, 3]
    assert taken.lengths.tolist() == [3, 2, 3, 0]
