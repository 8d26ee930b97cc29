"""Any Keras model as a front end: its grid, column by column, independent of padding."""

import keras
import numpy as np
import pytest

from keras_bahdanau.layers import KerasGrid, Pixels

RANDOM = np.random.default_rng(0)
PIXELS = Pixels(
    RANDOM.integers(0, 256, (2, 8, 12, 3), np.uint8), np.array([6, 3], "int32")
)  # images with two rows of cells


def looking_everywhere():
    """Return a model in which every cell depends on all pixels."""
    inputs = keras.Input((8, 16, 3))
    grid = keras.layers.Conv2D(5, 4, 4)(inputs / 255)
    everything = keras.layers.GlobalAveragePooling2D(keepdims=True)(grid)
    return keras.Model(inputs, grid + everything)


@pytest.fixture(scope="module")
def layer():
    layer = KerasGrid(looking_everywhere(), 4)
    layer.build()
    return layer


def test_a_vector_is_that_of_its_cell(run, layer):
    vectors, mask = run(layer, PIXELS)
    paper = np.full((1, 8, 16, 3), 255, np.float32)
    paper[0, :, :8] = PIXELS.values[1, :, :8]  # two columns, the second incomplete
    grid = layer.model(paper).numpy()[0]
    W, b = layer.cells.projection.get_weights()
    angles = np.array([1, 0.01])  # for column 1
    places = np.asarray(layer.cells.rows)[0] + np.concatenate([np.sin(angles), np.cos(angles)])
    np.testing.assert_allclose(vectors[1, 2], grid[0, 1] @ W + b + places, atol=1e-5)
    np.testing.assert_array_equal(mask.sum(axis=1), PIXELS.lengths)


def test_padding_counts_for_nothing_even_where_a_cell_sees_all(layer):
    expected, mask = layer(PIXELS)
    wider = np.pad(PIXELS.values, ((0, 0), (0, 0), (0, 4), (0, 0)), constant_values=9)
    vectors, _ = layer(Pixels(wider, PIXELS.lengths))
    np.testing.assert_allclose(vectors[:, :6][mask], expected[mask], atol=1e-6)
    alone, _ = layer(Pixels(PIXELS.values[1:, :, :8], PIXELS.lengths[1:]))
    np.testing.assert_allclose(alone[0, :3], expected[1, :3], atol=1e-6)


def test_it_says_its_sizes(layer):
    assert (layer.source_size, layer.units, layer.grid_height) == (8 * 4 * 3, 4, 2)
    frozen = looking_everywhere()
    frozen.trainable = False
    frozen = KerasGrid(frozen, 4)
    frozen.build()
    assert len(frozen.trainable_weights) == 3, "of the projection and the rows"


@pytest.mark.parametrize("shape", [(None, None, 3), (8, 18, 3), (6, 16, 3)])
def test_a_model_must_give_a_grid_of_square_cells(shape):
    inputs = keras.Input(shape)
    model = keras.Model(inputs, keras.layers.Conv2D(5, 4, 4)(inputs))
    with pytest.raises(ValueError, match=r"to a grid .* of square cells. Received: Functional"):
        KerasGrid(model, 4)
    with pytest.raises(ValueError, match="square cells. Received: Dense"):
        KerasGrid(keras.layers.Dense(4), 4)


@pytest.mark.slow
def test_a_model_of_keras_applications_stands_as_front_end(tmp_path):
    model = keras.applications.MobileNetV3Small(
        input_shape=(64, 128, 3), include_top=False, weights=None
    )
    layer = KerasGrid(model, 8)
    layer.build()
    pixels = Pixels(RANDOM.integers(0, 256, (2, 64, 96, 3), np.uint8), np.array([6, 2], "int32"))
    vectors, mask = layer(pixels)
    assert vectors.shape == (2, 6, 8) and layer.grid_height == 2
    alone, _ = layer(Pixels(pixels.values[1:, :, :32], pixels.lengths[1:]))
    np.testing.assert_allclose(alone[0], vectors[1, :2], atol=1e-4)
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    restored.set_weights(layer.get_weights())
    np.testing.assert_allclose(restored(pixels)[0], vectors, atol=1e-5)
