"""Sublayers used by several layers: word dropout, and the parts of a Transformer."""

import math

import keras
from keras import ops

from keras_bahdanau.layers.attention.normalizers import masked_softmax
from keras_bahdanau.layers.recurrence import StepDropout
from keras_bahdanau.layers.registry import CompositeLayer
from keras_bahdanau.settings import checks

EPSILON = 1e-6


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class WordDropout(keras.layers.Layer):
    """Dropout of whole tokens, `(..., embedding_units)`; other tokens are scaled by 1 / (1 - rate).

    See Gal and Ghahramani (2016, section 4.2). Dropout is per token, as in Sennrich et al. (2016,
    Edinburgh).
    """

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = checks.rate("rate", "the dropout rate of tokens", rate)
        self.seed = seed
        if rate:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True

    def call(self, embedded, training=None):
        if not training or not self.rate:
            return embedded
        token_shape = (*(None for _ in embedded.shape[:-1]), 1)
        return keras.random.dropout(
            embedded, self.rate, noise_shape=token_shape, seed=self.seed_generator
        )

    def compute_output_shape(self, embedded_shape):
        return embedded_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FeedForward(CompositeLayer):
    """Feed-forward network: W_2 max(0, W_1 x + b_1) + b_2 (Vaswani et al. 2017, eq. 2).

    W_1 x is `inner_units` wide, and the output is `units` wide. `dropout` is the dropout rate of
    the inner values.
    """

    def __init__(self, units, inner_units, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the output", units)
        self.inner_units = checks.positive_integer(
            "inner_units", "the inner width of the feed-forward network", inner_units
        )
        policy = {"dtype": self.dtype_policy}
        self.inner = keras.layers.Dense(inner_units, activation="relu", name="inner", **policy)
        self.inner_dropout = StepDropout(dropout, name="inner_dropout", **policy)
        self.outer = keras.layers.Dense(units, name="outer", **policy)

    def build(self, inputs_shape):
        self.inner.build(inputs_shape)
        self.outer.build((*inputs_shape[:-1], self.inner_units))

    def call(self, inputs, training=None):
        inner = self.inner_dropout(self.inner(inputs), training=training)  # (..., inner_units)
        return self.outer(inner)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.units)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "inner_units": self.inner_units,
            "dropout": self.inner_dropout.rate,
        }


def inner_units(inner, units):
    """Return the inner width of a feed-forward network: `inner`, or four times `units` if None."""
    meaning = "the inner width of the feed-forward network"
    return checks.positive_integer(
        "feed_forward_units", meaning, 4 * units if inner is None else inner
    )


def layer_norm(policy, name):
    """Return a new layer normalization (Ba et al. 2016), computed in float32."""
    return keras.layers.LayerNormalization(epsilon=EPSILON, dtype=policy, name=name)


def dot_product_attention(queries, keys, values, mask, dropout=lambda weights: weights):
    """Return softmax(Q K^T / sqrt(d)) V for each head (Vaswani et al. 2017, eq. 1).

    The queries are `(batch, heads, n, d)`, the keys and values `(batch, heads, m, d)`, and the bool
    mask broadcasts to `(batch, heads, n, m)`. The softmax is computed in float32. The result is
    zero for a query without unmasked keys.
    """
    scale = 1 / math.sqrt(queries.shape[-1])
    queries, keys = ops.cast(queries, "float32"), ops.cast(keys, "float32")
    scores = scale * ops.matmul(queries, ops.swapaxes(keys, -2, -1))  # (batch, heads, n, m)
    weights = dropout(masked_softmax(scores, mask))
    return ops.matmul(ops.cast(weights, values.dtype), values)


def sinusoids(positions, units):
    """Return the sines, then the cosines of positions, float32 `(..., units)`.

    These are the position encodings of Vaswani et al. (2017, section 3.5) in a different order. In
    the paper, sines and cosines alternate: p_j[2k] = sin(j / 10000^(2k / units)) and p_j[2k + 1] =
    cos(j / 10000^(2k / units)).
    """
    rates = [10000.0 ** (-2 * k / units) for k in range(-(-units // 2))]
    angles = ops.expand_dims(ops.cast(positions, "float32"), axis=-1) * ops.convert_to_tensor(
        rates, dtype="float32"
    )
    return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)[..., :units]
