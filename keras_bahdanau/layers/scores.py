"""Scores: how well a query and a key go together, before the softmax."""

import keras
from keras import ops

from keras_bahdanau.layers import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AdditiveScore(keras.layers.Layer):
    """e_ij = v^T tanh(W s_{i-1} + U h_j)      (Bahdanau et al. 2015, appendix A.1.2).

    `project` computes U h_j, which no query changes: once per sentence;
    `compare` the rest, for one query or for many.

    Args:
        units: Positive integer. Width n' of the space in which both meet.

    Call arguments:
        query: Float tensor `(batch, query_units)` or `(batch, target_time, query_units)`.
        values: Float tensor `(batch, source_time, values_units)`.

    Output:
        Scores in float32, `(batch, source_time)` or `(batch, target_time, source_time)`.

    Raises:
        ValueError: If `units` is not a positive integer.
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the score", units)
        dense = {"use_bias": False, "dtype": self.dtype_policy}
        self.query_projection = keras.layers.Dense(units, name="query_projection", **dense)  # W
        self.key_projection = keras.layers.Dense(units, name="key_projection", **dense)  # U
        self.v = keras.layers.Dense(1, use_bias=False, dtype="float32", name="v")

    def build(self, query_shape, values_shape):
        self.query_projection.build(query_shape)
        self.key_projection.build(values_shape)
        self.v.build((None, self.units))

    def project(self, values):
        """U h_j: values `(batch, source_time, values_units)` -> keys."""
        return self.key_projection(values)

    def compare(self, query, keys):
        """Scores of a query against the keys that `project` gave."""
        projected = ops.expand_dims(self.query_projection(query), axis=-2)
        if len(projected.shape) == 4:  # (batch, target_time, 1, units) meets all keys
            keys = ops.expand_dims(keys, axis=1)
        hidden = ops.tanh(projected + keys)
        # flat, since a product of more axes has no gradient in a loop under XLA
        scores = self.v(ops.reshape(hidden, (-1, self.units)))
        return ops.reshape(scores, ops.shape(hidden)[:-1])

    def call(self, query, values):
        return self.compare(query, self.project(values))

    def compute_output_shape(self, query_shape, values_shape):
        return (*query_shape[:-1], values_shape[-2])

    def compute_output_spec(self, query, values):
        shape = self.compute_output_shape(query.shape, values.shape)
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        return {**super().get_config(), "units": self.units}
