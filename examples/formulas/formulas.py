"""Handwritten formulas: files of pen strokes and LaTeX, and the strokes drawn as images.

A file has one formula a line, as JSON, plain or .gz: `latex` (tokens with spaces), `ink`, a list
of strokes `[x0, y0, dx, dy, dx, dy, ...]`, and perhaps `owners`, for each stroke the place of the
token that it writes.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

PIXELS = 28  # of the mean size of a stroke
LOWEST = 128  # pixels of an image's height: a lower one stands in the middle of white paper
LONGEST = 30  # tokens of two formulas side by side
PEN, BORDER, FINER = 3, 4, 2  # pixels; `FINER` times as many while it is drawn
LARGEST = 2000  # pixels of a side
TURNED = "strength of the change of shape that each formula gets, once: %(default)s"


def existing(text):
    """Path of a file or directory that is there: a `type` of argparse."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"there is no {text!r}: check the spelling")
    return Path(text)


def read(path):
    """List of (strokes, latex) of a file."""
    return [pair for *pair, _ in read_owned(path)]


def read_owned(path):
    """List of (strokes, latex, owners) of a file; None for owners that are not known."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        formulas = [json.loads(line) for line in lines]
    return [(strokes_of(one["ink"]), one["latex"], one.get("owners")) for one in formulas]


def strokes_of(ink):
    """Arrays `(points, 2)` of the strokes of a file."""
    return [np.cumsum(np.reshape(stroke, (-1, 2)), axis=0) for stroke in ink]


def joined(pairs, count, seed=0):
    """So many new formulas of two, the second one written to the right of the first.

    The strokes of both get the same mean size, as in `drawn`; their middles are at one height, and
    one stroke, more or less, is free between them.

    Args:
        pairs: List of (strokes, latex).
        count: Integer, the number of new ones.
        seed: Integer. Chooses them, and the space between them.

    Returns:
        List of (strokes, latex).
    """
    random = np.random.default_rng(seed)
    pairs = [pair for pair in pairs if len(pair[1].split()) <= LONGEST // 2]
    chosen = random.integers(len(pairs), size=(count, 2))
    return [
        (beside(pairs[one][0], pairs[other][0], space), f"{pairs[one][1]} {pairs[other][1]}")
        for (one, other), space in zip(chosen, random.uniform(0.4, 1.4, count), strict=True)
    ]


def fraction(text):
    """A number from 0 to 1: a `type` of argparse."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"it must be a number from 0 to 1, and is {text!r}")
    return value


def turned(inks, strength, seed=0):
    """The strokes of each formula, sheared, turned and scaled in its own way, once.

    Args:
        inks: List of lists of arrays `(points, 2)`.
        strength: Float. Standard deviation of the change of each number of the matrix.
        seed: Integer. Chooses the changes.

    Returns:
        List of the same form.
    """
    noise = np.random.default_rng(seed).normal(scale=strength, size=(len(inks), 2, 2))
    matrices = np.eye(2) + np.clip(noise, -0.5, 0.5)
    return [[stroke @ matrix for stroke in ink] for ink, matrix in zip(inks, matrices, strict=True)]


def beside(first, second, space):
    """Strokes of both formulas, in mean sizes of a stroke; `space` of these is between them."""
    strokes, end = [], -space
    for part in (first, second):
        part = [np.asarray(stroke, np.float64) for stroke in part]
        points = np.concatenate(part)
        low, high = points.min(axis=0), points.max(axis=0)
        unit = mean_size(part)
        begin = np.array([low[0], (low[1] + high[1]) / 2])
        strokes += [(stroke - begin) / unit + [end + space, 0.0] for stroke in part]
        end += space + (high[0] - low[0]) / unit
    return strokes


def mean_size(strokes):
    """The mean over strokes of the longer side of their box."""
    return np.mean([np.ptp(stroke, axis=0).max() for stroke in strokes]) or 1.0


class Drawing(NamedTuple):
    """Where the strokes of a formula stand in its image: `(points - corner) * scale + before`."""

    corner: np.ndarray
    scale: float
    before: np.ndarray  # pixels of white paper on the left and above
    size: tuple  # (width, height) in pixels

    def places(self, stroke):
        """Float array `(points, 2)`, x and y in pixels."""
        return (stroke - self.corner) * self.scale + self.before


def drawing(strokes):
    """The `Drawing` of strokes, arrays `(points, 2)`, at least one."""
    points = np.concatenate(strokes)
    extent = np.ptp(points, axis=0)
    scale = min(PIXELS / mean_size(strokes), LARGEST / max(extent.max(), 1e-9))
    width, height = (int(side) for side in np.ceil(extent * scale + 2 * BORDER))
    above = max(LOWEST - height, 0) // 2
    before = np.array([BORDER, BORDER + above])
    return Drawing(points.min(axis=0), scale, before, (width, max(height, LOWEST)))


def drawn(strokes):
    """The strokes as an image, uint8 `(height, width)`, dark on white."""
    strokes = not_empty(strokes)
    if not strokes:
        return np.zeros((0, 0), np.uint8)
    where = drawing(strokes)
    image = Image.new("L", tuple(FINER * side for side in where.size), 255)
    pen = ImageDraw.Draw(image)
    for stroke in strokes:
        path = [tuple(point) for point in FINER * where.places(stroke)]
        pen.line(path if len(path) > 1 else path * 2, 0, FINER * PEN, joint="curve")
        for x, y in (path[0], path[-1]):
            half = FINER * PEN / 2
            pen.ellipse((x - half, y - half, x + half, y + half), 0)
    return np.asarray(image.reduce(FINER))


def not_empty(strokes):
    """The strokes that have a point, as arrays of floats."""
    return [np.asarray(stroke, np.float64) for stroke in strokes if len(stroke)]


def links(strokes, latex, owners, source):
    """The cells of an image that the strokes of each symbol pass, to guide the attention.

    Args:
        strokes: List of arrays `(points, 2)`, none empty.
        latex: String, tokens with spaces.
        owners: List of integers, the token of each stroke, or None.
        source: The `ImageSource` that reads the image.

    Returns:
        uint8 array `(tokens + 1, cells)`, the last row for the end; empty without owners.
    """
    if owners is None:
        return np.zeros((0, 0), np.uint8)
    where = drawing(strokes)
    columns, rows = where.size
    _, width = (int(side) for side in source.decoder.scaled(rows, columns))
    cells = -(-width // source.cell) * source.grid_height
    found = np.zeros((len(latex.split()) + 1, cells), np.uint8)
    step = source.cell / where.scale / 4
    points = [where.places(along(stroke, step)) for stroke in strokes]
    owner = np.repeat(owners, [len(each) for each in points])
    found[owner, cells_at(np.concatenate(points), where, source)] = 1
    return found


def cells_at(points, where, source):
    """The cells of an image, as the source makes it, in which points of a drawing stand.

    Args:
        points: Float array `(points, 2)`, x and y in pixels of the drawing.
        where: The `Drawing`.
        source: The `ImageSource` that reads it.

    Returns:
        Int32 array `(points,)`.
    """
    columns, rows = where.size
    height, width = (int(side) for side in source.decoder.scaled(rows, columns))
    above = (source.height - height) // 2
    points = points * [width / columns, height / rows] + [0, above]
    x, y = (points // source.cell).astype(np.int32).T
    return x * source.grid_height + y


def along(stroke, step):
    """Points `(points, 2)` on a stroke, about `step` from each other."""
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(stroke, axis=0).T))])
    places = np.linspace(0, way[-1], int(min(way[-1] / step, LARGEST)) + 2)
    return np.stack([np.interp(places, way, axis) for axis in stroke.T], axis=1)
