"""Write the conformance file for arrays: requests to exported Keras models, with the answers.

    python tests/support/array_conformance.py DIRECTORY

writes small .tflite and .onnx files and `arrays.json`, a list of cases. Each case has the `file`,
the `signature` (null for the first one), `streams` (true if the runtime keeps the states),
`requests` (objects of nested lists) with the `answers` that Keras computes, the absolute
`tolerance` of each value, and `open_length` (true if a tensor in a .tflite file has an axis of
unspecified size, which LiteRT.js refuses). For a model with 8-bit weights, LiteRT or ONNX Runtime
for Python computes the answers.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
from keras import layers as L
from keras_export_matrix import spread_weights as spread

import keras_bahdanau as kb
from keras_bahdanau.runners import ArrayModel

IDS, LENGTH, STEPS = 60, 7, 20


class Case(NamedTuple):
    """Requests to one signature of a file, and the answers that every runtime must give."""

    file: str
    requests: list
    answers: list
    signature: str | None = None
    streams: bool = False
    open_length: bool = False
    tolerance: float = 1e-5
    tolerance_of_wasm: float = 1e-5  # its 8-bit kernels round differently


def classifier():
    """Return a model from ids of any length, padded with 0, to three classes."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    vectors = L.Embedding(IDS, 4, mask_zero=True)(ids)
    hidden = L.Bidirectional(L.LSTM(5, return_sequences=True))(vectors)
    pooled = kb.AttentionPooling(4)(hidden)
    return spread(keras.Model(ids, L.Dense(3, "softmax", name="mood")(pooled)))


def listener():
    """Return a recurrent model from a sequence of vectors of any length to an output for each."""
    layers = [L.GRU(6, return_sequences=True), L.Dense(3, "softmax", name="alarm")]
    return spread(keras.Sequential([keras.Input((None, 4), name="sample"), *layers]))


def towers():
    """Return a model from ids and vectors to one output for both, and one for each vector."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    sample = keras.Input((None, 4), name="sample")
    left = L.LSTM(5)(L.Embedding(IDS, 4, mask_zero=True)(ids))
    right = L.GRU(5, return_sequences=True)(sample)
    both = L.Concatenate()([left, L.GlobalAveragePooling1D()(right)])
    return spread(
        keras.Model([ids, sample], {"score": L.Dense(2)(both), "tags": L.Dense(3)(right)})
    )


def tagger():
    """Return `listener` without a recurrent layer: vectors of any length to an output for each."""
    return spread(keras.Sequential([keras.Input((None, 4), name="sample"), L.Dense(2, name="tag")]))


def reader():
    """Return a model from ids to classes, with weights large enough to be quantized to 8 bits."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    hidden = L.GRU(40)(L.Embedding(IDS, 32, mask_zero=True)(ids))
    return spread(keras.Model(ids, L.Dense(3, name="classes")(hidden)))


def write(folder):
    """Write the files and `arrays.json` to a directory, and return the list of `Case`."""
    draw = np.random.default_rng(0)

    def ids(length, real=None):
        row = draw.integers(1, IDS, (1, length)).astype("int32")
        row[:, length if real is None else real :] = 0
        return row

    def sample(length):
        return draw.normal(size=(1, length, 4)).astype("float32")

    mood, hear, both, read = classifier(), listener(), towers(), reader()
    labels = ["bad", "so so", "good"]
    kb.export_litert(mood, folder / "mood.tflite", labels=labels)
    kb.export_litert(mood, folder / "two.tflite", length=2)
    kb.export_litert(mood, folder / "bounded.tflite", length=12, real_length=True, labels=labels)
    kb.export_litert(hear, folder / "hear.tflite", signatures=("serving_default", "step"))
    kb.export_litert(both, folder / "both.tflite", length=LENGTH)
    int8 = {"length": LENGTH, "quantization": "int8"}
    kb.export_litert(read, folder / "int8.tflite", **int8)

    rows = [ids(3), ids(12, 7), ids(40), ids(1), ids(2, 1)]
    cases = [case("mood.tflite", mood, [{"ids": row} for row in rows], open_length=True)]
    padded = [
        {"ids": np.pad(row, [(0, 0), (0, 12 - row.shape[1])]), "length": [row.shape[1]]}
        for row in rows
        if row.shape[1] <= 12
    ]
    answers = [
        answer for row, answer in zip(rows, cases[0].answers, strict=True) if row.shape[1] <= 12
    ]
    cases.append(Case("bounded.tflite", padded, answers))
    samples = [sample(length) for length in (5, 2, 9, 1, 40, 3)]
    cases.append(
        case("hear.tflite", hear, [{"sample": array} for array in samples], open_length=True)
    )
    tag = tagger()
    kb.export_litert(tag, folder / "tag.tflite")
    samples = [sample(length) for length in (1, 1500, 3)]
    cases.append(case("tag.tflite", tag, [{"sample": s} for s in samples], open_length=True))
    steps = sample(STEPS)
    whole = hear(steps).numpy()
    streamed = [{"sample": steps[:, step]} for step in range(STEPS)]
    heard = [{"alarm": whole[:, step]} for step in range(STEPS)]
    cases.append(Case("hear.tflite", streamed, heard, streams=True))
    stream = ArrayModel(folder / "hear.tflite").stream()
    requests, fed = [], []  # each request passes the states of the previous step
    for request in streamed:
        requests.append({**request, **stream.states})
        fed.append({**stream(request), **stream.states})
    cases.append(Case("hear.tflite", requests, fed, signature="step"))
    pairs = [
        {"ids": ids(LENGTH, real), "sample": sample(LENGTH)} for real in (LENGTH, 3, LENGTH, 1)
    ]
    cases.append(case("both.tflite", both, pairs))
    runner, requests = ArrayModel(folder / "int8.tflite"), [{"ids": ids(LENGTH, 5)}] * 2
    answers = [runner(request) for request in requests]
    cases.append(Case("int8.tflite", requests, answers, tolerance_of_wasm=5e-3))
    kb.export_onnx(mood, folder / "mood.onnx", labels=labels)
    kb.export_onnx(hear, folder / "hear.onnx", signatures="step")
    kb.export_onnx(both, folder / "both.onnx")
    kb.export_onnx(read, folder / "int8.onnx", "int8")
    three = np.repeat(rows[1], 3, axis=0)
    cases.append(case("mood.onnx", mood, [{"ids": row} for row in (*rows, three)]))
    cases.append(Case("hear.onnx", streamed, heard, streams=True))
    cases.append(case("both.onnx", both, [*pairs, {"ids": ids(4), "sample": sample(9)}]))
    runner = ArrayModel(folder / "int8.onnx")
    requests = [{"ids": ids(length)} for length in (5, 2)]
    answers = [runner(request) for request in requests]
    cases.append(Case("int8.onnx", requests, answers, tolerance_of_wasm=5e-3))
    cases = [
        one._replace(requests=lists(one.requests), answers=lists(one.answers)) for one in cases
    ]
    (folder / "arrays.json").write_text(json.dumps([one._asdict() for one in cases]))
    return cases


def case(file, model, requests, **fields):
    """Return the `Case` for a model whose output is a dictionary or named after its last layer."""
    answers = []
    for request in requests:
        output = model(request if len(request) > 1 else next(iter(request.values())))
        name = model.layers[-1].name
        answers.append(output if isinstance(output, dict) else {name: output})
    return Case(file, requests, answers, **fields)


def lists(objects):
    """Convert dictionaries of arrays to dictionaries of nested lists, for JSON."""
    return [{key: np.asarray(value).tolist() for key, value in one.items()} for one in objects]


def assert_alike(received, expected, tolerance):
    """Assert that answers, which are dictionaries of nested lists, are equal within a tolerance."""
    assert len(received) == len(expected)
    for one, other in zip(received, expected, strict=True):
        assert set(one) == set(other)
        for name, numbers in other.items():
            np.testing.assert_allclose(one[name], numbers, rtol=0, atol=tolerance)


if __name__ == "__main__":
    print(len(write(Path(sys.argv[1]))))
