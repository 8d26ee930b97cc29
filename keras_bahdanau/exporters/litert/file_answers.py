"""Answers of a LiteRT file to a pipeline's inputs, to compare with Keras' answers."""

import time

import numpy as np

from keras_bahdanau.exporters.exporter import (
    MOST_LISTED,
    Answer,
    Answers,
    Listed,
    text_beginnings,
)
from keras_bahdanau.exporters.litert.on_device import OnDevicePipeline
from keras_bahdanau.settings.greetings import without_greetings


def answers_of(path, pipeline, inputs):
    """Return the `Answers` of a file to one request per input, with lists for the first inputs."""
    on_device = OnDevicePipeline(path)
    with without_greetings():  # the first call is slow and not timed
        _timed_answer(on_device, pipeline, inputs[0])
    timed = [_timed_answer(on_device, pipeline, source) for source in inputs]
    return Answers(
        received=[answers for answers, _ in timed],
        seconds=[seconds for _, seconds in timed],
        longest=on_device.card["max_target_length"],
        longest_source=on_device.card["max_source_length"],
        lists=_lists(on_device, pipeline, inputs[:MOST_LISTED]),
    )


def _timed_answer(on_device, pipeline, source):
    """Return ([answer], seconds) for an input; ([], None) if it is too long."""
    began = time.perf_counter()
    features = _features(pipeline, source, on_device)
    if features is None:
        return [], None
    answer = _answer(on_device.decode(**features))
    return [answer], time.perf_counter() - began


def _features(pipeline, source, on_device):
    """Return the arguments for decoding an input; None if the input is too long."""
    longest = on_device.card["max_source_length"]
    rows = pipeline.source.rows([source])
    if rows.lengths[0] > longest:
        return None
    features = rows.padded(np.arange(1), (1, longest))
    tensors = {name: tensor[0] for name, tensor in pipeline.source.named(features).items()}
    (labels,) = pipeline.labels(features)
    return {"features": tensors, "labels": labels, "surfaces": on_device.surfaces(source)}


def _answer(result):
    tokens = result.token_log_probs, result.token_entropies
    return Answer(result.text, result.score, result.alignment, *tokens, result.confidence)


def _lists(on_device, pipeline, inputs):
    """Return a list of `Listed`: hypotheses for each input, with and without a prefix.

    Signatures that the file lacks are left out.
    """
    if on_device.most == 1 and not on_device.longest_prefix:
        return []
    lists = []
    prefixes = text_beginnings(pipeline, inputs)
    for row, (source, beginning) in enumerate(zip(inputs, prefixes, strict=True)):
        features = _features(pipeline, source, on_device)
        if features is None:
            continue
        length = len(pipeline.target.encode([beginning])[0]) - 1
        for prefix in ["", beginning] if 0 < length <= on_device.longest_prefix else [""]:
            results = on_device.decode_nbest(**features, prefix=prefix)
            lists.append(Listed(row, prefix, [*map(_answer, results)]))
    return lists
