"""Front end for frames: x_j = W frame_j + b, and frames after the end are ignored."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers import FrameProjection, Frames

RANDOM = np.random.default_rng(0)
FRAMES = Frames(RANDOM.normal(size=(3, 4, 5)).astype("float32"), np.array([4, 2, 0], "int32"))
REAL = np.arange(4) < FRAMES.lengths[:, np.newaxis]


@pytest.fixture
def layer():
    layer = FrameProjection(5, 6)
    layer.build()
    layer.set_weights([RANDOM.normal(size=weight.shape) for weight in layer.get_weights()])
    return layer


def test_vectors_are_those_of_the_equation(run, layer):
    vectors, mask = run(layer, FRAMES)
    W, b = (np.float64(weight) for weight in layer.get_weights())
    expected = np.float64(FRAMES.values) @ W + b
    np.testing.assert_allclose(vectors[REAL], expected[REAL], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(mask, REAL)
    assert mask.dtype == bool


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_values_behind_a_length_reach_no_vector_and_no_gradient(layer, value):
    values = np.where(REAL[..., np.newaxis], FRAMES.values, np.float32(value))
    with tf.GradientTape() as tape:
        vectors, _ = layer(Frames(values, FRAMES.lengths))
        loss = tf.reduce_sum(vectors**2)
    np.testing.assert_array_equal(vectors[REAL], layer(FRAMES)[0][REAL])
    assert np.isfinite(vectors).all()
    for gradient in tape.gradient(loss, layer.trainable_variables):
        assert np.isfinite(gradient).all() and np.any(gradient)


def test_it_says_its_sizes_and_shapes(layer):
    assert (layer.source_size, layer.units) == (5, 6)
    vectors, mask = layer(Frames(keras.Input((None, 5)), keras.Input((), dtype="int32")))
    assert (vectors.shape, mask.shape) == ((None, None, 6), (None, None))
    assert (vectors.dtype, mask.dtype) == ("float32", "bool")


def test_it_is_restored_from_its_config(layer):
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert restored.get_config() == layer.get_config()
    restored.set_weights(layer.get_weights())
    np.testing.assert_array_equal(restored(FRAMES)[0], layer(FRAMES)[0])


@pytest.mark.parametrize(
    "sizes, received", [((0, 4), "frame_size=0"), ((7, -2), "units=-2"), ((2.5, 4), "=2.5")]
)
def test_sizes_are_positive_integers(sizes, received):
    with pytest.raises(ValueError, match=f"positive integer. Received: .*{received}"):
        FrameProjection(*sizes)
