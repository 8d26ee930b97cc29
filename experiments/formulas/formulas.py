"""Handwritten formulas: files of pen strokes and LaTeX, and the models that read them.

A file, plain or .gz, has one formula per line as a JSON object: `latex` (tokens separated by
spaces), `ink`, a list of strokes `[x0, y0, dx, dy, dx, dy, ...]`, and optionally `owners`, the
index of the token to which each stroke belongs.
"""

import argparse
import contextlib
import json
from pathlib import Path

import numpy as np

import keras_bahdanau as kb

FARTHEST = 1e9  # maximum pen movement between two points, as in `InkSource`


@contextlib.contextmanager
def ends_well():
    """Decorate `main` to report invalid input in one line instead of a traceback.

    Invalid input raises an OSError, or an error with "Received: ..." from the package or from an
    example. Any other exception is a bug, and keeps its traceback.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and "Received: " not in str(error):
            raise
        raise SystemExit(" ".join(str(error).split())) from None


def existing(text):
    """Return the path of an existing file or directory: a `type` for argparse."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"there is no {text!r}: check the spelling")
    return Path(text)


def new_file(text):
    """Return the path of a file in an existing directory: a `type` for argparse."""
    folder = Path(text).parent
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {str(folder)!r}: make it first")
    return Path(text)


def new_packed_file(text):
    """Return the path of a .gz file in an existing directory: a `type` for argparse."""
    if not text.endswith(".gz"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .gz")
    return new_file(text)


def read(path):
    """Return the (strokes, latex) of each line in a file."""
    return [pair for *pair, _ in read_owned(path)]


def read_owned(path):
    """Return the (strokes, latex, owners) of each line; unknown owners are None.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If it can't be read as text, or a line is not a formula.
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
                "A line must be JSON: `latex`, a text; `ink`, lists of alternating x and y below "
                f"{FARTHEST:g}; optionally `owners`, a token index for each stroke. Received: "
                f"path={str(path)!r}, whose line {number} has {wrong:.60}. Correct or remove it."
            )
        formulas.append((strokes_of(one["ink"]), one["latex"], one.get("owners")))
    return formulas


def fault(one):
    """Return what is wrong with a line read as JSON, or None if nothing is."""
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
    """Load a pipeline whose source must be an instance of one of these classes.

    Args:
        path: Path of a .keras file, or with `on_device` also of a .tflite file.
        *sources: Classes of `keras_bahdanau.sources`.
        on_device: Bool.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If it does not contain a pipeline, or one with another source.
    """
    on_device = on_device and Path(path).suffix == ".tflite"
    pipeline = kb.exporters.LiteRTPipeline(path) if on_device else kb.load_pipeline(path)
    if not isinstance(pipeline.source, sources):
        raise ValueError(
            f"The model's source must be {' or '.join(one.__name__ for one in sources)}. "
            f"Received: model={str(path)!r}, whose source is {type(pipeline.source).__name__}. "
            "Use a model that was trained by train.py for this source."
        )
    return pipeline


def strokes_of(ink):
    """Convert the strokes of a file to arrays `(points, 2)`."""
    return [np.cumsum(np.reshape(stroke, (-1, 2)), axis=0) for stroke in ink]


def fraction(text):
    """Return a number from 0 to 1: a `type` for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"it must be a number from 0 to 1, but is {text!r}")
    return value


def not_empty(strokes):
    """Return the strokes that have points, as float arrays."""
    return [np.asarray(stroke, np.float64) for stroke in strokes if len(stroke)]
