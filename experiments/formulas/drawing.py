"""Draw strokes as an image, and find their pixels and the cells of a source that they pass."""

from typing import NamedTuple

import numpy as np
from formulas import not_empty
from PIL import Image, ImageDraw

PIXELS = 28  # pixels of the mean stroke size
LOWEST = 128  # minimum image height in pixels; lower drawings are centred on white
PEN, BORDER, FINER = 3, 4, 2  # pixels; multiplied by `FINER` while drawing
LARGEST = 2000  # maximum pixels per side


def mean_size(strokes):
    """Return the mean over strokes of the longer side of their box, or 1 if that is 0."""
    sides = [np.ptp(stroke, axis=0).max() for stroke in not_empty(strokes)]
    return float(np.mean(sides or [1.0])) or 1.0


class Drawing(NamedTuple):
    """Positions of a formula's strokes in its image: `(points - corner) * scale + before`."""

    corner: np.ndarray
    scale: float
    before: np.ndarray  # pixels of white margin on the left and at the top
    size: tuple  # (width, height) in pixels

    def places(self, stroke):
        """Return a float array `(points, 2)`, x and y in pixels."""
        return (stroke - self.corner) * self.scale + self.before


def placed(strokes):
    """Return the `Drawing` for a non-empty list of strokes, arrays `(points, 2)`."""
    points = np.concatenate(strokes)
    extent = np.ptp(points, axis=0)
    scale = min(PIXELS / mean_size(strokes), LARGEST / max(extent.max(), 1e-9))
    width, height = (int(side) for side in np.ceil(extent * scale + 2 * BORDER))
    above = max(LOWEST - height, 0) // 2
    before = np.array([BORDER, BORDER + above])
    return Drawing(points.min(axis=0), scale, before, (width, max(height, LOWEST)))


def drawn(strokes):
    """Draw the strokes as an image, uint8 `(height, width)`, dark on white."""
    strokes = not_empty(strokes)
    if not strokes:
        return np.zeros((0, 0), np.uint8)
    where = placed(strokes)
    image = Image.new("L", tuple(FINER * side for side in where.size), 255)
    pen = ImageDraw.Draw(image)
    for stroke in strokes:
        path = [tuple(point) for point in FINER * where.places(stroke)]
        pen.line(path if len(path) > 1 else path * 2, 0, FINER * PEN, joint="curve")
        for x, y in (path[0], path[-1]):
            half = FINER * PEN / 2
            pen.ellipse((x - half, y - half, x + half, y + half), 0)
    return np.asarray(image.reduce(FINER))


def links(strokes, latex, owners, source):
    """Return the image cells that each symbol's strokes pass, to guide the attention.

    Args:
        strokes: List of arrays `(points, 2)`.
        latex: String. Tokens separated by spaces.
        owners: List of integers. The token index of each stroke, or None.
        source: The `ImageSource` that reads the image.

    Returns:
        uint8 array `(tokens + 1, cells)`, with the last row for the end token. It is empty if
        there are no owners or no strokes.
    """
    if owners is None or not not_empty(strokes):
        return np.zeros((0, 0), np.uint8)
    where = placed(not_empty(strokes))
    columns, rows = where.size
    _, width = (int(side) for side in source.decoder.scaled(rows, columns))
    cells = -(-width // source.cell) * source.grid_height
    found = np.zeros((len(latex.split()) + 1, cells), np.uint8)
    step = source.cell / where.scale / 4
    points = [where.places(along(stroke, step)) for stroke in strokes]  # one (points, 2) per stroke
    owner = np.repeat(owners, [len(each) for each in points])
    found[owner, cells_at(np.concatenate(points), where, source)] = 1
    return found


def cells_at(points, where, source):
    """Return the cell of each point of a drawing, in the image as scaled by the source.

    Args:
        points: Float array `(points, 2)`. x and y in pixels of the drawing.
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
    """Return points `(points, 2)` on a stroke, about `step` apart."""
    if not len(stroke):
        return np.zeros((0, 2))
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(stroke, axis=0).T))])
    places = np.linspace(0, way[-1], int(min(way[-1] / step, LARGEST)) + 2)
    return np.stack([np.interp(places, way, axis) for axis in stroke.T], axis=1)
