"""Conversion of attention layers, with their weights, from Keras 2 packages and tutorials."""

import os

import keras
import numpy as np
from keras import ops

from keras_bahdanau import layers
from keras_bahdanau.layers.registry import resolve_layer
from keras_bahdanau.migrate.recurrent_weights import assign
from keras_bahdanau.settings import checks


def layer_weights(path, layer):
    """Read the weights of one layer from a Keras 2 HDF5 file, as a list like `get_weights()`.

    `path` is a file written by `model.save("old.h5")` or `model.save_weights("old.h5")`, and
    `layer` is the name of a layer of the model. Raises FileNotFoundError if the file is missing,
    and ValueError if it has another format or does not contain the layer.
    """
    import h5py  # slow to import

    if not os.path.isfile(path):
        raise FileNotFoundError(f"`path` must be a file. Received: path={str(path)!r}.")
    try:
        with h5py.File(path) as file:
            weights = {
                name: [np.asarray(group[weight]) for weight in group.attrs["weight_names"]]
                for name, group in file.get("model_weights", file).items()
                if "weight_names" in group.attrs
            }
    except (OSError, KeyError, ValueError) as error:
        text = f"Received: path={str(path)!r} with the error {str(error).splitlines()[0]!r}."
        raise ValueError(f"`path` must be a complete HDF5 file of Keras 2. {text}") from error
    if not weights.get(layer):
        names = ", ".join(name for name, arrays in weights.items() if arrays) or "none"
        text = f"Received: layer={layer!r}. The file has {names}."
        raise ValueError(f"`layer` must be the name of a layer with weights. {text}")
    return weights[layer]


def attention_pooling(weights, activation="tanh"):
    """Return a layer that maps a sequence to a vector, with the weights of old attention pooling.

    alpha_t = softmax_t(u^T tanh(W h_t + b))    W `(d, units)`, b `(units,)`, u `(units,)`
    alpha_t = softmax_t(f(W^T h_t + b))         W `(d, 1)` or `(d,)`, b `(1,)`
    alpha_t = softmax_t(f(W^T h_t + b_t))       W `(d, 1)` or `(d,)`, b `(time, 1)` or `(time,)`

    The old layer may be a custom layer, or `SeqWeightedAttention` from `keras-self-attention`.
    `weights` is the list from `layer.get_weights()`, in the order above, with or without b. f is
    `activation`: "tanh", or None for `SeqWeightedAttention`. The result is a built
    `AttentionPooling`, or if there is a bias for each step, a `MaskedModel` for sequences of that
    length. Raises ValueError for any other arrays.
    """
    kernel, *vectors = _arrays(weights, (1, 2, 3))
    checks.choice("activation", activation, (None, "tanh"))
    units = kernel.shape[1] if kernel.ndim == 2 else 1
    if len(vectors) == 2 or units > 1:
        if not vectors or activation is None:
            raise _wrong_shapes("W, b and u of a layer with tanh", weights)
        pooling, query = layers.AttentionPooling(units), vectors.pop().reshape(1, -1)
        bias = vectors[0] if vectors else np.zeros(units)
    else:
        kernel = kernel.reshape(-1, 1)
        bias = np.ravel(vectors[0]) if vectors else np.zeros(1)
        if np.ptp(bias):
            return _pooling_of_steps(kernel, bias, activation)
        pooling = layers.AttentionPooling(1, "pair-tanh" if activation else "dot")
        bias, query = bias[:1], np.zeros((1, 1)) if activation else kernel.T
    pooling.build((None, None, len(kernel)))
    assign(pooling.query_vector, query, "u")
    if activation:  # otherwise, b cancels in the softmax
        assign(pooling.attention.score.key_projection.kernel, kernel, "W")
        assign(pooling.attention.score.key_projection.bias, bias, "b")
    return pooling


def _pooling_of_steps(kernel, bias, activation):
    """Return a model with W and a bias for each step."""
    steps = keras.Input((len(bias), len(kernel)))
    energy = keras.layers.EinsumDense(
        "btd,de->bte", (len(bias), 1), activation=activation, bias_axes="te", name="energy"
    )
    energies = energy(steps)  # e_t: (batch, time, 1)
    assign(energy.kernel, kernel, "W")
    assign(energy.bias, bias[:, np.newaxis], "b")
    query = ops.ones_like(ops.max(energies, axis=1))
    context = layers.Attention("dot", name="attention")(query, steps, key=energies)
    return MaskedModel(steps, context, name="attention_pooling")


def attention_vector(weights):
    """Return a model with the weights of `Attention` from the package `attention`, versions 3 to 5.

    alpha_t = softmax_t(score(h_T, h_t)),  a = tanh(W_c [sum_t alpha_t h_t; h_T])

    `weights` is the list from `layer.get_weights()`: W and W_c for the score "luong"; v, W_1, W_2
    and W_c for "bahdanau". The result is a `MaskedModel` that maps `(batch, time, d)` to
    `(batch, units)`. Raises ValueError for any other arrays.
    """
    *score, output = arrays = _arrays(weights, (2, 4))
    width = len(score[-1])
    if any(array.ndim != 2 for array in arrays) or len(output) != 2 * width:
        raise _wrong_shapes("W and W_c, or v, W_1, W_2 and W_c", arrays)
    attention = _additive(score[1], score[2], score[0]) if score[1:] else _general(score[0])
    dense = keras.layers.Dense(output.shape[1], "tanh", use_bias=False, name="attention_vector")
    steps = keras.Input((None, width))
    last = steps[:, -1]  # h_T
    vector = dense(keras.layers.Concatenate(name="pair")([attention(last, steps), last]))
    assign(dense.kernel, output, "W_c")
    return MaskedModel(steps, vector, name="attention_model")


def additive_attention(weights):
    """Return a `BahdanauAttention` with the weights of `AttentionLayer` from `attention_keras`.

    `weights` are W_a, U_a and V_a. The new layer, called as
    `layer(decoder_outputs, encoder_outputs, return_attention_scores=True)`, returns the output of
    the old layer for [encoder_outputs, decoder_outputs]. Raises ValueError for any other arrays.
    """
    key_kernel, query_kernel, v = _arrays(weights, (3,))
    return _additive(query_kernel, key_kernel, v)


def self_attention(
    weights,
    *,
    attention_width=None,
    history_only=False,
    attention_activation=None,
    return_attention=False,
):
    """Return a model with the weights of `SeqSelfAttention` from `keras-self-attention`.

    e_st = f(W_a^T tanh(W_t h_s + W_x h_t + b_h) + b_a)     "additive"
    e_st = f(h_s^T W_a h_t + b_a)                           "multiplicative"

    `weights` is the list from `layer.get_weights()`, whose shapes determine the type. The other
    arguments are as in the old layer. f is `attention_activation`: None, "tanh", "sigmoid" or
    "relu". The result is a `MaskedModel` whose output has the same shape as its input,
    `(batch, time, d)`. With `return_attention`, it also returns the weights `(batch, time, time)`.
    Unlike in the old layer, real steps do not attend to padding. Raises ValueError for any other
    arrays or settings.
    """
    matrices = _arrays(weights, (1, 2, 3, 4, 5))
    checks.choice("attention_activation", attention_activation, (None, "tanh", "sigmoid", "relu"))
    if attention_width is not None:
        checks.positive_integer("attention_width", "the steps in reach", attention_width)
    has_bias = len(matrices) > 1 and matrices[-1].shape == (1,)
    bias = matrices.pop() if has_bias else np.zeros(1)
    if len(matrices) == 2:
        raise _wrong_shapes("W_t, W_x, b_h, W_a and b_a, or W_a and b_a", weights)
    width = len(matrices[0])
    if len(matrices) == 1:
        attention = _general(matrices[0].T)
    else:
        attention = _additive(*matrices[:2], matrices[-1], *matrices[2:-1])
    if attention_activation is not None:  # otherwise, b_a cancels in the softmax
        score = ActivatedScore(attention.score, attention_activation)
        attention = layers.Attention(score, name="attention")
        attention.build((None, None, width), (None, None, width))
        assign(score.bias, bias, "b_a")
    steps = keras.Input((None, width))
    mask = _band(steps, attention_width, history_only)
    outputs = attention(steps, steps, attention_mask=mask, return_attention_scores=return_attention)
    return MaskedModel(steps, outputs, name="self_attention")


def _band(steps, width, history_only):
    """Return a bool mask `(batch, time, time)`, True for steps within reach, or None for all."""
    if width is None and not history_only:
        return None
    width = width or 10**9
    behind, ahead = (width - 1, 0) if history_only else (width // 2, (width - 1) // 2)
    # t + 1: (batch, time)
    positions = ops.cumsum(ops.ones_like(ops.max(steps, axis=-1), "int32"), axis=1)
    # number of steps back from the query: (batch, time, time)
    back = ops.expand_dims(positions, axis=2) - ops.expand_dims(positions, axis=1)
    return ops.logical_and(ops.less_equal(back, behind), ops.greater_equal(back, -ahead))


def _general(kernel):
    """Return a new `LuongAttention` with the matrix W."""
    attention = layers.LuongAttention(name="attention")
    attention.build((None, kernel.shape[1]), (None, None, len(kernel)))
    assign(attention.score.key_projection.kernel, kernel, "W")
    return attention


def _additive(query_kernel, key_kernel, v, bias=None):
    """Return a new `BahdanauAttention` with these weights."""
    attention = layers.BahdanauAttention(len(v), use_bias=bias is not None, name="attention")
    attention.build((None, len(query_kernel)), (None, None, len(key_kernel)))
    score = attention.score
    assign(score.query_projection.kernel, query_kernel, "W")
    assign(score.key_projection.kernel, key_kernel, "U")
    assign(score.v, v, "v")
    if bias is not None:
        assign(score.key_projection.bias, bias, "b")
    return attention


def _arrays(weights, counts):
    """Return float32 arrays; raise ValueError for a wrong number of vectors and matrices."""
    arrays = [np.asarray(array, "float32") for array in weights]
    if len(arrays) not in counts or not all(array.ndim in (1, 2) for array in arrays):
        raise _wrong_shapes(f"{counts[0]} to {counts[-1]} vectors and matrices", arrays)
    return arrays


def _wrong_shapes(expected, arrays):
    shapes = ", ".join(str(np.shape(array)) for array in arrays)
    return ValueError(
        f"`weights` must be {expected}. Received: weights of shapes {shapes}. Pass the result of "
        "`layer.get_weights()` of the old layer."
    )


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MaskedModel(keras.Model):
    """Keras model that passes masks through, for layers with two inputs in a `Sequential`."""

    def compute_mask(self, inputs, mask=None):
        return None  # the layers inside set the mask


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ActivatedScore(layers.Score):
    """Score f(e_ij + b) as in `keras-self-attention`: f is an activation and e_ij another score."""

    def __init__(self, score, activation, **kwargs):
        super().__init__(**kwargs)
        self.score = resolve_layer(score)
        self.activation = keras.activations.get(activation)

    def build(self, query_shape, values_shape):
        if not self.score.built:
            self.score.build(query_shape, values_shape)
        self.key_units = self.score.key_units
        self.bias = self.add_weight(
            shape=(1,), initializer="zeros", dtype="float32", autocast=False, name="bias"
        )

    def project(self, values):
        return self.score.project(values)

    def compare(self, query, keys):
        return self.activation(self.score.compare(query, keys) + self.bias)

    def get_config(self):
        score = keras.saving.serialize_keras_object(self.score)
        activation = keras.activations.serialize(self.activation)
        return {**super().get_config(), "score": score, "activation": activation}
