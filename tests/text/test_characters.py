"""Vocabularies of characters, of letters with their marks, and of space-separated symbols."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.text import Subwords

ACUTE, VIRAMA = "e\u0301", "\u1780\u17b6\u1789\u17d2\u1789"  # Latin, Khmer
TEXTS = [
    *("walk in", "Walk  IN", " before", "after ", f"{ACUTE}t{ACUTE}", "été"),
    *("ﬁn ①", "tʰ k̚", VIRAMA, "تَمْحِيصٌ", "ﾀﾞ ダ"),
]
FEATURES = ["<V>", "<PST>", "<3;SG>"]


def trained(model_type, normalization="none", texts=TEXTS, size=200, **settings):
    settings = {"model_type": model_type, "normalization": normalization, **settings}
    return Subwords.train(texts, size, exact=False, **settings)


@pytest.fixture(scope="module", params=["char", "grapheme"])
def subwords(request):
    return trained(request.param, symbols=FEATURES)


def tokens(subwords, text):
    (ids,) = subwords.encode([text])
    return subwords.tokens(ids).tolist()[:-1]  # without the end token


@pytest.mark.parametrize("text", [*TEXTS, "<V> <PST> walk", "", "  ", f" k{ACUTE}  {VIRAMA} "])
def test_a_text_comes_back_as_it_was(subwords, text):
    assert subwords.decode(subwords.encode([text])) == [text]


def test_a_graph_splits_and_joins_alike(subwords):
    texts = [*TEXTS, "", "  ", "<V> <3;SG> walk", "<V>walk", "x<PST> y", "q\tw", "☃ 𓀀"]
    ids = subwords.encode(texts)
    found = subwords.graph.tokenize(tf.constant(texts))
    assert found.to_list() == [row.tolist() for row in ids]
    joined = subwords.graph.detokenize(found.to_tensor(0)).numpy().tolist()
    assert [text.decode() for text in joined] == subwords.decode(ids)


def test_every_space_is_a_token_and_none_is_added():
    assert tokens(trained("char"), " in  k ") == ["▁", "i", "n", "▁", "▁", "k", "▁"]


def test_a_letter_and_its_marks_are_one_token():
    clusters = trained("grapheme")
    assert tokens(clusters, f"{ACUTE}té") == [ACUTE, "t", "é"]
    assert tokens(clusters, VIRAMA)[0] == "\u1780\u17b6"
    assert tokens(clusters, "مْ") == ["مْ"]
    assert tokens(trained("char"), ACUTE) == ["e", "\u0301"]


def test_marks_of_an_unseen_letter_are_tokens_of_their_own():
    assert tokens(trained("grapheme"), "k\u0301") == ["k", "\u0301"]


def test_the_most_frequent_clusters_get_the_ids_that_there_are():
    """Four special tokens, then a, b and two marks, which leaves room for one of two clusters."""
    texts = ["a\u0301b\u0302", "b\u0302"]
    small = Subwords.train(texts, 9, model_type="grapheme", normalization="none")
    assert small.vocabulary_size == 9
    assert tokens(small, texts[0]) == ["a", "\u0301", "b\u0302"]
    whole = Subwords.train(texts, 10, model_type="grapheme", normalization="none")
    assert tokens(whole, texts[0]) == ["a\u0301", "b\u0302"]
    with pytest.raises(ValueError, match="at most 10 .* Received: vocabulary_size=11"):
        Subwords.train(texts, 11, model_type="grapheme", normalization="none")


def test_clusters_are_those_of_the_normalized_text():
    assert tokens(trained("grapheme", "nfkc"), ACUTE) == ["▁", "é"]


def test_each_feature_is_one_token_before_the_characters(subwords):
    found = tokens(subwords, "<V> <3;SG> walk in")
    assert found == ["<V>▁", "<3;SG>▁", *"walk", "▁", *"in"]
    assert tokens(subwords, "<PST>") == ["<PST>"]


@pytest.mark.parametrize("normalization", ["identity", "none"])
def test_symbols_between_spaces_are_a_token_each(normalization):
    lines = ["k̚ tʰ a̠", "AA R  D", "ɲ ɲ aː"]
    symbols = trained("word", normalization, lines, symbols=FEATURES)
    assert tokens(symbols, "tʰ k̚ AA") == ["▁tʰ", "▁k̚", "▁AA"]
    assert symbols.decode(symbols.encode(lines)) == [lines[0], "AA R D", lines[2]]
    assert tokens(symbols, "<V> <3;SG> R") == ["▁<V>", "▁<3;SG>", "▁R"]


@pytest.mark.parametrize(
    ("model_type", "unit", "sizes"),
    [
        # Features, letters and a space count; a mark alone counts, too.
        ("char", "symbols", [2 + 4 + 1 + 2, 0, 2]),
        ("grapheme", "symbols", [2 + 4 + 1 + 2, 0, 1]),
        ("word", "words", [4, 0, 1]),
        ("bpe", "words", [4, 0, 1]),
    ],
)
def test_the_length_of_a_text_of_characters_is_that_of_what_is_read(model_type, unit, sizes):
    found = trained(model_type, symbols=FEATURES)
    assert found.counted_in == unit
    assert found.sizes(["<V> <PST> walk in", "", ACUTE]) == sizes


def test_compatibility_normalization_changes_phonemes():
    """This is why normalization is a choice: NFKC turns aspiration into a letter."""
    assert tokens(trained("word", "nmt_nfkc", ["tʰ a"]), "tʰ") == ["▁th"]


def test_words_of_a_text_without_a_mark_in_front_are_its_own():
    (spans,) = trained("char", symbols=FEATURES).words(["<V> walk in"])
    expected = [0, 1, 1, 1, 1, 2, 2, 2, 3]  # <V>▁ w a l k ▁ i n and the end token
    np.testing.assert_array_equal(spans[:, 0], expected)
    np.testing.assert_array_equal(spans[:, 1], expected)  # a symbol's space belongs to the symbol


def test_symbols_have_ids_that_clusters_of_characters_are_not_among(subwords):
    forms = [form for one in FEATURES for form in (one, f"{one}▁")]
    assert subwords.tokens(subwords.symbol_ids).tolist() == forms
    words = trained("word", symbols=["☃", "<V>"])  # also with a symbol of one character
    assert words.tokens(words.symbol_ids).tolist() == ["☃", "▁☃", "<V>", "▁<V>"]
    assert trained("grapheme").symbol_ids.tolist() == []
