"""Handwritten formulas: files of pen strokes and LaTeX, and the strokes drawn as images.

A file has one formula a line, as JSON, plain or .gz: `latex` (tokens with spaces) and `ink`, a list
of strokes `[x0, y0, dx, dy, dx, dy, ...]`.
"""

import gzip
import json

import numpy as np
from PIL import Image, ImageDraw

PIXELS = 14  # of the mean size of a stroke
LOWEST = 96  # pixels of an image's height: a lower one stands in the middle of white paper
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


def drawn(strokes):
    """The strokes as an image, uint8 `(height, width)`, dark on white."""
    strokes = [np.asarray(stroke, np.float64) for stroke in strokes if len(stroke)]
    if not strokes:
        return np.zeros((0, 0), np.uint8)
    points = np.concatenate(strokes)
    unit = np.mean([np.ptp(stroke, axis=0).max() for stroke in strokes]) or 1.0
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
