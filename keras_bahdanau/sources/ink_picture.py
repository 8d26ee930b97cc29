"""The drawing of a pen, from the frames of an `InkSource`."""

import itertools

import numpy as np

from keras_bahdanau.sources.picture import Picture

STROKE, MOST_HEIGHT, MOST_WIDTH = 48, 256, 2048  # pixels: of a mean stroke, of the ink
CELL, MARGIN, PEN = 8, 6, 2.0  # pixels: of a cell, around the ink, half of a line's width


def ink_picture(frames):
    """Draw black ink on white paper; a position lies in the cell where its frame does.

    Args:
        frames: Float array `(time, 8)`: see `InkSource`.

    Returns:
        `Picture`; None if there is no frame.
    """
    if not len(frames):
        return None
    points = frames[:, :2] * 10.0  # (time, 2), x and y in sizes of a stroke
    points = points - points.min(axis=0)
    size = points.max(axis=0)  # (width, height)
    scale = min(STROKE, *(np.array([MOST_WIDTH, MOST_HEIGHT]) / np.maximum(size, 1)))
    columns, rows = np.ceil((size * scale + 2 * MARGIN) / CELL).astype(int)
    pixels = np.ones((rows * CELL, columns * CELL))
    points = points * scale + (np.array([columns, rows]) * CELL - size * scale) / 2  # in the middle
    _draw(pixels, _path(points, frames[:, 6] > 0.5))
    x, y = (points // CELL).astype(int).T
    return Picture(pixels, len(frames), int(rows), places=x * rows + y)


def _path(points, on):
    """Points less than a pixel from the next, of the parts in which the pen stays on the paper."""
    starts, ends = points[:-1][on[:-1]], points[1:][on[:-1]]
    longest = np.abs(ends - starts).max(initial=0)
    shares = np.linspace(0, 1, int(longest) + 2)[:, np.newaxis, np.newaxis]
    # (shares, 1, 1) and (segments, 2) -> (shares * segments, 2)
    return np.concatenate([points, (starts + shares * (ends - starts)).reshape(-1, 2)])


def _draw(pixels, path):
    """Blacken the pixels near a path, in part those at its edge."""
    whole = np.floor(path).astype(int)  # (points, 2)
    reach = int(PEN) + 1
    for x, y in itertools.product(range(-reach, reach + 1), repeat=2):
        near = whole + (x, y)
        distances = np.hypot(*(near + 0.5 - path).T)
        paper = np.clip(distances - PEN + 0.5, 0.0, 1.0)
        np.minimum.at(pixels, (near[:, 1], near[:, 0]), paper)
