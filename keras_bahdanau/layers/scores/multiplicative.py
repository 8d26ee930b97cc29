"""Multiplicative scores: dot products, plain, scaled, bilinear, and the cosine."""

import math

import keras
from keras import ops

from keras_bahdanau.layers.scores.score import Score, keys_for, pop_dense_arguments, product


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class DotScore(Score):
    """e_ij = s_i^T h_j, without weights, of one width (Luong et al. 2015, section 3.1, "dot")."""

    def build(self, query_shape, values_shape):
        self.key_units = values_shape[-1]
        if query_shape[-1] != self.key_units:
            raise ValueError(
                f"{type(self).__name__} multiplies query and values: they must be of the same "
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
    """e_ij = s_i^T h_j / sqrt(d), without weights, of one width d (Vaswani et al. 2017, eq. 1)."""

    def compare(self, query, keys):
        return super().compare(query, keys) / math.sqrt(self.key_units)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GeneralScore(Score):
    """e_ij = s_i^T W h_j, W h_j once per sentence (Luong et al. 2015, section 3.1, "general").

    Initializers, regularizers and constraints are those of `keras.layers.Dense`.
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
    """e_ij = s_i^T tanh(W h_j + b), as wide as the query (Yang et al. 2016, eq. 8 and 9)."""

    _projection = {"use_bias": True, "activation": "tanh"}


SMALLEST = 1e-6  # squared length below which a vector counts as this long: zero has no direction


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class CosineScore(GeneralScore):
    """e_ij = cos(s_i, W h_j) / T      (Graves et al. 2014, eq. 5 and 6, with 1/T for beta).

    The `temperature` T > 0 is learned. A zero vector's score is 0, with finite gradients.
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
    """1 / |x| along the last axis, which stays with length 1."""
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return ops.rsqrt(ops.maximum(squares, SMALLEST))


def _positive(temperature):
    number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
    if not number or not 0 < temperature < math.inf:
        raise ValueError(
            "`temperature`, what the cosine is divided by, must be a positive, finite number. "
            f"Received: temperature={temperature!r}"
        )
    return temperature
