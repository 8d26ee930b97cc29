"""Multiplicative scores: plain, scaled and bilinear dot products, and the cosine."""

import math

import keras
from keras import ops

from keras_bahdanau.layers.scores.score import Score, keys_for, pop_dense_arguments, product


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class DotScore(Score):
    """Dot product e_ij = s_i^T h_j, without trainable weights (Luong et al. 2015, section 3.1)."""

    def build(self, query_shape, values_shape):
        self.key_units = values_shape[-1]
        if query_shape[-1] != self.key_units:
            raise ValueError(
                f"{type(self).__name__} multiplies query and values, so they must have the same "
                f"width. Received: query width={query_shape[-1]}, values width={self.key_units}. "
                'Use the score "general", which learns a map from one to the other, '
                "or make the widths equal."
            )

    def project(self, values):
        return ops.cast(values, "float32")

    def compare(self, query, keys):
        return product(query, keys)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ScaledDotScore(DotScore):
    """Scaled dot product e_ij = s_i^T h_j / sqrt(d) of vectors of width d (Vaswani et al. 2017)."""

    def compare(self, query, keys):
        return super().compare(query, keys) / math.sqrt(self.key_units)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GeneralScore(Score):
    """Bilinear score: e_ij = s_i^T W h_j (Luong et al. 2015, section 3.1, "general").

    W h_j is computed once per sentence. Initializers, regularizers and constraints are as in
    `keras.layers.Dense`.
    """

    _projection = {"use_bias": False}

    def __init__(self, **kwargs):
        self.dense_arguments = pop_dense_arguments(kwargs)
        super().__init__(**kwargs)

    def build(self, query_shape, values_shape):
        self.key_units = query_shape[-1]
        self.key_projection = keras.layers.Dense(  # W
            self.key_units,
            dtype=self.dtype_policy,
            name="key_projection",
            **self._projection,
            **self.dense_arguments,
        )
        self.key_projection.build(values_shape)

    def project(self, values):
        # W h_j: (batch, source_time, key_units)
        return ops.cast(self.key_projection(values), "float32")

    def compare(self, query, keys):
        return product(query, keys)

    def get_config(self):
        return {**super().get_config(), **self.dense_arguments}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class HiddenScore(GeneralScore):
    """Score e_ij = s_i^T tanh(W h_j + b), where W h_j is as wide as s_i (Yang et al. 2016)."""

    _projection = {"use_bias": True, "activation": "tanh"}


SMALLEST = 1e-6  # lower bound for squared lengths: a zero vector has no direction


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class CosineScore(GeneralScore):
    """Cosine score: e_ij = cos(s_i, W h_j) / T (Graves et al. 2014, eq. 5 and 6; beta is 1/T).

    The temperature T > 0 is learned and initialized to `temperature`. The score of a zero vector
    is 0, with finite gradients.
    """

    def __init__(self, temperature=0.1, **kwargs):
        super().__init__(**kwargs)
        self.temperature = _positive(temperature)

    def build(self, query_shape, values_shape):
        super().build(query_shape, values_shape)
        self.log_temperature = self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(math.log(self.temperature)),
            dtype="float32",
            autocast=False,
            name="log_temperature",
        )

    def compare(self, query, keys):
        query, keys = ops.cast(query, "float32"), ops.cast(keys, "float32")
        # s^T W h / |s|: (batch, [n,] source_time)
        scores = super().compare(query, keys) * _inverse_length(query)
        # 1 / |W h_j|: (batch, [n or 1,] source_time)
        lengths = ops.squeeze(_inverse_length(keys_for(query, keys)), axis=-1)
        return scores * lengths * ops.exp(-self.log_temperature)

    def get_config(self):
        return {**super().get_config(), "temperature": self.temperature}


def _inverse_length(vectors):
    """Return 1 / |x| along the last axis, which becomes an axis of length 1."""
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return ops.rsqrt(ops.maximum(squares, SMALLEST))


def _positive(temperature):
    number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
    if not number or not 0 < temperature < math.inf:
        raise ValueError(
            "`temperature`, the divisor of the cosine, must be a positive, finite number. "
            f"Received: temperature={temperature!r}"
        )
    return temperature
