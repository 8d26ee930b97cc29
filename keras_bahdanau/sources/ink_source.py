"""Ink as a source: the strokes of a pen, as sequences of points."""

import zlib

import keras
import numpy as np

from keras_bahdanau.layers.front_ends.frames import FrameConvolutions
from keras_bahdanau.sources.feature_source import FeatureSource
from keras_bahdanau.sources.ink_picture import ink_picture

SIZE = 8  # numbers of a frame: see `InkSource`
STEP = 0.15  # of the path between two frames, in sizes of a stroke
MOST_POINTS = 100_000  # of an input
MOST_FRAMES = 512  # of a stroke, which is sampled with larger steps beyond


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class InkSource(FeatureSource):
    """Handwriting as the strokes of a pen, in the order in which they were drawn.

    An input is a list of strokes, each an array `(points, 2)` of x and y, y downwards, in any
    unit. Without its place and size, it is sampled at even distances along the path; the unit
    is the mean size of a stroke. A frame is

        x, y            place of the point, from the middle of the ink, a tenth of it
        dx, dy          movement to the next point, in the air too
        ddx, ddy        difference to the movement before
        on, up          1 if the pen stays on the paper; 1 if it goes up here

    (After Zhang et al. 2019, "Track, attend and parse", section 3.1.) Features are those of
    `FeatureSource`, and so are the requests.

    Args:
        surroundings: Bool. Let the model read the ink around each place, too, as an image would
            show it: see `layers.ShapeContext`.

    Example:
        >>> plus = [np.array([[0, 5], [10, 5]]), np.array([[5, 0], [5, 10]])]
        >>> InkSource().rows([plus]).lengths
        array([16])
    """

    preset = "ink"
    page_entry = "ink_entry.mjs"

    def __init__(self, surroundings=False):
        super().__init__(SIZE)
        self.surroundings = bool(surroundings)
        strokes = np.random.default_rng(0).integers(0, 100, (4, 5, 2))
        self.edge_cases = [[], [[[0, 0]]], [[[1, 1], [2, 3]]], list(strokes), list(strokes[:2])]
        self.examples = self.edge_cases[:2:-1]

    def front_end(self, units, convolutions=None, augmentation=0.0):
        widths = {} if convolutions is None else {"convolutions": tuple(convolutions)}
        return FrameConvolutions(
            SIZE,
            units,
            augmentation=augmentation,
            planes=3,
            surroundings=self.surroundings,
            name="front_end",
            **widths,
        )

    def check(self, name, inputs):
        for number, one in enumerate(inputs):
            if isinstance(inputs, np.ndarray) or not isinstance(one, list | tuple | np.ndarray):
                raise TypeError(
                    f"`{name}` must be a list of inputs, each a list of strokes (points, 2). "
                    f"Received: {name}[{number}] of type {type(one).__name__}."
                )
            strokes = [_stroke(stroke) for stroke in one]
            if any(stroke is None for stroke in strokes):
                raise ValueError(
                    f"`{name}` must hold lists of strokes, arrays (points, 2) of finite numbers. "
                    f"Received: {name}[{number}]={one!r:.80}."
                )
            points = sum(map(len, strokes))
            if points > MOST_POINTS:
                raise ValueError(
                    f"An input must have at most {MOST_POINTS:,} points. "
                    f"Received: {name}[{number}] with {points:,}. Split it."
                )

    def rows(self, inputs):
        return super().rows([pen_frames(one) for one in inputs])

    def picture(self, one, longest=None):
        (values,), (length,) = self.batch([one], longest)
        return ink_picture(values[:length])

    def key(self, one):
        return zlib.crc32(pen_frames(one).tobytes())

    def get_config(self):
        return {"surroundings": self.surroundings}


def pen_frames(strokes):
    """Frames of ink, float32 `(time, 8)`: see `InkSource`.

    Args:
        strokes: List of arrays `(points, 2)`.
    """
    strokes = [np.asarray(stroke, np.float64).reshape(-1, 2) for stroke in strokes]
    strokes = [stroke for stroke in strokes if len(stroke)]
    if not strokes:
        return np.zeros((0, SIZE), np.float32)
    sizes = [np.ptp(stroke, axis=0).max() for stroke in strokes]
    extent = np.ptp(np.concatenate(strokes), axis=0).max()
    unit = max(np.mean(sizes), 1e-3 * extent) or 1.0  # dots alone have no size
    strokes = [_sampled(stroke / unit) for stroke in strokes]
    points = np.concatenate(strokes)  # (time, 2)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    moves = np.diff(points, axis=0, append=points[-1:])
    turns = np.diff(moves, axis=0, prepend=moves[:1])
    up = np.zeros((len(points), 1))
    up[np.cumsum([len(stroke) for stroke in strokes]) - 1] = 1
    frames = [(points - middle) / 10, moves, turns, 1 - up, up]
    return np.concatenate(frames, axis=1).astype(np.float32)


def _sampled(stroke):
    """Points at even distances along a stroke, its ends included."""
    steps = np.hypot(*np.diff(stroke, axis=0).T)
    way = np.concatenate([[0.0], np.cumsum(steps)])  # (points,), along the path
    count = int(np.clip(round(way[-1] / STEP), 1, MOST_FRAMES - 1))
    places = np.linspace(0, way[-1], count + 1)
    return np.stack([np.interp(places, way, axis) for axis in stroke.T], axis=1)


def _stroke(stroke):
    """A stroke as an array, or None if it is none."""
    try:
        array = np.asarray(stroke, np.float64)
    except (TypeError, ValueError):
        return None
    finite = np.isfinite(array).all() and (not array.size or np.abs(array).max() < 1e9)
    if array.size == 0:
        return np.zeros((0, 2))
    return array if array.ndim == 2 and array.shape[1] == 2 and finite else None
