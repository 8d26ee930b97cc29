"""Answers of a LiteRT file to the inputs of a pipeline, to compare with those of Keras."""

import time

import numpy as np

from keras_bahdanau.exporters.exporter import (
    MOST_LISTED,
    Answer,
    Answers,
    Listed,
    begun_texts,
)
from keras_bahdanau.exporters.litert.on_device import OnDevicePipeline


def answers_of(path, pipeline, inputs):
    """The texts of a file, and the time of each: see `Exporter.answers`.

    Each input that is short enough is a request of its own. Lists of hypotheses are those of the
    first inputs, if the file has the signatures.

    Args:
        path: Path of the file.
        pipeline: The `Pipeline` that it was made of.
        inputs: List of inputs of its source.

    Returns:
        `Answers`.
    """
    on_device = OnDevicePipeline(path)
    card, received, seconds = on_device.card, [], []
    for one in [inputs[0], *inputs]:  # the first call is slow, and does not count
        began = time.perf_counter()
        features = _features(pipeline, one, on_device)
        received.append([] if features is None else [_answer(on_device.decode(**features))])
        seconds.append(None if features is None else time.perf_counter() - began)
    limits = card["max_target_length"], card["max_source_length"]
    lists = _lists(on_device, pipeline, inputs[:MOST_LISTED])
    return Answers(received[1:], seconds[1:], *limits, lists)


def _features(pipeline, one, on_device):
    """Arguments by which a file decodes an input; None if the input is too long."""
    longest = on_device.card["max_source_length"]
    rows = pipeline.source.rows([one])
    if rows.lengths[0] > longest:
        return None
    features = rows.padded(np.arange(1), (1, longest))
    tensors = {name: tensor[0] for name, tensor in pipeline.source.named(features).items()}
    (labels,) = pipeline.labels(features)
    return {"features": tensors, "labels": labels, "surfaces": on_device.surfaces(one)}


def _answer(found):
    of_tokens = found.token_log_probs, found.token_entropies
    return Answer(found.text, found.score, found.alignment, *of_tokens, found.confidence)


def _lists(on_device, pipeline, inputs):
    """List of `Listed`: hypotheses of each input, without and with a prefix, as far as it can."""
    if on_device.most == 1 and not on_device.longest_prefix:
        return []
    lists = []
    for row, (one, begun) in enumerate(zip(inputs, begun_texts(pipeline, inputs), strict=True)):
        features = _features(pipeline, one, on_device)
        if features is None:
            continue
        length = len(pipeline.target.encode([begun])[0]) - 1
        for prefix in ["", begun] if 0 < length <= on_device.longest_prefix else [""]:
            found = on_device.decode_nbest(**features, prefix=prefix)
            lists.append(Listed(row, prefix, [*map(_answer, found)]))
    return lists
