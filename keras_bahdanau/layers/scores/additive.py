"""Additive scores."""

import keras
from keras import ops

from keras_bahdanau.layers import checks
from keras_bahdanau.layers.scores.comparison import compare_by_tanh
from keras_bahdanau.layers.scores.score import Score


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AdditiveScore(Score):
    """e_ij = v^T tanh(W s_{i-1} + U h_j)      (Bahdanau et al. 2015, appendix A.1.2).

    `project` computes U h_j, which no query changes: once per sentence;
    `compare` the rest, for one query or for many.

    Args:
        units: Positive integer. Width n' of the space in which both meet.

    Call arguments and output: see `Score`.

    Raises:
        ValueError: If `units` is not a positive integer.
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the score", units)
        dense = {"use_bias": False, "dtype": self.dtype_policy}
        self.query_projection = keras.layers.Dense(units, name="query_projection", **dense)  # W
        self.key_projection = keras.layers.Dense(units, name="key_projection", **dense)  # U

    def build(self, query_shape, values_shape):
        self.query_projection.build(query_shape)
        self.key_projection.build(values_shape)
        self.v = self.add_weight(shape=(self.units, 1), name="v", dtype="float32", autocast=False)
        self.key_units = self.units

    def project(self, values):
        return self.key_projection(values)

    def compare(self, query, keys):
        v = ops.copy(self.v)  # a tensor: a gradient of one's own takes no variables
        return compare_by_tanh(self.query_projection(query), keys, v)

    def get_config(self):
        return {**super().get_config(), "units": self.units}
