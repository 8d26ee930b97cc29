"""Handwritten formulas: files of pen strokes and LaTeX, and the models that read them.

A file has one formula a line, as JSON, plain or .gz: `latex` (tokens with spaces), `ink`, a list
of strokes `[x0, y0, dx, dy, dx, dy, ...]`, and perhaps `owners`, for each stroke the place of the
token that it writes.
"""

import argparse
import contextlib
import json
from pathlib import Path

import numpy as np

import keras_bahdanau as kb

FARTHEST = 1e9  # that the pen moves at once, as `InkSource` has it


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


def new_file(text):
    """Path of a file in a directory that is there: a `type` of argparse."""
    folder = Path(text).parent
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {str(folder)!r}: make it first")
    return Path(text)


def new_packed_file(text):
    """The same of a file that is compressed, and named so."""
    if not text.endswith(".gz"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .gz")
    return new_file(text)


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
            "Give a model that train.py made for it."
        )
    return pipeline


def strokes_of(ink):
    """Arrays `(points, 2)` of the strokes of a file."""
    return [np.cumsum(np.reshape(stroke, (-1, 2)), axis=0) for stroke in ink]


def fraction(text):
    """A number from 0 to 1: a `type` of argparse."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"it must be a number from 0 to 1, and is {text!r}")
    return value


def not_empty(strokes):
    """The strokes that have a point, as arrays of floats."""
    return [np.asarray(stroke, np.float64) for stroke in strokes if len(stroke)]
