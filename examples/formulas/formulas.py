"""Handwritten formulas: files of pen strokes and LaTeX, and the strokes drawn as images.

A file has one formula a line, as JSON, plain or .gz: `latex` (tokens with spaces), `ink`, a list
of strokes `[x0, y0, dx, dy, dx, dy, ...]`, and perhaps `owners`, for each stroke the place of the
token that it writes.
"""

import argparse
import contextlib
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

import keras_bahdanau as kb

PIXELS = 28  # of the mean size of a stroke
LOWEST = 128  # pixels of an image's height: a lower one stands in the middle of white paper
LONGEST = 30  # tokens of two formulas side by side
PEN, BORDER, FINER = 3, 4, 2  # pixels; `FINER` times as many while it is drawn
LARGEST = 2000  # pixels of a side
FARTHEST = 1e9  # that the pen moves at once, as `InkSource` has it
WAVES = 3  # that bend a formula
WAVE_LENGTHS = 2.0, 6.0  # mean sizes of a stroke
TURNED = "strength of the change of shape that each formula gets, once: %(default)s"


@contextlib.contextmanager
def ends_well():
    """A decorator of `main`: one line where the input is bad, in place of a traceback.

    Bad input is an error of the operating system, or one with "Received: ...", of the package or
    of an example. Any other exception is a bug, and keeps its traceback.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and "Received: " not in str(error):
            raise
        raise SystemExit(" ".join(str(error).split())) from None


def existing(text):
    """Path of a file or directory that is there: a `type` of argparse."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"there is no {text!r}: check the spelling")
    return Path(text)


def read(path):
    """List of (strokes, latex) of a file."""
    return [pair for *pair, _ in read_owned(path)]


def read_owned(path):
    """List of (strokes, latex, owners) of a file; None for owners that are not known.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it can't be read as text, or a line is no formula.
    """
    formulas = []
    for number, line in enumerate(kb.data.read_lines(path), start=1):
        try:
            one = json.loads(line)
            wrong = fault(one)
        except (RecursionError, ValueError):
            wrong = f"no JSON: {line!r}"
        if wrong:
            raise ValueError(
                "A line must be JSON: `latex`, a text; `ink`, lists of x and y by turns, numbers "
                f"below {FARTHEST:g}; perhaps `owners`, a token's place for each stroke. Received: "
                f"path={str(path)!r}, whose line {number} has {wrong:.60}. Mend it or remove it."
            )
        formulas.append((strokes_of(one["ink"]), one["latex"], one.get("owners")))
    return formulas


def fault(one):
    """What is wrong in a line of a file, read as JSON; None if nothing is."""
    one = one if isinstance(one, dict) else {}
    for name, kind in (("latex", str), ("ink", list)):
        if not isinstance(one.get(name), kind):
            return f"{name}={one[name]!r}" if name in one else f"no {name}"
    for number, stroke in enumerate(one["ink"]):
        if not is_stroke(stroke):
            return f"ink[{number}]={stroke!r}"
    owners, tokens = one.get("owners"), range(len(one["latex"].split()))
    if owners is not None and not are_owners(owners, one["ink"], tokens):
        return f"owners={owners!r}"
    return None


def is_stroke(stroke):
    return (
        isinstance(stroke, list)
        and len(stroke) % 2 == 0
        and all(type(move) in (int, float) and abs(move) < FARTHEST for move in stroke)
    )


def are_owners(owners, ink, tokens):
    return (
        isinstance(owners, list)
        and len(owners) == len(ink)
        and all(type(one) is int and one in tokens for one in owners)
    )


def loaded(path, *sources, on_device=False):
    """The pipeline of a file, whose source must be of one of these classes.

    Args:
        path: Path of a .keras file; with `on_device`, of that or of a .tflite file.
        *sources: Classes of `keras_bahdanau.sources`.
        on_device: Bool.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no pipeline's file, or one of another source.
    """
    on_device = on_device and Path(path).suffix == ".tflite"
    pipeline = kb.exporters.LiteRTPipeline(path) if on_device else kb.load_pipeline(path)
    if not isinstance(pipeline.source, sources):
        raise ValueError(
            f"The model's source must be {' or '.join(one.__name__ for one in sources)}. "
            f"Received: model={str(path)!r}, whose source is {type(pipeline.source).__name__}. "
            "Give another one of train.py."
        )
    return pipeline


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
    """The strokes of each formula, sheared, turned, scaled and bent in its own way, once.

    p' = p M + sum_k a_k sin(2 pi p . u_k / l_k + f_k)

    M is near the identity. The waves bend each symbol in another way, as a hand does: |a_k| is such
    that they change a small piece of a stroke about as much as M does. (After Simard et al. 2003,
    "Best practices for convolutional neural networks applied to visual document analysis".)

    Args:
        inks: List of lists of arrays `(points, 2)`.
        strength: Float. Standard deviation of the change of each number of the matrix.
        seed: Integer. Chooses the changes.

    Returns:
        List of the same form.
    """
    random = np.random.default_rng(seed)
    noise = random.normal(scale=strength, size=(len(inks), 2, 2))
    matrices = np.eye(2) + np.clip(noise, -0.5, 0.5)
    return [
        [stroke @ matrix + bend(stroke) for stroke in ink]
        for ink, matrix in zip(inks, matrices, strict=True)
        for bend in (waves(mean_size(ink), strength, random),)
    ]


def waves(unit, strength, random):
    """A function from points `(points, 2)` to how far some random waves move them."""
    length = unit * random.uniform(*WAVE_LENGTHS, WAVES)
    angle, begin = random.uniform(0, 2 * np.pi, (2, WAVES))
    across = np.stack([np.cos(angle), np.sin(angle)]) * 2 * np.pi / length  # (2, waves)
    change = np.clip(random.normal(scale=strength, size=(2, WAVES)), -0.5, 0.5)
    moves = (change * length / (2 * np.pi)).T  # (waves, 2)
    return lambda points: np.sin(points @ across + begin) @ moves


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
