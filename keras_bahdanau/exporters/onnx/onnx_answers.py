"""Answers of an ONNX file to a pipeline's inputs, to compare with Keras' answers."""

import time

import numpy as np

from keras_bahdanau.exporters.exporter import (
    MOST_LISTED,
    Answer,
    Answers,
    Listed,
    text_beginnings,
)
from keras_bahdanau.exporters.onnx.onnx_runner import OnnxRunner
from keras_bahdanau.settings.greetings import without_greetings

ROWS = 16  # batch size


def onnx_answers(path, pipeline, inputs):
    """Return the `Answers` of a file to single inputs and batches, and lists for some inputs."""
    runner = OnnxRunner(path)
    with without_greetings():  # the first call is slow and not timed
        _answers(runner, pipeline, inputs[:1])
    received, seconds, lists = [[] for _ in inputs], [], []
    for row, source in enumerate(inputs):
        began = time.perf_counter()
        (hypotheses,) = _answers(runner, pipeline, [source])
        seconds.append(time.perf_counter() - began)
        received[row].append(hypotheses[0])
        if row < MOST_LISTED:
            lists.append(Listed(row, "", hypotheses))
    order = [*range(len(inputs))][::-1]  # so that an input is batched with different inputs
    for first in range(0, len(inputs), ROWS):
        rows = order[first : first + ROWS]
        batch = _answers(runner, pipeline, [inputs[row] for row in rows])
        for row, hypotheses in zip(rows, batch, strict=True):
            received[row].append(hypotheses[0])
    return Answers(
        received,
        seconds,
        longest_source=runner.card["max_source_length"],
        lists=[*lists, *_completions(runner, pipeline, inputs[:MOST_LISTED])],
    )


def _answers(runner, pipeline, sources, prefixes=None):
    """Send one request, and return a list of `Answer`, best first, for each input."""
    source = pipeline.source
    request = source.feature_requests(source.batch(sources))
    if runner.longest_prefix:
        request |= _prefix_inputs(pipeline, prefixes or [""] * len(sources))
    outputs = runner.run({name: np.asarray(array) for name, array in request.items()})
    lengths = outputs["alignment_length"]
    return [
        [
            _answer(result)
            for result in runner.hypotheses(
                outputs, row, [""] * int(length), runner.most, runner.surfaces(raw)
            )
        ]
        for row, (raw, length) in enumerate(zip(sources, lengths, strict=True))
    ]


def _prefix_inputs(pipeline, prefixes):
    ids = [row[:-1] for row in pipeline.target.encode(prefixes)]
    lengths = np.array([len(row) for row in ids], np.int32)
    padded = np.zeros((len(ids), max(1, lengths.max(initial=0))), np.int32)
    for number, row in enumerate(ids):
        padded[number, : len(row)] = row
    return {"prefix": padded, "prefix_length": lengths}


def _answer(result):
    tokens = result.token_log_probs, result.token_entropies
    return Answer(result.text, result.score, result.alignment, *tokens, result.confidence)


def _completions(runner, pipeline, inputs):
    """Return a list of `Listed`: hypotheses with a prefix, if the file accepts prefixes."""
    if not runner.longest_prefix or not inputs:
        return []
    prefixes = text_beginnings(pipeline, inputs)
    lists = []
    for first in range(0, len(inputs), ROWS):
        rows = range(len(inputs))[first : first + ROWS]
        beginnings = [prefixes[row] for row in rows]
        batch = _answers(runner, pipeline, [inputs[row] for row in rows], beginnings)
        lists += map(Listed, rows, beginnings, batch)
    return lists
