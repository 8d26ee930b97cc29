"""Handwritten formulas: files of pen strokes and LaTeX, and the strokes drawn as images.

A file has one formula a line, as JSON, plain or .gz: `latex` (tokens with spaces) and `ink`, a list
of strokes `[x0, y0, dx, dy, dx, dy, ...]`.
"""

import gzip
import json

import numpy as np
from PIL import Image, ImageDraw

PIXELS = 10  # of the mean size of a stroke
LOWEST = 64  # pixels of an image's height: a lower one stands in the middle of white paper
LONGEST = 30  # tokens of two formulas side by side
PEN, BORDER, FINER = 2, 4, 3  # pixels; `FINER` times as many while it is drawn
LARGEST = 2000  # pixels of a side


def read(path):
    """List of (strokes, latex) of a file."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        formulas = [json.loads(line) for line in lines]
    return [(strokes_of(one["ink"]), one["latex"]) for one in formulas]


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


def drawn(strokes):
    """The strokes as an image, uint8 `(height, width)`, dark on white."""
    strokes = [np.asarray(stroke, np.float64) for stroke in strokes if len(stroke)]
    if not strokes:
        return np.zeros((0, 0), np.uint8)
    points = np.concatenate(strokes)
    unit = mean_size(strokes)
    extent = np.ptp(points, axis=0)
    scale = FINER * min(PIXELS / unit, LARGEST / max(extent.max(), 1e-9))
    width, height = np.ceil(extent * scale / FINER + 2 * BORDER).astype(int)
    above = max(LOWEST - height, 0) // 2
    size = (int(width) * FINER, int(max(height, LOWEST)) * FINER)
    image = Image.new("L", size, 255)
    pen = ImageDraw.Draw(image)
    for stroke in strokes:
        path = (stroke - points.min(axis=0)) * scale + FINER * np.array([BORDER, BORDER + above])
        path = [tuple(point) for point in path]
        pen.line(path if len(path) > 1 else path * 2, 0, FINER * PEN, joint="curve")
        for x, y in (path[0], path[-1]):
            half = FINER * PEN / 2
            pen.ellipse((x - half, y - half, x + half, y + half), 0)
    return np.asarray(image.reduce(FINER))
