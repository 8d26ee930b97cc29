"""Ink: equidistant frames that don't depend on the strokes' position, size or sampling."""

import numpy as np
import pytest

from keras_bahdanau.sources.ink_source import MOST_FRAMES, STEP, InkSource, pen_frames

PLUS = [np.array([[0, 5], [10, 5]]), np.array([[5, 0], [5, 10]])]


def test_frames_of_a_plus_are_those_by_hand():
    frames = pen_frames(PLUS)
    count = round(1 / STEP) + 1  # both strokes have size 1
    assert frames.shape == (2 * count, 8)
    step = 1 / (count - 1)
    across, down = frames[:count], frames[count:]
    np.testing.assert_allclose(across[:, 0], np.linspace(-0.05, 0.05, count), atol=1e-6)
    np.testing.assert_allclose(across[:, 1], 0, atol=1e-6)
    np.testing.assert_allclose(across[:-1, 2:4], [[step, 0]] * (count - 1), atol=1e-6)
    np.testing.assert_allclose(across[-1, 2:4], [-0.5, -0.5], atol=1e-6)  # in the air
    np.testing.assert_allclose(down[:-1, 2:4], [[0, step]] * (count - 1), atol=1e-6)
    np.testing.assert_array_equal(frames[-1, 2:4], 0)
    np.testing.assert_allclose(down[0, 4:6], [0.5, 0.5 + step], atol=1e-6)
    up = [0] * (count - 1) + [1]
    np.testing.assert_array_equal(frames[:, 7], up * 2)
    np.testing.assert_array_equal(frames[:, 6], 1 - frames[:, 7])


def test_place_size_and_sampling_of_the_pen_count_for_nothing():
    finer = [np.linspace(*stroke, 40) * 30 + [70, -9] for stroke in PLUS]
    np.testing.assert_allclose(pen_frames(finer), pen_frames(PLUS), atol=1e-5)


def test_dots_are_frames():
    assert pen_frames([]).shape == pen_frames([np.zeros((0, 2))]).shape == (0, 8)
    dots = pen_frames([[[3, 3]], [[3, 3], [3, 3]]])
    assert dots.shape[0] == 4 and np.isfinite(dots).all()


def test_a_stroke_of_no_size_far_from_a_dot_is_finite():
    frames = pen_frames([[[0, 0], [1e-320, 0]], [[1e8, 0], [1e8, 0]]])
    assert np.isfinite(frames).all() and len(frames) == 4


def test_a_long_stroke_has_a_bound():
    zigzag = np.stack([np.arange(5000) % 2, np.zeros(5000)], axis=1)
    assert len(pen_frames([zigzag])) == MOST_FRAMES


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (np.zeros((2, 3, 2)), TypeError, "list of inputs"),
        (["abc"], TypeError, r"inputs\[0\] of type str"),
        ([[], [np.zeros((3, 3))]], ValueError, r"inputs\[1\]="),
        ([[[[np.nan, 0]]]], ValueError, "finite"),
        ([[["a", "b"]]], ValueError, "finite"),
        ([[np.zeros((100_001, 2))]], ValueError, "at most 100,000 points"),
    ],
)
def test_what_is_no_ink_is_refused(inputs, error, message):
    with pytest.raises(error, match=message):
        InkSource().check("inputs", inputs)
