"""Agreement of an exported Keras model with Keras, and its cost."""

import dataclasses
import statistics
import time
from typing import Any

import numpy as np

from keras_bahdanau.exporters.keras_models.portable_layers import half_precisions
from keras_bahdanau.exporters.parity import require
from keras_bahdanau.exporters.rounding import roundings
from keras_bahdanau.files.integrity import Damage

TOLERANCE = 1e-5  # relative to the largest value of an output, if that is above 1
MOST_MISSES = 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelParity:
    """Differences between the outputs of an artefact and of Keras, and the artefact's cost."""

    artefact: str
    requests: int
    difference: float | None = None  # largest difference in any output; None for Keras itself
    relative: float | None = None  # largest difference / max(1, largest value of its output)
    megabytes: float | None = None  # size in 10^6 bytes; for Keras, the size of its weights
    milliseconds: float | None = None  # median time for a request
    exact: bool = True  # False if the outputs may differ, as they do with fewer bits
    misses: tuple = ()  # strings: differences that rounding does not explain

    @property
    def holds(self):
        """True if there are no misses."""
        return not self.misses

    def __str__(self):
        return f"{self.artefact}: outputs within {self.relative:.1e}"


def table(rows):
    """Format a list of `ModelParity`, with Keras first, as a text table."""
    columns = {
        "size MB": ("megabytes", ".2f"),
        "difference": ("difference", ".1e"),
        "relative": ("relative", ".1e"),
        "p50 ms": ("milliseconds", ".2f"),
    }
    lines = [["", *columns]]
    for row in rows:
        values = [getattr(row, field) for field, _ in columns.values()]
        forms = [form for _, form in columns.values()]
        cells = ["" if v is None else format(v, f) for v, f in zip(values, forms, strict=True)]
        lines.append([row.artefact, *cells])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]).rstrip()
        for name, *cells in lines
    )


def describe(card):
    """Return the parity table of a card as text. Raises `Damage` if its rows are invalid."""
    names = {field.name for field in dataclasses.fields(ModelParity)}
    try:
        rows = [
            ModelParity(**{name: value for name, value in row.items() if name in names})
            for row in card["parity"]
        ]
        return table(rows) if rows else "not compared with Keras"
    except (AttributeError, OverflowError, TypeError, ValueError):
        raise Damage("its 'parity' is not a table that an export writes") from None


class ModelComparison:
    """Keras' answers to the requests of a `ServedModel`, to compare artefacts with.

    It has the interface of a `Comparison` for `export_together`.
    """

    table = staticmethod(table)
    require = staticmethod(require)

    def __init__(self, served, say=None):
        self.say = say or (lambda line: None)
        self.served = served
        began = time.perf_counter()
        self.cases = served.compared_cases
        seconds = time.perf_counter() - began
        self.say(f"Keras: {len(self.cases):,} requests")
        self.keras = ModelParity(
            artefact="Keras",
            requests=len(self.cases),
            megabytes=round(sum(w.numpy().nbytes for w in served.model.weights) / 1e6, 2),
            milliseconds=1000 * seconds / max(1, len(self.cases)),
        )

    def row(self, exporter, path):
        """Compare an artefact, and return its `ModelParity`."""
        self.say(f"{exporter.artefact}: {len(self.cases):,} requests")
        outputs, seconds = exporter.answers(path, self.served, self.cases)
        measured = [
            distances(case, output) for case, output in zip(self.cases, outputs, strict=True)
        ]
        exact = exporter.exact and not half_precisions(self.served.model)
        misses = list(self._misses(measured, exact))
        pairs = [pair for request in measured for pair in request.values()]
        return ModelParity(
            artefact=exporter.artefact,
            requests=len(self.cases),
            difference=max((pair.difference for pair in pairs), default=0.0),
            relative=max((pair.difference / pair.scale for pair in pairs), default=0.0),
            megabytes=_megabytes(path),
            milliseconds=1000 * statistics.median(seconds) if seconds else None,
            exact=exact,
            misses=tuple(misses),
        )

    def _misses(self, measured, exact):
        """Yield a message for each output that differs by more than rounding explains."""
        suspects = [
            (number, name)
            for number, request in enumerate(measured)
            for name, pair in request.items()
            if not pair.difference <= (TOLERANCE * pair.scale if exact else np.inf)
            or not np.isfinite(pair.difference)
        ][:MOST_MISSES]
        moved = self._moved(suspects) if suspects and exact else {}
        for number, name in suspects:
            pair = measured[number][name]
            allowed = max(TOLERANCE * pair.scale, moved.get((number, name), 0.0))
            if not pair.difference <= allowed or not np.isfinite(pair.difference):
                yield (
                    f"output {name!r} of signature {self.cases[number].signature!r} is off by "
                    f"{pair.difference:.1e}, but rounding explains only {allowed:.1e}"
                )

    def _moved(self, suspects):
        """Return how far Keras' answers move if its weights are perturbed.

        The keys of the dictionary are the suspects, pairs (request, output).
        """
        moved = dict.fromkeys(suspects, 0.0)
        for _ in roundings(self.served.model):
            cases = self.served.cases()
            for number, name in suspects:
                answer = cases[number].expected
                distance = distances(self.cases[number], answer)[name].difference
                moved[number, name] = max(moved[number, name], distance)
        return moved


@dataclasses.dataclass(frozen=True)
class Distance:
    """Largest difference in one output, and the scale to compare it with."""

    difference: float
    scale: float


def distances(case, outputs):
    """Return a dictionary from the name of each output to its `Distance`.

    The difference is infinite if the shapes differ.
    """
    return {
        name: _distance(expected, outputs.get(name), (case.lengths or {}).get(name))
        for name, expected in case.expected.items()
    }


def _distance(expected: Any, received: Any, lengths=None):
    if lengths is not None and received is not None:  # ignore steps after the real length
        rows = [
            _distance(expected[row, :steps], received[row, :steps])
            for row, steps in enumerate(lengths)
        ]
        return Distance(max(r.difference for r in rows), max(r.scale for r in rows))
    if received is None or np.shape(received) != np.shape(expected):
        return Distance(np.inf, 1.0)
    expected, received = np.asarray(expected), np.asarray(received)
    if expected.dtype.kind in "OSU":
        return Distance(float(np.any(expected != received)), 1.0)
    expected, received = expected.astype(np.float64), received.astype(np.float64)
    same = (expected == received) | (np.isnan(expected) & np.isnan(received))
    with np.errstate(invalid="ignore"):
        differences = np.where(same, 0.0, np.abs(expected - received))
    difference = float(np.max(differences, initial=0.0))
    finite = expected[np.isfinite(expected)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    return Distance(np.inf if np.isnan(difference) else difference, scale)


def _megabytes(path):
    files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
    return round(sum(file.stat().st_size for file in files) / 1e6, 2)
