"""Frames as a source: features by hand, hostile values, and inputs that aren't arrays of frames."""

import numpy as np
import pytest

from keras_bahdanau.layers import Frames
from keras_bahdanau.sources import FeatureSource

SOURCE = FeatureSource(2)
ONE, TWO = [[1.0, 2.0]], np.arange(4.0).reshape(2, 2)


def test_features_by_hand():
    rows = SOURCE.rows([ONE, TWO, np.zeros((0, 2))])
    assert rows.lengths.tolist() == [1, 2, 0]
    values, lengths = rows.padded([0, 1, 2], (4, 3))
    assert lengths.tolist() == [1, 2, 0, 0] and lengths.dtype == np.int32
    assert values.tolist() == [
        [[1, 2], [0, 0], [0, 0]],
        [[0, 1], [2, 3], [0, 0]],
        [[0, 0]] * 3,
        [[0, 0]] * 3,
    ]
    assert values.dtype == np.float32
    assert SOURCE.labels(Frames(values, lengths)) == [["0"], ["0", "1"], [], []]
    assert SOURCE.words([ONE, TWO])[1].tolist() == [[0, 0], [1, 1]]


def test_numbers_of_any_precision_are_one_input():
    assert SOURCE.key(ONE) == SOURCE.key(np.float64(ONE)) == SOURCE.key(np.float32(ONE))
    assert SOURCE.key(TWO) == SOURCE.key(np.asfortranarray(TWO)) != SOURCE.key(TWO[::-1])


def test_hostile_requests_become_numbers_that_a_model_can_read():
    values = np.array([[[np.nan, 1], [np.inf, -np.inf]], [[5, 6], [7, 8]]], "float32")
    found = SOURCE.features(values=values, lengths=np.array([9, -3], "int32"))
    assert found.values.numpy().tolist() == [[[0, 1], [0, 0]], [[5, 6], [7, 8]]]
    assert found.lengths.numpy().tolist() == [2, 0]
    found = SOURCE.features(values=values[:, :0], lengths=np.array([1, 0], "int32"))
    assert found.values.shape == (2, 1, 2) and not found.values.numpy().any()
    assert found.lengths.numpy().tolist() == [1, 0]


def test_numbers_too_large_for_products_count_as_the_largest_on_both_sides():
    one = np.array([[3.4e38, -3.4e38], [1e12, -5.0]], "float32")
    expected = np.array([[[1e12, -1e12], [1e12, -5.0]]], "float32")
    request = SOURCE.requests([one])
    np.testing.assert_array_equal(request["values"], expected)
    found = SOURCE.features(values=one[np.newaxis], lengths=np.array([2], "int32"))
    np.testing.assert_array_equal(found.values, expected)


def test_frames_behind_the_longest_length_are_cut_and_marked():
    values = np.arange(12.0, dtype="float32").reshape(2, 3, 2)
    lengths = np.array([3, 2], "int32")
    _, found, truncated = SOURCE.cut_request(2, values=values, lengths=lengths)
    np.testing.assert_array_equal(found.values, values[:, :2])
    assert found.lengths.numpy().tolist() == [2, 2]
    assert truncated.numpy().tolist() == [True, False]  # only padding is cut from the second


def test_it_has_no_files_and_no_words():
    assert SOURCE.assets == {} and SOURCE.subwords is None and SOURCE.resources == []
    assert SOURCE.inputs == SOURCE.feature_inputs


def test_sources_of_one_size_are_equal():
    assert FeatureSource(2) == SOURCE != FeatureSource(3)
    assert SOURCE.get_config() == {"size": 2}


@pytest.mark.parametrize("size", [0, -1, 2.0, None])
def test_sizes_are_positive_integers(size):
    with pytest.raises(ValueError, match=f"`size`.* positive integer. Received: .*{size}"):
        FeatureSource(size)


@pytest.mark.parametrize(
    "one, received",
    [
        (np.zeros((3, 4)), r"frames\[1\] of shape \(3, 4\)\."),
        (np.zeros(2), r"frames\[1\] of shape \(2,\)\."),
        (np.full((1, 2), np.nan), r"frames\[1\] of shape \(1, 2\), with NaN or infinity"),
        (np.full((1, 2), 1e300), r"frames\[1\] of shape \(1, 2\), with NaN or infinity"),
        ("one", r"frames\[1\]='one'"),
        ([[1, 2], [3]], r"frames\[1\]=\[\[1, 2\], \[3\]\]"),
        ([["a", "b"]], r"frames\[1\]=\[\['a', 'b'\]\]"),
        (None, r"frames\[1\]"),
        (np.ones((1, 2), np.complex64), r"frames\[1\]=array\(\[\[1\.\+0\.j"),
    ],
)
def test_what_is_no_array_of_frames_is_refused(one, received):
    with pytest.raises(ValueError, match=rf"\(time, 2\) of values finite .* Received: {received}"):
        SOURCE.check("frames", [ONE, one])


def test_one_array_is_no_list():
    with pytest.raises(TypeError, match=r"`frames` must be a list .*\(2, 2\). Put it in a list"):
        SOURCE.check("frames", TWO)
    SOURCE.check("frames", np.zeros((5, 3, 2)))
