"""Text as a source: ids by hand, strings and bytes, hostile ids, and inputs that aren't text."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from sources_of_each_kind import new_source

from keras_bahdanau.sources import TextSource
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text import Subwords


@pytest.fixture(scope="module")
def source():
    return TextSource(Subwords.train(["a b c d"], 9, model_type="word", exact=False))


def id_of(source, token):
    return source.subwords.tokens(np.arange(source.size)).tolist().index(token)


def test_features_by_hand(source):
    a, b = id_of(source, "▁a"), id_of(source, "▁b")
    rows = source.rows(["b a b", "", "a x", " \t"])
    assert rows.lengths.tolist() == [4, 0, 3, 0]
    features = rows.padded(np.arange(4), (4, 4))
    assert features.tolist() == [[b, a, b, 3], [0] * 4, [a, 1, 3, 0], [0] * 4]
    assert source.labels(features)[:2] == [["▁b", "▁a", "▁b", "</s>"], []]
    assert source.labels(features)[2][0] == "▁a"


def test_words_are_those_of_the_text(source):
    known, empty = source.words(["b a", ""])
    assert known.tolist() == [[0, 0], [1, 1], [2, 2]] and empty.shape == (0, 2)
    (unknown,) = source.words(["a x y b"])  # one token for the two words between
    assert unknown.tolist() == [[0, 0], [1, 2], [3, 3], [4, 4]]


def test_strings_and_their_bytes_are_one_input(source):
    for text in ("a ☃", "", "d"):
        assert source.key(text) == source.key(text.encode())
        one, other = source.rows([text, text.encode()]).padded([0, 1], (2, 5))
        np.testing.assert_array_equal(one, other)
    assert source.key("a b") != source.key("b a")


def test_ids_of_no_vocabulary_become_unknown(source):
    hostile = tf.constant([[-1, source.size, 3], [2**31 - 1, -(2**31), 0]])
    assert source.sanitize(hostile).numpy().tolist() == [[1, 1, 3], [1, 1, 0]]
    found = source.features_from(hostile, tf.constant([9, 1]))
    assert found.numpy().tolist() == [[1, 1, 3], [1, 0, 0]]
    found = source.features_from(hostile, tf.constant([-5, 0]))
    assert not found.numpy().any()
    assert source.features_from(hostile[:, :0], tf.constant([3, 0])).shape == (2, 1)


def test_columns_behind_the_longest_row_of_a_request_are_left_out(source):
    wide = tf.pad(tf.constant([[1, 3], [3, 0]]), [[0, 0], [0, 510]])
    found = source.features_from(wide, tf.constant([2, 1]))
    assert found.numpy().tolist() == [[1, 3], [3, 0]]
    assert source.features_from(wide[:0], tf.constant([], tf.int32)).shape == (0, 1)


def test_its_file_is_the_vocabulary(source):
    (model,) = source.assets.values()
    assert [*source.assets] == ["source.spm"] and Subwords(model) == source.subwords


def test_equal_vocabularies_are_equal_sources(source):
    twin = TextSource(Subwords(source.subwords.model))
    assert twin == source and {twin, source} == {source}
    assert source != new_source("char") and source != source.subwords


def test_the_place_of_features_is_part_of_a_source_that_has_some():
    subwords = Subwords.train(["walk <V>"], 20, model_type="char", exact=False, symbols=["<V>"])
    first, last = (TextSource(subwords, place) for place in ("first", "last"))
    assert first != last and TextSource(subwords) == last
    assert [TextSource.from_config(one.get_config()) for one in (first, last)] == [first, last]
    old = {"subwords": subwords.get_config()}  # from a version that supported only one place
    assert TextSource.from_config(old) == first
    assert first.replace_subwords(subwords) == first
    with pytest.raises(ValueError, match="'first' .* 'last' .* Received: feature_place='behind'"):
        TextSource(subwords, "behind")


def test_without_a_symbol_the_place_does_not_count(source):
    assert TextSource(source.subwords, "first") == source


def test_its_symbols_are_the_ids_of_equal_tokens_of_a_target(source):
    target = Subwords.train(["c x a a"], 8, model_type="word", exact=False)
    symbols = source.symbols(target)
    names = [target.tokens(one) if one >= 0 else None for one in symbols]
    assert names[:4] == [None, "<unk>", "<s>", "</s>"]
    known = {"▁a": "▁a", "▁c": "▁c", "▁b": None, "▁d": None}
    assert names[4:] == [known[source.subwords.tokens(one)] for one in range(4, 8)]
    assert source.symbols(source.subwords) == [-1, *range(1, source.size)]


def test_subwords_stand_for_their_source(source):
    assert source_of(source) is source
    assert source_of(source.subwords) == source
    with pytest.raises(TypeError, match="`source` must be .* Received: source of type str"):
        source_of("text")


@pytest.mark.parametrize(
    "inputs, received",
    [("one", "texts='one'. Put it in a list"), (["a", None], r"texts\[1\]=None"), ([["a"]], "0")],
)
def test_what_is_no_list_of_strings_is_refused(source, inputs, received):
    with pytest.raises(
        TypeError, match=f"`texts` must be a list of strings. Received: .*{received}"
    ):
        source.check("texts", inputs)


def test_a_config_holds_the_vocabulary(source):
    config = keras.saving.serialize_keras_object(source)
    assert config["config"]["subwords"] == source.subwords.get_config()
    assert keras.saving.deserialize_keras_object(config).subwords == source.subwords


BLANK = [" ", "   ", "\t", "\n", "\u00a0", "\u3000", "\u200b", "\ufeff", " \u2060\u00ad ", "\x00"]


@pytest.mark.parametrize("normalization", ["none", "identity", "nmt_nfkc"])
def test_a_blank_sentence_is_empty_on_the_host_and_in_a_graph(normalization):
    settings = {"model_type": "char", "normalization": normalization, "exact": False}
    source = TextSource(Subwords.train(["a b", *BLANK[3:]], 40, **settings))
    assert source.rows(BLANK).lengths.tolist() == [0] * len(BLANK)
    assert source.sizes(BLANK) == [0] * len(BLANK)
    rows, truncated = source.cut(BLANK, 2)[1:]
    assert rows.lengths.tolist() == [0] * len(BLANK) and not truncated.any()
    assert not source.features(tf.constant(BLANK)).numpy().any()
    visible = [" a", "\u200ba", b"a\xff", "\u3000b"]
    features = source.features(tf.constant(visible)).numpy()
    assert (features != 0).any(axis=1).all() and (source.rows(visible).lengths > 0).all()


def test_a_sentence_that_is_blank_as_far_as_it_is_read_is_empty_and_cut():
    settings = {"model_type": "char", "normalization": "none", "exact": False}
    source = TextSource(Subwords.train(["a b"], 9, **settings))
    texts = [" " * 2000, " " * 2000 + "a"]
    _, rows, truncated = source.cut(texts, 5)
    inputs, features, longer = source.cut_request(5, text=tf.constant(texts))
    assert rows.lengths.tolist() == [0, 0] and not features.numpy().any()
    assert truncated.tolist() == longer.numpy().tolist() == [False, True]
