"""Additive scores, computed from the sum or the concatenation of query and key."""

import math

import keras
from keras import ops

from keras_bahdanau.layers.scores.score import (
    Score,
    kernel_arguments,
    keys_for,
    pop_dense_arguments,
)
from keras_bahdanau.layers.scores.tanh_products import tanh_scores
from keras_bahdanau.settings import checks


def glorot_of_pair(query_shape, values_shape, units):
    """Return initializers for the blocks W_s and W_h, like `GlorotUniform` for [W_s W_h]."""
    limit = math.sqrt(6 / (query_shape[-1] + values_shape[-1] + units))
    return tuple(keras.initializers.RandomUniform(-limit, limit) for _ in range(2))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AdditiveScore(Score):
    """Additive score: e_ij = v^T tanh(W s_{i-1} + U h_j) (Bahdanau et al. 2015, A.1.2).

    `project` computes U h_j once per sentence, and `compare` computes the rest. `units`, a positive
    integer, is n'. `use_bias` adds b inside the tanh. Initializers, regularizers and constraints
    are as in `keras.layers.Dense`: `kernel_*` for W, U and v, and `bias_*` for b. For calls and
    errors, see `Score`.
    """

    def __init__(self, units, use_bias=False, **kwargs):
        self.dense_arguments = pop_dense_arguments(kwargs)
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the score", units)
        self.use_bias = use_bias
        dense = {"units": units, "dtype": self.dtype_policy, **self.dense_arguments}
        self.query_projection = keras.layers.Dense(  # W
            use_bias=False, name="query_projection", **dense
        )
        self.key_projection = keras.layers.Dense(  # U, and b
            use_bias=use_bias, name="key_projection", **dense
        )

    def build(self, query_shape, values_shape):
        self.query_projection.build(query_shape)
        self.key_projection.build(values_shape)
        self.v = self.add_weight(
            shape=(self.units, 1),
            name="v",
            dtype="float32",
            autocast=False,
            **kernel_arguments(self.dense_arguments),
        )
        self.key_units = self.units

    def project(self, values):
        return self.key_projection(values)  # U h_j [+ b]: (batch, source_time, units)

    def compare(self, query, keys):
        v = ops.copy(self.v)  # as a tensor: a custom gradient does not accept variables
        # W s_{i-1}: (batch, [n,] units) -> e_ij: (batch, [n,] source_time)
        return tanh_scores(self.query_projection(query), keys, v)

    def get_config(self):
        config = {"units": self.units, "use_bias": self.use_bias, **self.dense_arguments}
        return {**super().get_config(), **config}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ConcatScore(AdditiveScore):
    """Concat score: e_ij = v^T tanh(W [s_i; h_j]) (Luong et al. 2015, section 3.1).

    Since W [s; h] = W_s s + W_h h, this is an `AdditiveScore` with a different initialization: W is
    initialized as a single matrix with `units` rows.
    """

    def build(self, query_shape, values_shape):
        if "kernel_initializer" not in self.dense_arguments:
            first = glorot_of_pair(query_shape, values_shape, self.units)
            self.query_projection.kernel_initializer, self.key_projection.kernel_initializer = first
        super().build(query_shape, values_shape)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PairScore(Score):
    """Score from one fully connected layer: e_ij = f(w^T [s_{i-1}; h_j] + b).

    If f is tanh, no position can get a weight above e^2 / (e^2 + n - 1) from a softmax over n
    positions. If `activation` is None, the query and b cancel in the softmax, so that all steps
    have the same weights.
    """

    def __init__(self, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.activation = checks.choice("activation", activation, (None, "tanh"))
        self.query_projection = keras.layers.Dense(
            1, use_bias=False, dtype="float32", name="query_projection"
        )
        self.key_projection = keras.layers.Dense(1, dtype="float32", name="key_projection")

    def build(self, query_shape, values_shape):
        first = glorot_of_pair(query_shape, values_shape, 1)
        self.query_projection.kernel_initializer, self.key_projection.kernel_initializer = first
        self.query_projection.build(query_shape)
        self.key_projection.build(values_shape)
        self.key_units = 1

    def project(self, values):
        return self.key_projection(values)  # w_h^T h_j + b: (batch, source_time, 1)

    def compare(self, query, keys):
        keys = ops.squeeze(keys_for(query, keys), axis=-1)  # -> (batch, [n or 1,] source_time)
        # w_s^T s_{i-1}: (batch, [n,] 1) -> (batch, [n,] source_time)
        scores = self.query_projection(query) + ops.cast(keys, "float32")
        return ops.tanh(scores) if self.activation else scores

    def get_config(self):
        return {**super().get_config(), "activation": self.activation}
