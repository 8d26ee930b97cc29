"""Shape context matches sums by hand, ignores padding, and has no effect before training."""

import numpy as np
import pytest
from keras import ops

from keras_bahdanau.layers import FrameConvolutions, Frames, ShapeContext
from keras_bahdanau.sources.ink_source import InkSource, pen_frames

PLUS = [np.array([[0, 5], [10, 5]]), np.array([[5, 0], [5, 10]])]
FRACTION = [np.array([[0, 0], [40, 0]]), np.array([[20, -30], [20, -10]]), np.array([[22, 9]])]


def array(tensor):
    return ops.convert_to_numpy(tensor)


def by_hand(frames, every):
    """Return the sums h in float64, computed point by point: `(places, 2, rings, directions)`."""
    points = frames[:, :2].astype(np.float64) * 10
    strokes = np.concatenate([[0], np.cumsum(frames[:-1, -1])])
    sums = np.zeros((-(-len(points) // every), 2, 5, 8))
    for number, place in enumerate(range(0, len(points), every)):
        for other in range(0, len(points), 2):
            x, y = points[other] - points[place]
            distance = np.hypot(x, y)
            if not distance:
                continue
            plane = int(strokes[other] != strokes[place])
            for ring in range(5):
                near = max(0, 1 - abs(np.log2(max(distance, 0.25) / 0.25) - ring))
                for direction in range(8):
                    angle = 2 * np.pi * direction / 8
                    cosine = (x * np.cos(angle) + y * np.sin(angle)) / distance
                    sums[number, plane, ring, direction] += near * max(0, cosine) ** 2
    return sums


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("ink", [PLUS, FRACTION])
def test_histograms_are_those_of_the_equations(ink, every):
    frames = pen_frames(ink)
    expected = by_hand(frames, every)
    found = array(ShapeContext(3, every).histograms(frames[np.newaxis]))[0]
    np.testing.assert_allclose(found, expected.reshape(len(expected), -1), atol=1e-3)
    assert (expected.sum(axis=(0, 2, 3)) > 0).all()  # both planes have ink


def test_what_stands_above_a_line_is_in_the_bins_of_above():
    frames = pen_frames(FRACTION)
    sums = array(ShapeContext(3, 1).histograms(frames[np.newaxis]))[0].reshape(-1, 2, 5, 8)
    line = sums[: int(np.argmax(frames[:, -1])) + 1, 1].sum(axis=(0, 1))
    assert line.argmax() == 6  # y points down, so that direction 6 of 8 is straight up


def front_end(**settings):
    layer = FrameConvolutions(8, 5, (4, 7), planes=3, surroundings=True, **settings)
    layer.build()
    return layer


def test_it_has_no_effect_until_it_has_learnt():
    layer = front_end()
    frames = Frames(pen_frames(PLUS)[np.newaxis], np.array([16], np.int32))
    with_it = array(layer(frames)[0])
    layer.context = None
    np.testing.assert_array_equal(array(layer(frames)[0]), with_it)


def test_padding_counts_for_nothing():
    layer = front_end()
    layer.context.output_layer.kernel.assign(np.random.default_rng(0).normal(size=(5, 5)))
    inks = [pen_frames(PLUS), pen_frames(FRACTION)]
    lengths = [len(ink) for ink in inks]
    values = np.full((2, max(lengths) + 5, 8), np.nan, np.float32)
    for row, ink in enumerate(inks):
        values[row, : len(ink)] = ink
    vectors, mask = map(array, layer(Frames(values, np.array(lengths, np.int32))))
    for row, ink in enumerate(inks):
        alone = array(layer(Frames(ink[np.newaxis], np.array([len(ink)], np.int32)))[0])[0]
        np.testing.assert_allclose(vectors[row, mask[row]], alone, atol=1e-5)
        assert np.abs(alone).max() > 1e-3


def test_a_source_with_surroundings_has_the_same_frames():
    source = InkSource(surroundings=True)
    copy = InkSource.from_config(source.get_config())
    assert copy.surroundings and copy.front_end(4).context is not None
    np.testing.assert_array_equal(source.batch([PLUS]).values, InkSource().batch([PLUS]).values)
