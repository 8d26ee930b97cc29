"""Write one Keras model in all formats that `keras_runtimes.py` compares.

    python keras_models.py NAME FOLDER

The program writes the files to FOLDER, along with `request.npz`, Keras' answer in `answer.npz`,
and `errors.json`, a dictionary from the files that could not be written to the reasons.
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import keras_bahdanau as kb

L = keras.layers
IDS = 5000


def classifier():
    """Return a model that assigns a text of 40 words to one of 5 classes."""
    ids = keras.Input((40,), dtype="int32", name="ids")
    hidden = L.Embedding(IDS, 64, mask_zero=True)(ids)
    hidden = L.Bidirectional(L.LSTM(64, return_sequences=True))(hidden)
    return keras.Model(ids, L.Dense(5, "softmax", name="classes")(kb.AttentionPooling(64)(hidden)))


def tagger():
    """Return a model that tags each of the 40 words of a text."""
    ids = keras.Input((40,), dtype="int32", name="ids")
    hidden = L.Embedding(IDS, 64, mask_zero=True)(ids)
    hidden = L.Bidirectional(L.GRU(96, return_sequences=True))(hidden)
    return keras.Model(ids, L.Dense(20, "softmax", name="tags")(hidden))


def listener():
    """Return a model that recognizes one of 12 commands in 100 frames of sound."""
    frames = keras.Input((100, 40), name="frames")
    hidden = L.Conv1D(64, 5, strides=2, activation="relu")(frames)
    hidden = L.GRU(96)(L.GRU(96, return_sequences=True)(hidden))
    return keras.Model(frames, L.Dense(12, "softmax", name="command")(hidden))


def forecaster():
    """Return a model of four LSTM layers that predicts the step after 100 steps of 32 series."""
    series = keras.Input((100, 32), name="series")
    hidden = series
    for number in range(4):
        hidden = L.LSTM(128, return_sequences=number < 3)(hidden)
    return keras.Model(series, L.Dense(32, name="next")(hidden))


def translator():
    """Return a model with stock attention that predicts the word after each of 20 target words."""
    source = keras.Input((20,), dtype="int32", name="source")
    target = keras.Input((20,), dtype="int32", name="target")
    memory, h, c = L.LSTM(128, return_sequences=True, return_state=True)(
        L.Embedding(IDS, 64)(source)
    )
    steps = L.LSTM(128, return_sequences=True)(L.Embedding(IDS, 64)(target), initial_state=[h, c])
    context = L.AdditiveAttention()([steps, memory])
    words = L.Dense(IDS, name="words")(L.Concatenate()([steps, context]))
    return keras.Model([source, target], words)


MODELS = {
    function.__name__: function
    for function in (classifier, tagger, listener, forecaster, translator)
}


def main(name, folder):
    """Write all files for a model."""
    keras.utils.set_random_seed(0)
    model, random = MODELS[name](), np.random.default_rng(0)
    request = {
        tensor.name: random.integers(1, IDS, (1, *tensor.shape[1:])).astype("int32")
        if tensor.dtype == "int32"
        else random.normal(size=(1, *tensor.shape[1:])).astype("float32")
        for tensor in model.inputs
    }
    answer = model([request[tensor.name] for tensor in model.inputs])
    np.savez(folder / "request.npz", **request)
    np.savez(folder / "answer.npz", answer=np.asarray(answer))

    errors = {}
    for file, write in {
        "ours.tflite": lambda path: kb.export_litert(model, path),
        "ours.int8.tflite": lambda path: kb.export_litert(model, path, quantization="int8"),
        "ours.onnx": lambda path: kb.export_onnx(model, path),
        "keras.tflite": lambda path: model.export(path, format="litert", verbose=False),
        "keras.onnx": lambda path: model.export(path, format="onnx", verbose=False),
    }.items():
        try:
            write(folder / file)
        except Exception as error:  # a failure is shown in the table
            errors[file] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
    (folder / "errors.json").write_text(json.dumps(errors))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
