"""Front end for images: cells in column order, independent of padding and other images."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers import ImagePatches, Pixels

RANDOM = np.random.default_rng(0)
HEIGHT, CELL, ROWS = 16, 4, 4
LENGTHS = np.array([20, 9, 0], "int32")  # five columns; three, one incomplete; none
PIXELS = Pixels(RANDOM.integers(0, 256, (3, HEIGHT, 20, 1), np.uint8), LENGTHS)
REAL = np.arange(20) < LENGTHS[:, np.newaxis]


def new_layer(**options):
    layer = ImagePatches(HEIGHT, 1, 6, convolutions=(5, 7), cell=CELL, **options)
    layer.build()
    for weight in layer.weights:
        weight.assign(RANDOM.normal(size=weight.shape))
    return layer


@pytest.fixture(scope="module")
def layer():
    return new_layer()


def convolved(image, kernel, stride):
    """Return a float64 convolution with TensorFlow's padding, `(height, width, channels)`."""
    size, (high, wide) = len(kernel), image.shape[:2]
    before = max(size - stride, 0) // 2
    image = np.pad(np.float64(image), ((before, size), (before, size), (0, 0)))
    return np.array(
        [
            [
                np.tensordot(image[y : y + size, x : x + size], kernel, 3)
                for x in range(0, wide, stride)
            ]
            for y in range(0, high, stride)
        ]
    )


def normed(values, gamma, beta):
    values = values - values.mean(-1, keepdims=True)
    return values / np.sqrt((values**2).mean(-1, keepdims=True) + 1e-3) * gamma + beta


def relu(values):
    return np.maximum(values, 0)


def test_vectors_are_those_of_the_equations(run, layer):
    vectors, mask = run(layer, PIXELS)
    first, second = (
        [np.float64(weight) for weight in stage.get_weights()] for stage in layer.stages
    )
    W, b, rows = (np.float64(weight) for weight in layer.cells.get_weights())
    if rows.ndim != 2 or rows.shape != (ROWS, 6):  # Keras may list the layer's own weights first
        rows, W, b = W, b, rows
    ink = 1 - PIXELS.values[0] / 255
    values = relu(normed(convolved(ink, first[0], 2), *first[1:3]))
    kernels = [weight for weight in second if weight.ndim == 4]
    norms = [weight for weight in second if weight.ndim == 1]
    values = relu(normed(convolved(values, kernels[0], 2), *norms[:2]))
    values = relu(values + normed(convolved(values, kernels[1], 1), *norms[2:]))
    column, row = 3, 2
    angles = column / 10_000 ** (np.arange(3) / 3)
    places = rows[row] + np.concatenate([np.sin(angles), np.cos(angles)])
    expected = values[row, column] @ W + b + places
    np.testing.assert_allclose(vectors[0, column * ROWS + row], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(mask, REAL)


def test_a_vector_of_a_column_adds_up_the_products_of_its_cells():
    """W [x_1; ...; x_n] + b = sum_y W_y x_y + b, where a layer of cells computes each W_y x_y."""
    columns = new_layer(columns=True)
    (r,), W, b = (np.float64(weight) for weight in columns.cells.get_weights())
    cells = new_layer()
    for stage, own in zip(cells.stages, columns.stages, strict=True):
        stage.set_weights(own.get_weights())
    places = np.float64(cells.cells.sinusoids(5))
    expected = r + b + places
    for y, W_y in enumerate(np.split(W, ROWS)):
        cells.cells.set_weights([np.zeros((ROWS, 6)), W_y, np.zeros(6)])
        expected = expected + np.reshape(cells(PIXELS)[0], (3, 5, ROWS, 6))[:, :, y] - places
    vectors, mask = columns(PIXELS)
    np.testing.assert_array_equal(mask, np.arange(5) < np.array([5, 3, 0])[:, np.newaxis])
    np.testing.assert_allclose(vectors, expected, rtol=1e-4, atol=1e-4)
    assert (columns.reduction, columns.grid_height, cells.reduction) == (ROWS, 1, 1)
    assert ImagePatches.from_config(columns.get_config()).columns


def test_padding_reaches_no_vector_and_no_gradient(layer):
    behind = np.arange(20) >= np.array([20, 12, 0])[:, np.newaxis]  # after an incomplete column
    noise = np.where(behind[:, np.newaxis, :, np.newaxis], 77, PIXELS.values)
    wider = np.pad(noise, ((0, 0), (0, 0), (0, 12), (0, 0)), constant_values=99).astype(np.uint8)
    expected, _ = layer(PIXELS)
    with tf.GradientTape() as tape:
        vectors, mask = layer(Pixels(wider, LENGTHS))
        loss = tf.reduce_sum(tf.where(mask[..., tf.newaxis], vectors, 0.0) ** 2)
    assert mask.shape == (3, 32) and not mask[:, 20:].numpy().any()
    np.testing.assert_array_equal(vectors[:, :20][REAL], expected[REAL])
    assert np.isfinite(vectors).all()
    for gradient in tape.gradient(loss, layer.trainable_variables):
        assert np.isfinite(gradient).all() and np.any(gradient)


def test_an_image_has_the_same_vectors_alone(layer):
    together, _ = layer(PIXELS)
    alone, mask = layer(Pixels(PIXELS.values[1:2, :, :12], LENGTHS[1:2]))
    np.testing.assert_allclose(alone[0][mask[0]], together[1][REAL[1]], atol=1e-5)


def test_blank_paper_is_the_same_in_every_column_but_for_its_place(layer):
    paper = Pixels(np.full((1, HEIGHT, 40, 1), 255, np.uint8), np.array([40], "int32"))
    vectors = np.reshape(layer(paper)[0], (10, ROWS, 6))
    places = np.asarray(layer.cells.sinusoids(10))
    np.testing.assert_allclose(
        (vectors - places[:, None])[3], (vectors - places[:, None])[6], atol=1e-5
    )


def test_changes_are_for_training_and_leave_padding_blank():
    layer = new_layer(augmentation=1.0)
    plain, changed = (layer(PIXELS, training=training)[0] for training in (False, True))
    np.testing.assert_array_equal(plain, layer(PIXELS)[0])
    assert not np.allclose(changed[REAL], plain[REAL], atol=0.1)
    empty = REAL[2:] | True
    np.testing.assert_array_equal(changed[2:][empty], plain[2:][empty])


def test_changes_of_an_image_are_the_same_alone_and_padded_further():
    layers = [new_layer(augmentation=1.0, seed=3) for _ in "abc"]
    for layer in layers[1:]:
        layer.set_weights(layers[0].get_weights())
    wider = np.pad(PIXELS.values, ((0, 0), (0, 0), (0, 40), (0, 0)), constant_values=99)
    inputs = [PIXELS, Pixels(wider, LENGTHS), PIXELS]
    together, padded, plain = (
        layer(pixels, training=training)[0]
        for layer, pixels, training in zip(layers, inputs, (True, True, False), strict=True)
    )
    np.testing.assert_allclose(padded[:, :20][REAL], together[REAL], rtol=1e-3, atol=1e-3)
    assert not np.allclose(together[REAL], plain[REAL], atol=0.1)
    restored = ImagePatches.from_config(layers[0].get_config())
    assert (restored.augmentation, restored.seed) == (1.0, 3)


def test_it_says_its_sizes_and_shapes():
    layer = ImagePatches(64, 3, 7, cell=16, convolutions=[4, 4, 4, 4, 4])
    assert (layer.source_size, layer.units, layer.grid_height) == (64 * 16 * 3, 7, 4)
    vectors, mask = layer(
        Pixels(keras.Input((64, None, 3), dtype="uint8"), keras.Input((), dtype="int32"))
    )
    assert (vectors.shape, mask.shape) == ((None, None, 7), (None, None))
    vectors, mask = layer(Pixels(np.zeros((1, 64, 32, 3), np.uint8), np.array([8])))
    assert vectors.shape == (1, 8, 7)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"cell": 6}, "`cell` must be one of 2, 4, 8"),
        ({"height": 20}, "`height` must be a multiple of `cell`. Received: height=20, cell=8"),
        ({"convolutions": (4, 4)}, "list of 3 to 12 widths.* Received: convolutions=\\(4, 4\\)"),
        (
            {"convolutions": (4, 0, 4)},
            "`convolutions`, the width of each, must be a positive integer",
        ),
        ({"augmentation": 1.5}, r"must be in \[0, 1\]. Received: augmentation=1.5"),
        ({"channels": 0}, "`channels`.* positive integer"),
    ],
)
def test_arguments_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        ImagePatches(**{"height": 64, "channels": 1, "units": 4, **options})
