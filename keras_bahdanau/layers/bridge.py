"""From the encoder's summary to the decoder's first state."""

import keras
from keras import ops

from keras_bahdanau.layers import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class StateBridge(keras.layers.Layer):
    """Maps the encoder's summary to the decoder's first states.

    s_0 = tanh(W summary + b)          (Bahdanau et al. 2015, appendix A.2.2)

    Args:
        units: Positive integer. Width of each decoder state.
        count: Positive integer. How many states the cell has: 1 for a GRU, 2
            for an LSTM.

    Call arguments:
        summary: Float tensor `(batch, summary_units)`.

    Output:
        Tuple of `count` float tensors `(batch, units)`, each element in (-1, 1).

    Raises:
        ValueError: If `units` or `count` is not a positive integer.
    """

    def __init__(self, units, count=1, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the decoder state", units)
        self.count = checks.positive_integer("count", "the number of states", count)
        self.projection = keras.layers.Dense(
            units * count, activation="tanh", dtype=self.dtype_policy, name="projection"
        )

    def build(self, summary_shape):
        self.projection.build(summary_shape)

    def call(self, summary):
        return tuple(ops.split(self.projection(summary), self.count, axis=-1))

    def compute_output_shape(self, summary_shape):
        return ((*summary_shape[:-1], self.units),) * self.count

    def get_config(self):
        return {**super().get_config(), "units": self.units, "count": self.count}
