"""Weights over an image: attended parts are clear and orange, others dim."""

import numpy as np
import pytest

from keras_bahdanau.plotting.overlay import overlay, relative, spread
from keras_bahdanau.sources import Picture


def test_cells_with_sharp_edges_fill_their_pixels():
    cells = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(
        spread(cells, (4, 6), smooth=False), np.kron(cells, np.ones((2, 3)))
    )


def test_between_the_centres_of_smooth_cells_values_are_linear():
    # cells have their centres at 1 and 3, pixels at 0.5, 1.5, 2.5 and 3.5
    np.testing.assert_allclose(spread([[0.0, 1.0]], (1, 4)), [[0, 0.25, 0.75, 1]])
    np.testing.assert_allclose(spread([[0.0], [1.0]], (4, 1))[:, 0], [0, 0.25, 0.75, 1])


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 7)])
def test_equal_cells_give_equal_pixels(shape, smooth):
    np.testing.assert_allclose(spread(np.full((4, 6), 0.3), shape, smooth), 0.3)


def test_weights_are_relative_to_the_largest_of_their_token():
    weights = np.zeros((3, 100))
    weights[0, 7], weights[0, 8], weights[1] = 0.8, 0.2, 0.01
    shares = relative(weights)
    assert shares[0, 7] == 1 and shares[0, 8] == pytest.approx(0.25)
    np.testing.assert_allclose(shares[1], 0.25)  # uniform weights
    assert not shares[2].any()


@pytest.mark.parametrize("paper", [0.0, 1.0])
def test_what_is_attended_to_is_orange_and_the_ink_clearer_there(paper):
    pixels = np.full((2, 8), paper)
    pixels[:, [1, 6]] = 1 - paper  # ink, on the left and on the right
    shown = overlay(Picture(pixels, 2), [[1.0, 0.0]], smooth=False).astype(float)
    assert np.ptp(shown[:, 4:], axis=-1).max() == 0, "grey"
    red, _, blue = shown[0, 0]
    assert red - blue > 100, "orange"
    contrast = np.abs(shown[0, [1, 6]] - shown[0, [0, 7]]).max(axis=1)
    assert contrast[0] > contrast[1] > 0.2 * 255


def test_a_picture_in_colours_keeps_them_where_it_is_attended_to():
    pixels = np.zeros((1, 2, 3))
    pixels[..., 2] = 1.0
    attended, other = overlay(Picture(pixels, 2), [[1.0, 0.0]], smooth=False)[0]
    assert attended[2] > other[2] and len(set(other.tolist())) == 1
