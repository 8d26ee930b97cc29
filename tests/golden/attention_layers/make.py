"""Write weights, inputs and outputs of attention layers for Keras 2.

    python tests/golden/attention_layers/make.py tests/golden/attention_layers ATTENTION_KERAS

runs in an environment with tensorflow-cpu 2.15, attention 5.0.0 and keras-self-attention 0.51.0
(the last two installed with `--no-deps`). ATTENTION_KERAS is the folder of `attention.py` in a
clone of thushv89/attention_keras. Weights and inputs have three decimals, so JSON stores them
exactly.
"""

import json
import sys
from pathlib import Path

import keras_self_attention as ksa
import numpy as np
import tensorflow as tf
from attention import Attention

BATCH, STEPS, WIDTH, UNITS = 2, 6, 3, 4
K, Layer = tf.keras.backend, tf.keras.layers.Layer
RANDOM = np.random.default_rng(81)


def draw(*shape):
    return RANDOM.normal(0, 0.8, shape).round(3).astype("float32")


INPUTS = draw(BATCH, STEPS, WIDTH)
QUERY, KEY, VALUE = draw(BATCH, 4, WIDTH), draw(BATCH, STEPS, WIDTH), draw(BATCH, STEPS, UNITS)
PREVIOUS = draw(BATCH, 4, STEPS)
MASK = np.arange(STEPS) < np.array([[STEPS], [4]])
IDS = np.array([[3, 4, 5, 6, 7], [7, 8, 1, 2, 9], [9, 3, 3, 1, 1]], "int32")


def rounded(array):
    return np.round(np.asarray(array, "float64"), 7).tolist()


def answers(layer, inputs=INPUTS, **arguments):
    """Return the weights of a layer and its outputs."""
    layer(inputs, **arguments)  # creates the weights
    layer.set_weights([draw(*array.shape) for array in layer.get_weights()])
    outputs = layer(inputs, **arguments)
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    weights = [array.astype("float64").round(3).tolist() for array in layer.get_weights()]
    return {"weights": weights, "outputs": [rounded(output) for output in outputs]}


class HiddenPooling(Layer):
    """A layer with W, b and u, as in tutorials on hierarchical attention."""

    def __init__(self, use_bias=True, column=False):
        super().__init__()
        self.use_bias, self.column = use_bias, column

    def build(self, shape):
        self.W = self.add_weight("W", (shape[-1], UNITS))
        self.b = self.add_weight("b", (UNITS,)) if self.use_bias else 0.0
        self.u = self.add_weight("u", (UNITS, 1) if self.column else (UNITS,))

    def call(self, x):
        hidden = K.tanh(K.dot(x, self.W) + self.b)
        scores = K.exp(K.sum(hidden * K.flatten(self.u), axis=-1))
        weights = scores / (K.sum(scores, axis=1, keepdims=True) + K.epsilon())
        return K.sum(x * weights[..., None], axis=1), weights


class ColumnPooling(Layer):
    """A layer with W and b, as in tutorials with one LSTM and attention; b has a row per step."""

    def __init__(self, bias, activation=K.tanh):
        super().__init__()
        self.bias, self.activation = bias, activation

    def build(self, shape):
        self.W = self.add_weight("W", (shape[-1], 1))
        self.b = self.add_weight("b", self.bias) if self.bias else 0.0

    def call(self, x):
        scores = self.activation(K.dot(x, self.W) + self.b)
        weights = K.softmax(K.squeeze(scores, axis=-1))
        return K.sum(x * weights[..., None], axis=1), weights


def of_attention():
    return {score: answers(Attention(UNITS, score=score)) for score in ("luong", "bahdanau")}


def write_model(folder):
    """Write a whole model with the layer, as users have it on disk. Return its answers."""
    model = tf.keras.Sequential(
        [
            tf.keras.Input((IDS.shape[1],), dtype="int32"),
            tf.keras.layers.Embedding(10, 4, name="embedding"),
            tf.keras.layers.LSTM(WIDTH, return_sequences=True, name="lstm"),
            Attention(UNITS, name="attention_weight"),
            tf.keras.layers.Dense(2, activation="softmax", name="dense"),
        ]
    )
    model.set_weights([draw(*array.shape) for array in model.get_weights()])
    model.save(folder / "model.h5", include_optimizer=False)
    return {"inputs": IDS.tolist(), "outputs": [rounded(model(IDS))]}


def of_self_attention():
    additive = {
        "additive": {},
        "no_bias": {"use_additive_bias": False, "use_attention_bias": False},
        "no_additive_bias": {"use_additive_bias": False},
        "sigmoid": {"attention_activation": "sigmoid"},
        "width_3": {"attention_width": 3},
        "width_4": {"attention_width": 4},
        "history": {"history_only": True},
        "history_2": {"history_only": True, "attention_width": 2},
        "multiplicative": {"attention_type": "multiplicative"},
        "multiplicative_tanh": {
            "attention_type": "multiplicative",
            "attention_activation": "tanh",
            "attention_width": 3,
        },
    }
    cases = {}
    for name, arguments in additive.items():
        layer = ksa.SeqSelfAttention(UNITS, return_attention=True, **arguments)
        cases[name] = {"arguments": arguments, **answers(layer)}
    layer = ksa.SeqSelfAttention(UNITS, return_attention=True)
    cases["masked"] = answers(layer, mask=tf.constant(MASK))
    alone = layer(INPUTS[1:, :4])  # the padded row by itself
    cases["masked"]["alone"] = [rounded(output) for output in alone]
    weighted = ksa.SeqWeightedAttention
    cases["weighted"] = answers(weighted(return_attention=True))
    cases["weighted_no_bias"] = answers(weighted(use_bias=False, return_attention=True))
    cases["weighted_masked"] = answers(weighted(return_attention=True), mask=tf.constant(MASK))
    dot, triple = ksa.ScaledDotProductAttention, [QUERY, KEY, VALUE]
    masks = [None, tf.constant(MASK), None]
    cases["scaled_dot"] = answers(dot(return_attention=True), triple)
    cases["scaled_dot_history"] = answers(dot(return_attention=True, history_only=True))
    cases["scaled_dot_masked"] = answers(dot(return_attention=True), triple, mask=masks)
    residual = ksa.ResidualScaledDotProductAttention(return_attention=True)
    masks = [tf.ones(QUERY.shape[:2], "bool"), tf.constant(MASK), None, None]
    cases["residual"] = answers(residual, [*triple, PREVIOUS], mask=masks)
    return cases


def of_attention_keras(folder):
    sys.path.insert(0, folder)
    sys.modules.pop("attention")  # the other package's module
    from attention import AttentionLayer

    encoder, decoder = tf.constant(VALUE), tf.constant(QUERY)
    return {"additive": answers(AttentionLayer(), [encoder, decoder])}


def of_tutorials():
    return {
        "hidden": answers(HiddenPooling()),
        "hidden_column": answers(HiddenPooling(column=True)),
        "hidden_no_bias": answers(HiddenPooling(use_bias=False)),
        "column_of_each_step": answers(ColumnPooling((STEPS, 1))),
        "column_one_bias": answers(ColumnPooling((1,))),
        "column_no_bias": answers(ColumnPooling(None)),
        "linear": answers(ColumnPooling(None, activation=lambda x: x)),
    }


def main(folder, attention_keras):
    tensors = {
        "inputs": INPUTS,
        "query": QUERY,
        "key": KEY,
        "value": VALUE,
        "previous": PREVIOUS,
        "mask": MASK.astype("int32"),
    }
    cases = {
        "tensors": {
            name: array.astype("float64").round(3).tolist() for name, array in tensors.items()
        },
        "attention": {**of_attention(), "model": write_model(folder)},
        "keras_self_attention": of_self_attention(),
        "attention_keras": of_attention_keras(attention_keras),
        "tutorials": of_tutorials(),
    }
    for package, content in cases.items():
        (folder / f"{package}.json").write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
