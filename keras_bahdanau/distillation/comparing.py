"""Comparison of teacher, baseline and student by quality, size and speed."""

import os
import time
from typing import NamedTuple

from keras_bahdanau.data.pairs import answers_by_source
from keras_bahdanau.evaluation import evaluate

TIMED = 256  # number of sources used to measure the speed


class Row(NamedTuple):
    """One model in the comparison.

    `scores` is a dictionary from the labels of metrics to percent, `size` is in bytes, and `speed`
    is in sources per second with the model's search options.
    """

    name: str
    scores: dict
    parameters: int
    size: int
    speed: float


def measure(name, pipeline, paths, pairs, metrics, batch_size=64):
    """Measure one model, a `Pipeline` loaded from the files `paths`, and return a `Row`."""
    measured = evaluate(pipeline, pairs, batch_size, metrics=metrics).by_metric.values()
    sources = answers_by_source(pairs).sources[:TIMED]
    start = time.perf_counter()  # the search has already been traced
    pipeline.decode(sources, batch_size)
    seconds = time.perf_counter() - start
    return Row(
        name,
        {metric.label: metric.score for metric in measured},
        pipeline.model.count_params(),
        sum(os.path.getsize(path) for path in paths),
        len(sources) / seconds,
    )


def table_of(rows, plural):
    r"""Return the lines of a table of `Row` objects with equal metrics; `plural` names the sources.

    >>> print(*table_of([Row("teacher", {"BLEU": 35.8}, 5_200_000, 20_000_000, 98.2)],
    ...     "sentences"), sep="\n")
             BLEU    parameters     MB   sentences/s
    teacher  35.8     5,200,000   20.0            98
    """
    labels = [*rows[0].scores]
    headings = ["", *labels, "parameters", "MB", f"{plural}/s"]
    cells = [
        [
            row.name,
            *(f"{row.scores[label]:.1f}" for label in labels),
            f"{row.parameters:,}",
            f"{row.size / 1e6:.1f}",
            f"{row.speed:,.1f}",
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *cells)
    ]
