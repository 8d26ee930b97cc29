"""The contract of a source: each member follows the protocol, on the host and in graphs."""

import copy
import inspect
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from sources_of_each_kind import SENTENCES, new_source, padded

from keras_bahdanau.models.encoder import layer_reduction
from keras_bahdanau.sources import FeatureSource, Source, TextSource
from keras_bahdanau.text import Subwords


def traced(function, spec):
    """Trace a function of named tensors as a graph with unknown dimensions."""
    return tf.function(lambda tensors: function(**tensors), input_signature=[spec], autograph=False)


def strings(tensor):
    """Return the strings of each row up to its first empty string."""
    return [[token.decode() for token in row if token] for row in tensor.numpy()]


def time_axis(source):
    """Return the axis of the positions in features with more than one dimension."""
    shorter, longer = (
        keras.tree.flatten(source.batch_spec(1, positions))[0].shape for positions in (64, 128)
    )
    (axis,) = np.flatnonzero(np.not_equal(shorter, longer))
    return int(axis)


def assert_same(found, expected):
    for one, other in zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_a_source_has_every_member(source):
    for name in inspect.get_annotations(Source):
        assert getattr(source, name) is not None, name
    assert source.subwords is None or isinstance(source.subwords, Subwords)


def test_symbols_are_ids_of_a_target_for_each_of_its_own(source):
    target = Subwords.train(SENTENCES, 99, model_type="char", exact=False)
    symbols = source.symbols(target)
    if symbols is not None:
        assert len(symbols) == source.size and symbols[0] == -1
        assert -1 <= min(symbols) and max(symbols) < target.vocabulary_size


@pytest.mark.few(2)
def test_host_and_graph_make_the_same_features(source, inputs, features):
    graph = traced(source.features, source.inputs)
    assert_same(graph(source.requests(inputs)), features)


def test_features_are_as_their_spec_says(source, inputs, features):
    specs = keras.tree.flatten(source.feature_spec)
    for spec, array in zip(specs, keras.tree.flatten(features), strict=True):
        assert spec.is_compatible_with(tf.convert_to_tensor(array)), spec.name
        assert len(array) == len(inputs)
    assert set(source.descriptions) == {spec.name for spec in specs}
    for text, axes in source.descriptions.values():
        assert text and axes[0] == "batch"


@pytest.mark.few(3)
def test_a_request_by_features_gives_these_features(source, inputs, features):
    graph = traced(source.features_from, source.feature_inputs)
    assert_same(graph(source.feature_requests(features)), features)


@pytest.mark.few(3)
def test_padding_behind_the_lengths_of_a_request_counts_for_nothing(source, features):
    """A server pads rows with arbitrary values."""
    request = source.feature_requests(features)
    (name,) = (name for name, array in request.items() if array.ndim > 1)
    array, axis = request[name], time_axis(source)
    lengths = np.asarray(source.lengths(features))
    columns, widest = (-(-size // source.grid_height) for size in (lengths, lengths.max()))
    end = array.shape[axis] // widest * columns  # per row, along the time axis
    behind = np.arange(array.shape[axis]) >= end[:, np.newaxis]
    others = [other for other in range(1, array.ndim) if other != axis]
    request[name] = np.where(np.expand_dims(behind, others), 1, array).astype(array.dtype)
    real = tf.sequence_mask(lengths, widest * source.grid_height).numpy()
    found = source.features_from(**request)
    vectors = source.front_end(4)
    real = real[:, :: layer_reduction(vectors)]
    for one, other in zip(vectors(found), vectors(features), strict=True):
        mask = real if one.ndim == 2 else real[..., np.newaxis]
        np.testing.assert_array_equal(np.where(mask, one, 0), np.where(mask, other, 0))
    np.testing.assert_array_equal(source.lengths(found), source.lengths(features))


def decoded_lengths(source, inputs):
    """Return lengths from the headers, or 0 for empty inputs, such as a blank image."""
    rows = source.rows(inputs)
    rows.padded(np.arange(len(inputs)), (len(inputs), int(rows.lengths.max())))
    return np.where(getattr(rows, "broken", False), 0, rows.lengths)


def test_lengths_are_those_of_the_rows(source, inputs, features):
    lengths = source.lengths(source.sanitize(features))
    np.testing.assert_array_equal(lengths, decoded_lengths(source, inputs))
    assert lengths.dtype == tf.int32 and 0 in lengths.numpy()


def test_rows_can_be_taken_in_any_order_and_padded(source, inputs):
    rows, members = source.rows(inputs), [3, 0, 2]
    width = int(rows.lengths.max()) + 2
    found = rows.padded(np.array(members), (5, width))  # two empty rows
    # The first input is empty.
    expected = padded(source, [inputs[number] for number in [*members, 0, 0]])
    for one, other in zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True):
        assert len(one) == 5
        np.testing.assert_array_equal(one[tuple(map(slice, other.shape))], other)
    lengths = decoded_lengths(source, inputs)[members]
    np.testing.assert_array_equal(source.lengths(found)[:3], lengths)


@pytest.mark.few(1)
@pytest.mark.parametrize("longest", [1, 2, 5])
def test_both_sides_cut_each_input_for_itself_alone(source, inputs, longest):
    whole = np.array([len(labels) for labels in source.labels(source.batch(inputs))])
    short, rows, truncated = source.cut(inputs, longest)
    np.testing.assert_array_equal(rows.lengths, np.minimum(source.rows(short).lengths, longest))
    assert truncated[whole > longest].all() and not truncated[whole == 0].all()
    features = rows.padded(np.arange(len(inputs)), (len(inputs), longest))
    graph = traced(lambda **request: source.cut_request(longest, **request), source.inputs)
    _, found, marked = graph(source.requests(inputs))
    assert_same(found, features)
    np.testing.assert_array_equal(marked, truncated)
    assert_same(source.batch(inputs, longest), features)
    spans = source.words(source.examples, longest)
    for cut, whole in zip(spans, source.words(source.examples), strict=True):
        assert len(cut) == min(len(whole), longest)
        np.testing.assert_array_equal(cut[: longest - 1], whole[: longest - 1])


def test_what_is_left_of_an_input_is_its_beginning(source):
    one = source.examples[1]
    whole, cut = source.rows([one]), source.cut([one], 2)[1]
    first, last = source.labels(cut.padded([0], (1, 2)))[0]
    labels = source.labels(whole.padded([0], (1, int(whole.lengths[0]))))[0]
    assert first == labels[0]
    assert last == ("</s>" if source.subwords else labels[1])  # a text keeps its end token


def test_labels_of_both_sides_are_equal_and_one_a_position(source, inputs, features):
    labels = source.labels(features)
    assert labels == strings(source.label_tensor(features))
    assert [len(row) for row in labels] == decoded_lengths(source, inputs).tolist()


@pytest.mark.few(3)
def test_the_front_end_reads_the_features(source, inputs, features):
    front_end = source.front_end(6)
    assert (front_end.source_size, front_end.units) == (source.size, 6)
    vectors, mask = front_end(features)
    assert vectors.shape == (*mask.shape, 6) and mask.shape[0] == len(inputs)
    lengths = -(-decoded_lengths(source, inputs) // layer_reduction(front_end))
    np.testing.assert_array_equal(mask, np.arange(mask.shape[1]) < lengths[:, np.newaxis])


def test_names_and_structure_of_features_are_inverse(source, features):
    named = source.named(features)
    assert [*named] == [spec.name for spec in keras.tree.flatten(source.feature_spec)]
    assert_same(source.packed(dict(reversed(named.items()))), features)
    assert type(source.packed(named)) is type(features)


@pytest.mark.few(3)
def test_no_input_has_features_one_position_wide(source):
    assert source.rows([]).lengths.shape == (0,)
    request = {
        name: tf.constant(array, source.inputs[name].dtype)
        for name, array in source.requests([]).items()
    }
    for found in (padded(source, []), traced(source.features, source.inputs)(request)):
        for array, spec in zip(
            keras.tree.flatten(found), keras.tree.flatten(source.batch_spec(0, 1)), strict=True
        ):
            assert tuple(array.shape) == tuple(spec.shape)
    assert source.labels(padded(source, [])) == source.words([]) == []


@pytest.mark.few(2)
def test_an_empty_input_has_no_position(source):
    assert source.rows(source.edge_cases[:1]).lengths.tolist() == [0]
    features = source.features(**source.requests(source.edge_cases[:1]))
    for array, spec in zip(
        keras.tree.flatten(features), keras.tree.flatten(source.batch_spec(1, 1)), strict=True
    ):
        assert array.shape == spec.shape
    assert source.labels(padded(source, source.edge_cases[:1])) == [[]]


def test_the_key_depends_on_content_alone(source, inputs):
    keys = [source.key(one) for one in inputs]
    assert keys == [source.key(copy.deepcopy(one)) for one in inputs]
    assert keys == [copy.deepcopy(source).key(one) for one in inputs]
    cases = len(source.edge_cases)
    lengths = source.rows(inputs[:cases]).lengths  # a blank text equals an empty one
    real = [key for key, length in zip(keys, lengths, strict=False) if length]
    assert len(set(real)) == len(real), "of different inputs"
    assert all(isinstance(key, int) and key >= 0 for key in keys)


def test_examples_are_two_of_different_lengths(source):
    lengths = source.rows(source.examples).lengths
    assert len(lengths) == 2 and 0 < lengths.min() < lengths.max()
    source.check("examples", source.examples)
    source.check("edge_cases", source.edge_cases)


def test_words_are_first_and_last_of_each_position(source, inputs):
    words = source.words(source.examples)
    for spans, length in zip(words, source.rows(source.examples).lengths, strict=True):
        assert spans.shape == (length, 2) and np.all(np.diff(spans, axis=0) >= 0)
        assert np.all(spans[:, 0] <= spans[:, 1])


def test_a_source_is_saved_as_json_and_restored(source, inputs, features):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(source)))
    restored = keras.saving.deserialize_keras_object(config)
    assert restored == source and hash(restored) == hash(source) and type(restored) is type(source)
    assert_same(padded(restored, inputs), features)
    assert restored.assets == source.assets
    assert restored != new_source("frames" if source.subwords else "char")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_chance_splits_text_as_the_seed_says(kind):
    source = new_source(kind)
    first, again, other = (
        source.sampled_rows(SENTENCES * 5, 0.5, seed) for seed in ((1, 2), (1, 2), (1, 3))
    )
    np.testing.assert_array_equal(first.lengths, again.lengths)
    assert (first.lengths != other.lengths).any()
    ids = first.padded([1], (1, first.lengths[1]))
    assert ids[0, -1] == 3 and source.subwords.decode(ids) == [SENTENCES[1]]


def test_another_rate_splits_otherwise_and_the_first_one_as_before():
    source = new_source("bpe")
    often, seldom, again = (
        source.sampled_rows(SENTENCES * 5, rate, 1).lengths for rate in (0.9, 0.1, 0.9)
    )
    assert often.sum() > seldom.sum()
    np.testing.assert_array_equal(often, again)


def test_chance_splits_no_frames():
    source = FeatureSource(3)
    assert source.sampled_rows(source.examples, 0.5, (1, 2)) is None


def test_a_vocabulary_first_used_inside_of_one_graph_serves_others_too():
    source = new_source("char")
    twice = [
        tf.function(lambda text: source.features(text=text))(tf.constant(["one"])) for _ in "ab"
    ]
    assert_same(*twice)
    assert_same(source.features(text=tf.constant(["one"])), twice[0])


def test_what_a_graph_needs_to_stay_alive_is_named(source):
    assert all(isinstance(resource, tf.Module) for resource in source.resources)
    assert bool(source.resources) == isinstance(source, TextSource)


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_both_sides_attend_to_the_same_words(kind):
    source, random = new_source(kind), np.random.default_rng(0)
    width = int(source.rows(SENTENCES).lengths.max())
    weights = random.random((len(SENTENCES), 2, 4, width)).astype("float32")
    graph = source.graph_attended_words(weights, **source.requests(SENTENCES))
    for sentence, alignments, expected in zip(SENTENCES, weights, graph.numpy(), strict=True):
        for alignment, words in zip(alignments, expected, strict=True):
            found = source.attended_words(sentence, alignment)
            assert [*found] == [word.decode() for word in words]
            assert set(found) <= {*sentence.split(), ""}


def test_both_sides_attend_to_the_same_words_of_a_cut_sentence():
    source, weights = new_source("word"), np.eye(3, dtype=np.float32)[np.newaxis, np.newaxis]
    # 3 positions: 2 words and the end token, which belongs to no word.
    assert [*source.attended_words("one two three", weights[0, 0])] == ["one", "two", "⁇"]
    graph = source.graph_attended_words(weights, text=tf.constant(["one two three"]))
    assert [word.decode() for word in graph.numpy()[0, 0]] == ["one", "two", "⁇"]
    long = "☃" * 600  # 1,800 bytes, one unknown token
    expected = "☃" * 170  # 510 bytes
    assert source.attended_words(long, weights[0, 0])[0] == expected
    graph = source.graph_attended_words(weights, text=tf.constant([long]))
    assert graph.numpy()[0, 0, 0].decode() == expected


def test_frames_have_no_words_to_attend_to():
    source = FeatureSource(3)
    with pytest.raises(NotImplementedError):
        source.attended_words(source.examples[0], np.ones((1, 1)))
    with pytest.raises(NotImplementedError):
        source.graph_attended_words(np.ones((1, 1, 1)))


@pytest.mark.parametrize("settings", [{"convolutions": (8, 16)}, {"augmentation": 0.5}])
@pytest.mark.parametrize("kind", ["char", "frames"])
def test_a_front_end_without_convolutions_refuses_their_settings(kind, settings):
    source = new_source(kind)
    with pytest.raises(ValueError, match="Convolutions and random changes in training"):
        source.front_end(6, **settings)


def test_a_batch_of_known_size_has_the_shapes_of_its_features(source):
    features = padded(source, source.edge_cases[:2])
    lengths = source.rows(source.edge_cases[:2]).lengths
    specs = source.named(source.batch_spec(2, int(lengths.max(initial=1))))
    for name, array in source.named(features).items():
        assert specs[name].shape == array.shape and specs[name].dtype == array.dtype
