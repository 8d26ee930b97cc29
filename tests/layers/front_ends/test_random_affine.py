"""Random affine transformations of images, around the centre of each image without padding."""

import keras
import numpy as np
import pytest

from keras_bahdanau.layers import ImagePatches
from keras_bahdanau.layers.front_ends.augmentation import moved_images

RANDOM = np.random.default_rng(0)
HEIGHT, WIDTHS = 12, np.array([20, 13, 0], "int32")
IMAGES = RANDOM.random((3, HEIGHT, 20, 2)) * (np.arange(20) < WIDTHS[:, None])[:, None, :, None]
IMAGES = IMAGES.astype("float32")
STRENGTH = 0.8


def generator():
    return keras.random.SeedGenerator(5)


def draws():
    """Return the random numbers for each image in float64, `(3, 6)`."""
    shape = (len(IMAGES), 6)
    return np.float64(keras.random.uniform(shape, -STRENGTH, STRENGTH, seed=generator()))


def pixel(image, x, y):
    """Return an image's value at any position, interpolated linearly; zero outside the image."""
    found, left, top = 0.0, int(np.floor(x)), int(np.floor(y))
    for row in (top, top + 1):
        for column in (left, left + 1):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                near = (1 - abs(x - column)) * (1 - abs(y - row))
                found = found + near * np.float64(image[row, column])
    return found


def changed(image, width, draws, columns=None):
    """Transform an image `(height, width, channels)` by the equation of `moved_images`.

    If `columns` are given, only these are computed.
    """
    slim = min(1, 4 * HEIGHT / max(width, 1))
    shear, angle = 0.3 * draws[0], slim * np.deg2rad(3.6) * draws[1]
    zoom = np.diag([1 + slim * 0.05 * draws[2], 1 + 0.15 * draws[3]])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    A = np.array([[1, shear], [0, 1]]) @ turn @ zoom
    c = np.array([width - 1, HEIGHT - 1]) / 2
    t = draws[4:] * [slim * 0.02 * width, 0.1 * HEIGHT]
    places = [
        [A @ (np.array([x, y]) - t - c) + c for x in columns or range(image.shape[1])]
        for y in range(HEIGHT)
    ]
    return np.array([[pixel(image, *place) + np.zeros(2) for place in row] for row in places])


def test_each_image_is_changed_around_its_own_middle(run):
    seed = generator()
    found = run(lambda images: moved_images(images, WIDTHS, STRENGTH, seed), IMAGES)
    for image, width, own, result in zip(IMAGES, WIDTHS, draws(), found, strict=True):
        np.testing.assert_allclose(result, changed(image, width, own), atol=1e-4)


def test_the_ends_of_a_line_move_no_further_than_those_of_a_shorter_one():
    widths = np.array([4 * HEIGHT, 10 * HEIGHT], "int32")
    images = RANDOM.random((2, HEIGHT, widths[1], 2)).astype("float32")
    images = images * (np.arange(widths[1]) < widths[:, None])[:, None, :, None]
    results = np.array(moved_images(images, widths, STRENGTH, generator()))
    for image, width, own, result in zip(images, widths, draws(), results, strict=False):
        ends = [*range(6), *range(width - 6, width)]
        expected = changed(image, width, own, ends)
        np.testing.assert_allclose(result[:, ends], expected, atol=1e-3)


def test_columns_behind_an_image_do_not_change_it():
    wider = np.pad(IMAGES, ((0, 0), (0, 0), (0, 50), (0, 0)))
    plain = moved_images(IMAGES, WIDTHS, 1.0, generator())
    padded = moved_images(wider, WIDTHS, 1.0, generator())
    assert not np.allclose(plain, IMAGES, atol=0.1)
    np.testing.assert_allclose(padded[:, :, :20], plain, atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("strength, mean, least", [(0.3, 0.995, 0.9), (1.0, 0.98, 0.8)])
def test_the_ink_stays_on_the_paper_however_wide_the_batch_is(strength, mean, least):
    real, count = 96, 200
    values = np.full((count, 64, 1024, 1), 255, np.uint8)
    values[:, 8:56, 4 : real - 4] = 0
    widths = np.full(count, real, "int32")
    layer = ImagePatches(64, 1, 4, augmentation=strength, seed=1)
    before, after = (
        np.sum(layer.ink(values, widths, training), axis=(1, 2, 3)) for training in (False, True)
    )
    kept = after / before
    assert kept.mean() > mean and kept.min() > least
