"""Source for ink, the strokes of a pen as sequences of points, and a picture of it."""

import itertools
import zlib

import keras
import numpy as np

from keras_bahdanau.layers.front_ends.frames import FrameConvolutions
from keras_bahdanau.sources.feature_source import FeatureSource
from keras_bahdanau.sources.picture import Picture

SIZE = 8  # values in a frame (see `InkSource`)
STEP = 0.15  # distance along the path between two frames, in mean stroke sizes
MOST_POINTS = 100_000  # maximum points in an input
MOST_FRAMES = 512  # maximum frames in a stroke; a longer stroke gets larger steps
STROKE, MOST_HEIGHT, MOST_WIDTH = 48, 256, 2048  # pixels: mean stroke size, limits for the ink
CELL, MARGIN, PEN = 8, 6, 2.0  # pixels: cell size, margin around the ink, half the line width


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class InkSource(FeatureSource):
    """Source for handwriting, as the strokes of a pen in the order in which they were drawn.

    An input is a list of strokes, each an array `(points, 2)` of x and y in any unit and position;
    y points downwards. The strokes are sampled at even distances along the path, measured in mean
    stroke sizes. A frame (after Zhang et al. 2019, "Track, attend and parse", section 3.1) consists
    of

        x, y            position of the point relative to the middle of the ink, divided by ten
        dx, dy          movement to the next point, also when the pen is in the air
        ddx, ddy        difference from the previous movement
        on, up          1 if the pen stays on the paper; 1 if it is lifted here

    Features and requests are the same as for a `FeatureSource`. With `surroundings`, the model also
    reads the ink around each point (see `layers.ShapeContext`).

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
        for number, raw in enumerate(inputs):
            if isinstance(inputs, np.ndarray) or not isinstance(raw, list | tuple | np.ndarray):
                raise TypeError(
                    f"`{name}` must be a list of inputs, each a list of strokes (points, 2). "
                    f"Received: {name}[{number}] of type {type(raw).__name__}."
                )
            strokes = [_stroke(stroke) for stroke in raw]
            if any(stroke is None for stroke in strokes):
                raise ValueError(
                    f"`{name}` must contain lists of strokes, arrays (points, 2) of finite values. "
                    f"Received: {name}[{number}]={raw!r:.80}."
                )
            points = sum(map(len, strokes))
            if points > MOST_POINTS:
                raise ValueError(
                    f"An input must have at most {MOST_POINTS:,} points. "
                    f"Received: {name}[{number}] with {points:,}. Split it."
                )

    def rows(self, inputs):
        return super().rows([pen_frames(raw) for raw in inputs])

    def picture(self, raw, longest=None):
        (values,), (length,) = self.batch([raw], longest)
        return ink_picture(values[:length])

    def key(self, raw):
        return zlib.crc32(pen_frames(raw).tobytes())

    def get_config(self):
        return {"surroundings": self.surroundings}


def pen_frames(strokes):
    """Convert strokes, arrays `(points, 2)`, to frames, float32 `(time, 8)` (see `InkSource`)."""
    strokes = [np.asarray(stroke, np.float64).reshape(-1, 2) for stroke in strokes]
    strokes = [stroke for stroke in strokes if len(stroke)]
    if not strokes:
        return np.zeros((0, SIZE), np.float32)
    sizes = [np.ptp(stroke, axis=0).max() for stroke in strokes]
    extent = np.ptp(np.concatenate(strokes), axis=0).max()
    unit = max(np.mean(sizes), 1e-3 * extent) or 1.0  # dots have no size
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
    """Return points at even distances along a stroke, including its ends."""
    steps = np.hypot(*np.diff(stroke, axis=0).T)
    way = np.concatenate([[0.0], np.cumsum(steps)])  # (points,), distance along the path
    count = int(np.clip(round(way[-1] / STEP), 1, MOST_FRAMES - 1))
    distances = np.linspace(0, way[-1], count + 1)
    return np.stack([np.interp(distances, way, axis) for axis in stroke.T], axis=1)


def _stroke(stroke):
    """Return a stroke as an array, or None if it is invalid."""
    try:
        array = np.asarray(stroke, np.float64)
    except (TypeError, ValueError):
        return None
    finite = np.isfinite(array).all() and (not array.size or np.abs(array).max() < 1e9)
    if array.size == 0:
        return np.zeros((0, 2))
    return array if array.ndim == 2 and array.shape[1] == 2 and finite else None


def ink_picture(frames):
    """Draw frames `(time, 8)` as a picture with a cell for each frame; None without frames."""
    if not len(frames):
        return None
    points = frames[:, :2] * 10.0  # (time, 2), x and y in mean stroke sizes
    points = points - points.min(axis=0)
    size = points.max(axis=0)  # (width, height)
    scale = min(STROKE, *(np.array([MOST_WIDTH, MOST_HEIGHT]) / np.maximum(size, 1)))
    columns, rows = np.ceil((size * scale + 2 * MARGIN) / CELL).astype(int)
    pixels = np.ones((rows * CELL, columns * CELL))
    points = points * scale + (np.array([columns, rows]) * CELL - size * scale) / 2  # in the middle
    _draw(pixels, _path(points, frames[:, 6] > 0.5))
    x, y = (points // CELL).astype(int).T
    return Picture(pixels, len(frames), int(rows), cells=x * rows + y)


def _path(points, on):
    """Return points less than a pixel apart along the path, where the pen is on the paper."""
    starts, ends = points[:-1][on[:-1]], points[1:][on[:-1]]
    longest = np.abs(ends - starts).max(initial=0)
    shares = np.linspace(0, 1, int(longest) + 2)[:, np.newaxis, np.newaxis]
    # (shares, 1, 1) and (segments, 2) -> (shares * segments, 2)
    return np.concatenate([points, (starts + shares * (ends - starts)).reshape(-1, 2)])


def _draw(pixels, path):
    """Blacken the pixels near a path; pixels at the edge of the line become grey."""
    whole = np.floor(path).astype(int)  # (points, 2)
    reach = int(PEN) + 1
    for x, y in itertools.product(range(-reach, reach + 1), repeat=2):
        near = whole + (x, y)
        distances = np.hypot(*(near + 0.5 - path).T)
        paper = np.clip(distances - PEN + 0.5, 0.0, 1.0)
        np.minimum.at(pixels, (near[:, 1], near[:, 0]), paper)
