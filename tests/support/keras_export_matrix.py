"""Keras models of many kinds, and the outcome of exporting each as a LiteRT or ONNX file.

Each row has a name, a function that builds a model, and the settings of its export. The slow tests
in `tests/conformance/test_keras_exports.py`, and `benchmarks/keras_exports.py`, run all rows.
"""

import contextlib
import io
import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau import layers as ours
from keras_bahdanau.layers import names

L = keras.layers
IDS, UNITS, WIDTH, CLASSES = 60, 40, 32, 3  # large enough to be quantized to 8 bits
FIXED = {"length": 12}
FORMS = {
    "litert": (kb.export_litert, "model.tflite"),
    "onnx": (kb.export_onnx, "model.onnx"),
}


class Row(NamedTuple):
    """A model and its export settings.

    If the export must fail, `refused` is the beginning of the remedy in the error.
    """

    build: Callable
    settings: dict = {}
    refused: str = ""


class Outcome(NamedTuple):
    """The outcome of a row's export."""

    row: str
    exported: bool
    difference: float | None  # relative; within 1e-5 in float32
    kilobytes: float | None
    error: str = ""
    plain_keras: str = ""  # "runs", or why it doesn't


@keras.saving.register_keras_serializable(package="keras_export_matrix")
class MinimalCell(L.Layer):
    """The cell in the Keras documentation of `RNN`."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
        self.recurrent = self.add_weight(shape=(self.units, self.units), name="recurrent")

    def call(self, inputs, states):
        output = ops.tanh(ops.matmul(inputs, self.kernel) + ops.matmul(states[0], self.recurrent))
        return output, [output]


class TwoInputs(keras.Model):
    """A subclassed model with a dictionary as its input and its output."""

    def __init__(self):
        super().__init__()
        self.embedding, self.rnn = L.Embedding(IDS, WIDTH), L.GRU(UNITS)
        self.classes = L.Dense(CLASSES)

    def call(self, inputs):
        vector = self.rnn(self.embedding(inputs["ids"]))
        return {"classes": self.classes(ops.concatenate([vector, inputs["age"]], axis=-1))}


def ids(mask_zero=True, length=None, name="ids"):
    """Return (input, vectors) for a sequence of ids."""
    tensor = keras.Input((length,), dtype="int32", name=name)
    return tensor, L.Embedding(IDS, WIDTH, mask_zero=mask_zero)(tensor)


def numbers(length=None, name="sample"):
    """Return (input, vectors) for a sequence of vectors."""
    tensor = keras.Input((length, WIDTH), name=name)
    return tensor, tensor


def over(source, *parts):
    """Return a function that builds a model, with the layers of `parts` over `ids` or `numbers`."""

    def build():
        tensor, vectors = source()
        for part in parts:
            vectors = part()(vectors)
        return keras.Model(tensor, L.Dense(CLASSES)(vectors))

    return build


def unmasked():
    return ids(mask_zero=False)


def rnn(kind, **settings):
    return lambda: kind(UNITS, **settings)


def attended(attend, source=ids, **settings):
    """Return a function that builds a model, with an attention over a bidirectional GRU."""

    def build():
        tensor, vectors = source()
        hidden = L.Bidirectional(L.GRU(UNITS, return_sequences=True))(vectors)
        return keras.Model(tensor, L.Dense(CLASSES)(attend(hidden)))

    return build


def pooled(layer):
    """Return a function that attends to the time steps, with their mean as the query."""
    return lambda hidden: layer()(L.GlobalAveragePooling1D()(hidden), hidden)


def self_attended(layer):
    return lambda hidden: L.GlobalMaxPooling1D()(layer()([hidden, hidden]))


def recurrent_rows():
    for name, kind in {"LSTM": L.LSTM, "GRU": L.GRU, "SimpleRNN": L.SimpleRNN}.items():
        every = {"return_sequences": True}
        yield f"{name}, no mask", Row(over(unmasked, rnn(kind)))
        yield f"{name}, numbers", Row(over(numbers, rnn(kind)), FIXED)
        yield f"{name}, masked", Row(over(ids, rnn(kind)))
        yield f"{name}, masked, fixed", Row(over(ids, rnn(kind)), FIXED)
        yield f"{name}, both directions", Row(over(unmasked, both(kind)), FIXED)
        yield f"{name}, both directions, masked", Row(over(ids, both(kind)))
        yield f"{name}, stacked, masked", Row(over(ids, rnn(kind, **every), rnn(kind)))
        yield f"{name}, backwards, masked", Row(over(ids, rnn(kind, go_backwards=True)))
        yield f"{name}, unrolled", Row(over(numbers, rnn(kind, unroll=True)), {"length": 5})
        yield f"{name}, all steps", Row(over(ids, rnn(kind, **every)))
        yield f"{name}, batch of 4", Row(over(ids, rnn(kind)), {"batch_size": 4})
        yield f"{name}, real length", Row(over(numbers, both(kind)), {"real_length": True, **FIXED})
        yield f"{name}, steps", Row(over(numbers, rnn(kind)), {"signatures": ("step",)})


def both(kind):
    return lambda: L.Bidirectional(kind(UNITS))


def cell_rows():
    for name in names.CELLS:
        yield f"RNN of our {name}", Row(over(ids, lambda name=name: L.RNN(cell(name))))


def cell(name):
    return ours.CELLS.get(name, UNITS)


def attention_rows():
    kinds = {
        "AdditiveAttention": self_attended(L.AdditiveAttention),
        "Attention": self_attended(L.Attention),
        "MultiHeadAttention": lambda h: L.GlobalMaxPooling1D()(L.MultiHeadAttention(2, 3)(h, h)),
        "causal MultiHeadAttention": lambda h: L.GlobalMaxPooling1D()(
            L.MultiHeadAttention(2, 3)(h, h, use_causal_mask=True)
        ),
        "AttentionPooling": lambda h: ours.AttentionPooling(5)(h),
        "AttentionPooling, last": lambda h: ours.AttentionPooling(5, query="last")(h),
        "AttentionPooling, 2 heads": lambda h: ours.AttentionPooling(6, heads=2)(h),
        "BahdanauAttention": pooled(lambda: ours.BahdanauAttention(5)),
        "BahdanauAttention, many queries": lambda h: L.GlobalMaxPooling1D()(
            ours.BahdanauAttention(5)(h, h)
        ),
        "LuongAttention": pooled(lambda: ours.LuongAttention()),
        "AttentionRNN": lambda h: ours.AttentionRNN(L.GRUCell(5))(h, h),
    }
    for name, attend in kinds.items():
        yield f"{name}, any length", Row(attended(attend))
        yield f"{name}, fixed", Row(attended(attend), {"length": 20})
    for name in ("AttentionPooling", "BahdanauAttention, many queries", "MultiHeadAttention"):
        weights = {"signatures": ("serving_default", "weights"), **FIXED}
        yield f"{name}, weights", Row(attended(kinds[name]), weights)


def layer_rows():
    pool = L.GlobalAveragePooling1D
    parts = {
        "RNN of a cell of one's own": [lambda: L.RNN(MinimalCell(UNITS))],
        "RNN of two cells": [lambda: L.RNN([L.GRUCell(4), L.LSTMCell(5)])],
        "LSTM with dropout": [lambda: L.LSTM(UNITS, dropout=0.3, recurrent_dropout=0.2)],
        "Masking": [lambda: L.Masking(), lambda: L.GRU(UNITS)],
        "Conv1D, GRU": [lambda: L.Conv1D(5, 3, padding="same"), lambda: L.GRU(UNITS)],
        "causal Conv1D": [lambda: L.Conv1D(5, 3, padding="causal"), pool],
        "SeparableConv1D": [lambda: L.SeparableConv1D(5, 3, padding="same"), pool],
        "DepthwiseConv1D": [lambda: L.DepthwiseConv1D(3, padding="same"), pool],
        "MaxPooling1D, LSTM": [lambda: L.MaxPooling1D(2, padding="same"), lambda: L.LSTM(UNITS)],
        "TimeDistributed Dense": [lambda: L.TimeDistributed(L.Dense(5, "relu")), pool],
        "LayerNormalization": [lambda: L.LayerNormalization(), lambda: L.GRU(UNITS)],
        "RMSNormalization": [lambda: L.RMSNormalization(), lambda: L.GRU(UNITS)],
        "BatchNormalization": [lambda: L.BatchNormalization(), lambda: L.GRU(UNITS)],
        "GroupNormalization": [lambda: L.GroupNormalization(2), pool],
        "UnitNormalization": [lambda: L.UnitNormalization(), pool],
        "GELU": [lambda: L.Dense(5, "gelu"), pool],
        "SiLU, PReLU": [lambda: L.Dense(5, "silu"), lambda: L.PReLU(shared_axes=[1]), pool],
        "EinsumDense": [lambda: L.EinsumDense("bti,ij->btj", (None, 5)), pool],
        "SpatialDropout1D": [lambda: L.SpatialDropout1D(0.5), lambda: L.GRU(UNITS)],
        "GaussianNoise": [lambda: L.GaussianNoise(0.5), lambda: L.GRU(UNITS)],
        "GlobalMaxPooling1D": [lambda: L.GRU(UNITS, return_sequences=True), L.GlobalMaxPooling1D],
        "Normalization": [
            lambda: L.Normalization(mean=[0.5] * WIDTH, variance=[2.0] * WIDTH),
            pool,
        ],
        "Rescaling": [lambda: L.Rescaling(0.5, 1.0), lambda: L.GRU(UNITS)],
    }
    for name, built in parts.items():
        yield name, Row(over(numbers, *built), FIXED)
    yield (
        "autoencoder",
        Row(
            over(
                numbers,
                rnn(L.LSTM),
                lambda: L.RepeatVector(7),
                rnn(L.LSTM, return_sequences=True),
            ),
            FIXED,
        ),
    )
    yield "Flatten", Row(over(lambda: ids(False, 12), lambda: L.Flatten()))
    yield "Discretization", Row(discretized)
    yield "IntegerLookup", Row(looked_up, {}, "Replace the layer")
    yield "CategoryEncoding", Row(encoded, {}, "Replace the layer")


def discretized():
    x = keras.Input((5,), name="ages")
    bins = L.Discretization([-1.0, 0.0, 1.0])(x)
    return keras.Model(x, L.Dense(CLASSES)(L.Flatten()(L.Embedding(4, 3)(bins))))


def looked_up():
    x = keras.Input((5,), dtype="int32", name="codes")
    found = L.IntegerLookup(vocabulary=[7, 2, 3])(x)
    return keras.Model(x, L.Dense(CLASSES)(L.Flatten()(L.Embedding(5, 3)(found))))


def encoded():
    x = keras.Input((5,), dtype="int32", name="codes")
    encoding = L.CategoryEncoding(num_tokens=4, output_mode="multi_hot")(x)
    return keras.Model(x, L.Dense(CLASSES)(encoding))


def image(shape=(16, 16, 1), name="picture"):
    return keras.Input(shape, name=name)


def recognizer():
    """Return a model with convolutions and a recurrent layer over the columns of the image."""
    x = image((8, 24, 1))
    h = L.MaxPooling2D()(L.Conv2D(4, 3, padding="same", activation="relu")(x))
    h = L.Reshape((12, 16))(L.Permute((2, 1, 3))(h))
    return keras.Model(
        x, L.Dense(CLASSES, "softmax")(L.Bidirectional(L.LSTM(UNITS, return_sequences=True))(h))
    )


def film():
    x = keras.Input((4, 6, 6, 1), name="film")
    h = L.ConvLSTM2D(3, 3, padding="same")(x)
    return keras.Model(x, L.Dense(CLASSES)(L.GlobalAveragePooling2D()(h)))


def rows_of_frames():
    x = keras.Input((4, 6, 2), name="series")
    return keras.Model(x, L.Dense(CLASSES)(L.Flatten()(L.ConvLSTM1D(3, 3, padding="same")(x))))


def hierarchy():
    """Return a model of a document with attention over the words and over the sentences."""
    x = keras.Input((3, 5), dtype="int32", name="document")
    words = keras.Input((5,), dtype="int32")
    h = L.GRU(UNITS, return_sequences=True)(L.Embedding(IDS, WIDTH)(words))
    sentence = keras.Model(words, ours.AttentionPooling(4)(h))
    h = L.GRU(UNITS, return_sequences=True)(L.TimeDistributed(sentence)(x))
    return keras.Model(x, L.Dense(CLASSES)(ours.AttentionPooling(4)(h)))


def encoder_decoder():
    source, vectors = ids(name="source")
    target, previous = ids(name="target")
    memory, h, c = L.LSTM(UNITS, return_sequences=True, return_state=True)(vectors)
    steps = L.LSTM(UNITS, return_sequences=True)(previous, initial_state=[h, c])
    context = ours.BahdanauAttention(5)(steps, memory)
    return keras.Model([source, target], L.Dense(IDS)(L.Concatenate()([steps, context])))


def siamese():
    encode = keras.Sequential([L.Embedding(IDS, WIDTH, mask_zero=True), L.LSTM(UNITS)])
    left, right = (keras.Input((None,), dtype="int32", name=name) for name in ("left", "right"))
    return keras.Model([left, right], L.Dot(-1, normalize=True)([encode(left), encode(right)]))


def several_outputs():
    tensor, vectors = ids()
    h, state = L.GRU(UNITS, return_sequences=True, return_state=True)(vectors)
    return keras.Model(tensor, {"tags": L.Dense(4, "softmax")(h), "topic": L.Dense(CLASSES)(state)})


def subclassed():
    model = TwoInputs()
    model({"ids": np.ones((2, 7), "int32"), "age": np.ones((2, 1), "float32")})
    return model


def stateful():
    return keras.Sequential(
        [keras.Input((None, WIDTH), batch_size=1), L.GRU(UNITS, stateful=True), L.Dense(CLASSES)]
    )


def transformer():
    tensor, x = ids()
    for _ in range(2):
        attention = L.MultiHeadAttention(2, 4)(x, x)
        x = L.LayerNormalization()(L.Add()([x, attention]))
        x = L.LayerNormalization()(L.Add()([x, L.Dense(WIDTH)(L.Dense(9, "relu")(x))]))
    return keras.Model(tensor, L.Dense(CLASSES)(L.GlobalAveragePooling1D()(x)))


def tagger():
    tensor, vectors = ids()
    h = L.Bidirectional(L.LSTM(UNITS, return_sequences=True))(vectors)
    return keras.Model(tensor, L.TimeDistributed(L.Dense(CLASSES, "softmax"))(h))


def forecaster():
    model = kb.Forecaster(4, units=UNITS)
    model(np.ones((1, 9, 2), "float32"))
    return model


def odd_names():
    """Return a model whose inputs are named like Python keywords and function arguments."""
    inputs = {name: keras.Input((2,), name=name) for name in ("class", "self", "name")}
    return keras.Model([*inputs.values()], L.Add(name="from")([*inputs.values()]))


def text_model():
    x = keras.Input((1,), dtype="string", name="text")
    words = L.TextVectorization(vocabulary=["a", "b"])(x)
    return keras.Model(x, L.Dense(1)(L.LSTM(UNITS)(L.Embedding(9, WIDTH, mask_zero=True)(words))))


def states_of_both():
    """Return a model with the unmerged outputs of two directions, and the sum of their states."""
    tensor, vectors = ids()
    both = L.Bidirectional(L.LSTM(UNITS, return_state=True), merge_mode=None)
    forward, backward, *states = both(vectors)
    outputs = {"forward": forward, "backward": backward, "state": L.Add()(states)}
    return keras.Model(tensor, outputs)


def built_by_shape():
    """Return a Sequential model without an `Input`, for which Keras assumes a float input."""
    model = keras.Sequential([L.Embedding(IDS, WIDTH), L.GRU(UNITS), L.Dense(CLASSES)])
    model.build((None, 12))
    return model


def model_rows():
    yield "both directions with states", Row(states_of_both)
    yield "built by its shape", Row(built_by_shape)
    yield "GRU, reset before", Row(over(ids, rnn(L.GRU, reset_after=False, use_bias=False)))
    yield (
        "Attention with scale",
        Row(
            attended(self_attended(lambda: L.Attention(use_scale=True, score_mode="concat"))), FIXED
        ),
    )
    yield "ConvLSTM1D", Row(rows_of_frames)
    yield "ConvLSTM2D", Row(film)
    yield (
        "ConvLSTM2D, all steps",
        Row(lambda: over_frames(L.ConvLSTM2D(2, 3, padding="same", return_sequences=True))),
    )
    yield (
        "TimeDistributed Conv2D",
        Row(lambda: over_frames(L.TimeDistributed(L.Conv2D(2, 3, padding="same")))),
    )
    yield "recognizer of text lines", Row(recognizer)
    yield "hierarchical attention", Row(hierarchy)
    yield "encoder and decoder, any length", Row(encoder_decoder)
    yield "encoder and decoder, fixed", Row(encoder_decoder, {"length": {"source": 9, "target": 7}})
    yield "siamese", Row(siamese)
    yield "Forecaster", Row(forecaster)
    yield (
        "Forecaster, any length, weights",
        Row(forecaster, {"length": "dynamic", "signatures": ("serving_default", "weights")}),
    )
    yield "names of keywords", Row(odd_names)
    yield "ConvLSTM1D, steps", Row(rows_of_frames, {"signatures": ("step",)}, "Leave out 'step'")
    yield (
        "RNN of our LSTM, steps",
        Row(over(numbers, lambda: L.RNN(cell("lstm"))), {"signatures": ("step",)}),
    )
    yield "several outputs", Row(several_outputs)
    yield "subclassed", Row(subclassed)
    yield "subclassed, any length", Row(subclassed, {"length": "dynamic"})
    yield "transformer", Row(transformer)
    yield "transformer, any batch", Row(transformer, {"batch_size": None, **FIXED})
    yield "tagger", Row(tagger)
    yield "tagger, steps", Row(tagger, {"signatures": ("step",)}, "Leave out 'step'")
    yield "stateful", Row(stateful, {}, "Use signatures=")
    yield "stateful, steps", Row(stateful, {"signatures": ("step",)})
    yield "LSTM, any batch", Row(over(ids, rnn(L.LSTM)), {"batch_size": None}, "Set batch_size=1")
    yield "text", Row(text_model, {}, "Export a SavedModel")


def over_frames(layer):
    x = keras.Input((4, 6, 6, 1), name="film")
    return keras.Model(x, L.Dense(CLASSES)(L.GlobalAveragePooling3D()(layer(x))))


def all_rows():
    """Return a dictionary from name to `Row`."""
    rows = dict(
        itertools.chain(recurrent_rows(), cell_rows(), attention_rows(), layer_rows(), model_rows())
    )
    small = [
        *("LSTM, masked", "GRU, both directions, masked", "SimpleRNN, stacked, masked"),
        *("AttentionPooling, fixed", "BahdanauAttention, many queries, fixed"),
        *("AdditiveAttention, fixed", "MultiHeadAttention, fixed", "AttentionRNN, fixed"),
        *("ConvLSTM2D", "encoder and decoder, fixed", "tagger", "transformer", "LSTM, steps"),
    ]
    for name, bits in itertools.product(small, ("float16", "int8")):
        row = rows[name]
        rows[f"{name}, {bits}"] = Row(row.build, {**row.settings, "quantization": bits})
    return rows


ONNX_REFUSED = {  # where ONNX differs from LiteRT: the start of the remedy, or "" for a file
    "LSTM, any batch": "",
    "CategoryEncoding": "",
}


def onnx_rows():
    """Return the rows of `all_rows` with settings for `export_onnx`, with one signature each."""
    rows = {}
    for name, row in all_rows().items():
        settings = dict(row.settings)
        if settings.get("quantization") == "float16":
            continue
        if "signatures" in settings:
            settings["signatures"] = settings["signatures"][-1:]
        rows[name] = Row(row.build, settings, ONNX_REFUSED.get(name, row.refused))
    return rows


def spread_weights(model):
    """Assign weights about as large as trained ones, so that differences show; return the model."""
    random = np.random.default_rng(1)
    for weight in model.weights:
        if "float" in weight.dtype and "variance" not in weight.path:
            weight.assign(random.uniform(-0.3, 0.3, weight.shape))
    return model


def try_row(name, row, plain=False, form="litert"):
    """Export a row and return its `Outcome`; with `plain`, try Keras' own export, too."""
    keras.backend.clear_session()
    model = spread_weights(row.build())
    kept = plain_keras(model) if plain else ""
    export, file_name = FORMS[form]
    with tempfile.TemporaryDirectory() as directory, silence():
        path = Path(directory, file_name)
        try:
            export(model, path, **row.settings)
        except ValueError as error:
            return Outcome(name, False, None, None, str(error), kept)
        relative = kb.runners.ArrayModel(path).card["parity"][-1]["relative"]
        return Outcome(name, True, relative, path.stat().st_size / 1000, "", kept)


def plain_keras(model):
    """Return "runs" if Keras' own LiteRT export runs in the plain runtime, or how it fails."""
    from ai_edge_litert.interpreter import Interpreter

    with tempfile.TemporaryDirectory() as directory, silence():
        path = os.path.join(directory, "model.tflite")
        try:
            model.export(path, format="litert", verbose=False)
        except Exception as error:  # anything that Keras or the converter raises
            return f"no export: {type(error).__name__}"
        try:
            interpreter = Interpreter(model_path=path)
            for detail in interpreter.get_input_details():
                # a batch of 1, and 12 steps
                shape = [
                    (12 if axis else 1) if size < 0 else size
                    for axis, size in enumerate(detail["shape_signature"])
                ]
                interpreter.resize_tensor_input(detail["index"], shape)
            interpreter.allocate_tensors()
            for detail in interpreter.get_input_details():
                interpreter.set_tensor(detail["index"], np.zeros(detail["shape"], detail["dtype"]))
            interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            if "flex" in str(error).lower():
                return "Flex"
            return f"does not run: {str(error).strip().splitlines()[-1]:.70}"
    return "runs"


@contextlib.contextmanager
def silence():
    """Discard standard output and standard error.

    The converter writes to the file descriptor of standard error, which is redirected, too.
    """
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(io.StringIO()):
        kept = os.dup(2)
        os.dup2(null.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
