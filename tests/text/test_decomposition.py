"""Characters are read decomposed and written composed, by rules inside the vocabulary's model."""

import random
import tempfile
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.text import Subwords
from keras_bahdanau.text.copies import decode_copying, graph_texts
from keras_bahdanau.text.vocabulary import UNKNOWN, drop_composition
from keras_bahdanau.text.vocabulary_update import appended

HAN = ["\u1112", "\u1161", "\u11ab"]  # h, a and n
ACUTE = "\u0301"
TEXTS = ["한국 가나", "여덟", f"q{ACUTE} été", "<é> a"]


def trained(model_type="char", texts=TEXTS, **settings):
    settings = {"model_type": model_type, "normalization": "nfd", "exact": False, **settings}
    return Subwords.train(texts, 100, **settings)


@pytest.fixture(scope="module")
def subwords():
    return trained(symbols=["<é>"])


def tokens(subwords, text):
    (ids,) = subwords.encode([text])
    return subwords.tokens(ids).tolist()[:-1]  # without the end token


def test_a_syllable_is_read_in_letters_and_written_whole(subwords):
    assert tokens(subwords, "한") == HAN
    assert subwords.decode(subwords.encode(["한"])) == ["한"]


def test_a_syllable_that_no_text_had_is_read_if_its_letters_are_known(subwords):
    assert "학" not in "".join(TEXTS)
    assert tokens(subwords, "학") == [*HAN[:2], "\u11a8"]
    assert tokens(trained(normalization="none"), "학") == ["<unk>"]


def test_a_character_of_an_unknown_part_is_one_unknown_token(subwords):
    assert tokens(subwords, "뷁éà") == ["<unk>", "e", ACUTE, "<unk>"]  # no grave accent


def test_every_space_stays(subwords):
    assert tokens(subwords, " 나  ") == ["▁", "\u1102", "\u1161", "▁", "▁"]
    assert subwords.decode(subwords.encode([" 나  가 "])) == [" 나  가 "]


def test_a_symbol_is_one_token_though_it_has_parts(subwords):
    for text in ("<é> é", f"<e{ACUTE}> é"):
        assert tokens(subwords, text) == [f"<e{ACUTE}>▁", "e", ACUTE]


def test_frequent_syllables_are_tokens_of_a_vocabulary_of_graphemes():
    graphemes = trained("grapheme")
    assert tokens(graphemes, "한학") == ["".join(HAN), *HAN[:2], "\u11a8"]
    assert graphemes.decode(graphemes.encode(["한학 é"])) == ["한학 é"]


@pytest.mark.few(1)
@pytest.mark.parametrize("model_type", ["char", "bpe", "word"])
def test_texts_come_back_in_the_composed_form_of_unicode(model_type):
    """The form is that of `unicodedata`, for text in which each letter has at most one mark."""
    draw = random.Random(5)
    syllables = [chr(draw.randrange(0xAC00, 0xD7A4)) for _ in range(300)]
    letters = [*"aeio", "ñ", "É", "ü", "ệ", "が", f"q{ACUTE}", f"e{ACUTE}", "ァ"]
    words = ["".join(draw.choices([*syllables, *letters], k=3)) for _ in range(300)]
    subwords = trained(model_type, words, character_coverage=1.0)
    texts = words if model_type != "word" else subwords.decode(subwords.encode(words))
    rows = subwords.encode(words)
    assert subwords.decode(rows) == [unicodedata.normalize("NFC", text) for text in texts]
    if model_type == "char":
        joined = ["".join(subwords.tokens(row)[:-1]) for row in rows]
        assert joined == [unicodedata.normalize("NFD", text) for text in words]


def test_a_graph_splits_and_joins_alike(subwords):
    texts = [*TEXTS, "학 뷁", "", " 나  ", f"q{ACUTE}e{ACUTE}", "<é>한"]
    ids = subwords.encode(texts)
    found = subwords.graph.tokenize(tf.constant(texts))
    assert found.to_list() == [row.tolist() for row in ids]
    joined = subwords.graph.detokenize(found.to_tensor(0)).numpy().tolist()
    assert [text.decode() for text in joined] == subwords.decode(ids)


def test_a_text_with_a_copied_word_is_composed_too(subwords):
    ids = np.array([*subwords.encode(["한"])[0][:-1], UNKNOWN], np.int32)
    copies = np.array(["", "", "", "서울"], object)
    assert decode_copying(subwords, ids, copies) == "한 서울"
    in_graph = graph_texts(subwords.graph, ids[None, None], tf.constant([[copies.tolist()]]))
    assert in_graph.numpy()[0, 0].decode() == "한 서울"


def test_the_same_text_gives_the_same_model_without_traces_of_this_machine():
    assert trained() == trained()
    assert tempfile.gettempdir().encode() not in trained().model


def test_a_model_that_writes_no_text_has_no_rules_to_compose(subwords):
    reading = Subwords(drop_composition(subwords.model))
    assert tokens(reading, "한학") == tokens(subwords, "한학")
    assert len(reading.model) < len(subwords.model) - 1000
    plain = trained(normalization="none").model
    assert drop_composition(plain) is plain


def test_a_text_without_parts_has_no_rules():
    plain = trained(texts=["xyz"])
    assert tokens(plain, "xzé") == ["x", "z", "<unk>"]
    assert plain.decode(plain.encode(["x y"])) == ["x ⁇ y"]


@pytest.mark.parametrize("model_type", ["word", "grapheme"])
def test_marks_are_learnt_in_the_order_in_which_they_are_read(model_type):
    """Unicode would put U+031E first, since its combining class is lower than the tilde's."""
    text = "\u1ebd\u031e"  # e with a tilde, and a mark below
    subwords = trained(model_type, [f"{text} a"] * 9)
    assert "<unk>" not in tokens(subwords, text)
    expected = {"word": ["▁e\u0303\u031e"], "grapheme": ["e\u0303\u031e"]}[model_type]
    assert tokens(subwords, text) == expected


def test_a_vocabulary_of_letters_gets_letters_for_new_syllables():
    old = trained(texts=["가나"])
    new, size = appended(old, ["닭읽"], most=9), old.vocabulary_size
    letters = unicodedata.normalize("NFD", "닭읽")
    added = new.tokens(np.arange(size, new.vocabulary_size))
    assert {*added} == {*letters} - {*old.tokens(np.arange(size))}
    # A syllable that no text contains.
    assert tokens(new, "앍") == [*unicodedata.normalize("NFD", "앍")]
    assert tokens(old, "가나") == tokens(new, "가나") == [*unicodedata.normalize("NFD", "가나")]
    assert new.decode(new.encode(["닭읽가나"])) == ["닭읽가나"]
