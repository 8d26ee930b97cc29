"""Convolutions over frames ignore padding; augmentation transforms the whole plane."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bahdanau.layers import FrameConvolutions, Frames

RANDOM = np.random.default_rng(0)


def frames(lengths, time, size=6):
    values = RANDOM.normal(size=(len(lengths), time, size)).astype(np.float32)
    return Frames(values, np.array(lengths, np.int32))


def built(**settings):
    layer = FrameConvolutions(6, 5, **{"convolutions": (4, 7), **settings})
    layer.build()
    return layer


def array(tensor):
    return ops.convert_to_numpy(tensor)


def layer_norm(values, layer):
    gamma, beta = (array(weight).astype(np.float64) for weight in layer.weights)
    centred = values - values.mean(axis=-1, keepdims=True)
    return (
        centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + layer.epsilon) * gamma + beta
    )


def convolved(values, kernel, stride):
    """Compute a convolution by hand, with zeros on both sides."""
    size = len(kernel)
    padded = np.pad(values, ((size // 2, size // 2), (0, 0)))
    count = -(-len(values) // stride)
    windows = [padded[stride * j : stride * j + size] for j in range(count)]
    return np.einsum("jkc,kcd->jd", np.stack(windows), kernel)


@pytest.mark.few(2)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 9])
def test_vectors_are_those_of_the_equations(length):
    layer = built()
    given = frames([length], length)
    x = given.values[0].astype(np.float64)
    for shrinking, norm, residual, other in layer.stages:
        kernels = [array(one.kernel).astype(np.float64) for one in (shrinking, residual)]
        u = np.maximum(layer_norm(convolved(x, kernels[0], 2), norm), 0)
        x = np.maximum(u + layer_norm(convolved(u, kernels[1], 1), other), 0)
    weights, bias = (array(weight) for weight in layer.projection.weights)
    vectors, mask = layer(given)
    assert array(mask).tolist() == [[True] * -(-length // 4)]
    np.testing.assert_allclose(array(vectors)[0], x @ weights + bias, atol=2e-5)


def test_padding_counts_for_nothing():
    layer = built()
    given = frames([3, 0, 9], 13)
    given.values[0, 3:] = np.nan
    vectors, mask = map(array, layer(given))
    assert mask.sum(axis=1).tolist() == [1, 0, 3]
    for row, length in enumerate(given.lengths):
        alone, own = map(
            array, layer(Frames(given.values[row : row + 1, : max(length, 1)], [length]))
        )
        real = own[0].sum()
        np.testing.assert_allclose(vectors[row, :real], alone[0, :real], atol=1e-6)


def test_changes_are_one_linear_map_of_all_vectors_of_a_row():
    layer = built(augmentation=1.0, planes=2, seed=3, convolutions=())
    layer.projection = lambda values: values
    given = frames([7, 7], 7)
    changed = array(layer(given, training=True)[0])
    np.testing.assert_array_equal(changed[..., 4:], given.values[..., 4:])
    for row in range(2):
        before = given.values[row, :, :4].reshape(-1, 2)
        after = changed[row, :, :4].reshape(-1, 2)
        matrix, residuals, *_ = np.linalg.lstsq(before, after, rcond=None)
        np.testing.assert_allclose(residuals, 0, atol=1e-8)
        assert 0 < np.abs(matrix - np.eye(2)).max() <= 0.5 + 1e-5
    np.testing.assert_array_equal(array(layer(given)[0]), given.values)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"planes": 4}, "half the frame size. Received: planes=4, frame_size=6"),
        ({"convolutions": (1,) * 13}, "must be a list of 0 to 12 widths"),
        ({"convolutions": (0,)}, "convolutions=0"),
        ({"augmentation": 2}, "augmentation=2"),
    ],
)
def test_what_is_out_of_range_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        FrameConvolutions(6, 5, **settings)


def test_it_is_written_down_and_read_back():
    layer = FrameConvolutions(6, 5, (3,), 0.5, 2, seed=1)
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert copy.get_config() == layer.get_config() and copy.reduction == 2
