"""Scores for positions that do not depend on the values."""

import keras
from keras import ops

from keras_bahdanau.layers.scores.score import Score, product
from keras_bahdanau.settings import checks

FAR = -1e6  # gives a weight of exactly 0, but is small compared with the value that a mask adds


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LocationScore(Score):
    """Location-based score: e_ij = (W s_i)_j (Luong et al. 2015, eq. 8, "location").

    The key of position j is row j of W, which has `positions` rows. Positions beyond the last row
    get a score so low that their weight is 0, unless all other positions are masked.
    """

    def __init__(self, positions=256, **kwargs):
        super().__init__(**kwargs)
        self.positions = checks.positive_integer("positions", "the positions scored", positions)

    def build(self, query_shape, values_shape):
        self.key_units = query_shape[-1]
        self.kernel = self.add_weight(
            shape=(self.positions, self.key_units),
            initializer="glorot_uniform",
            dtype="float32",
            autocast=False,
            name="location_kernel",  # not named "kernel", so that exports keep its precision
        )

    def project(self, values):
        batch, source_time, _ = ops.shape(values)
        # -> (source_time, positions)
        rows = ops.one_hot(ops.arange(source_time), self.positions, dtype="float32")
        keys = ops.matmul(rows, self.kernel)  # (source_time, key_units), zero beyond the last row
        return ops.broadcast_to(keys, (batch, source_time, self.key_units))

    def compare(self, query, keys):
        near = ops.arange(ops.shape(keys)[-2]) < self.positions  # -> (source_time,)
        return product(query, keys) + ops.where(near, 0.0, FAR)

    def get_config(self):
        return {**super().get_config(), "positions": self.positions}
