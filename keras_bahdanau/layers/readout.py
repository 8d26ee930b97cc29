"""From a finished step to what the vocabulary is asked with."""

import keras
from keras import ops

from keras_bahdanau.layers import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Readout(keras.layers.Layer):
    """t_i = tanh(W_s s_i + W_c c_i + W_y y_{i-1} + b), for all steps at once.

    The deep output of Pascanu et al. 2014 with tanh in place of maxout.

    Args:
        units: Positive integer. Width of t_i.
        dropout: Float in [0, 1). Share of t_i dropped in training.

    Call arguments:
        state: Float tensor `(..., units)`, s_i.
        context: Float tensor `(..., values_units)`, c_i.
        embedded: Float tensor `(..., embedding_units)`, the previous token's embedding.
        training: Python bool.

    Output:
        Float tensor `(..., units)`.
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the readout", units)
        self.dropout = checks.share("dropout", "the share of the readout dropped", dropout)
        self.projection = keras.layers.Dense(
            units, activation="tanh", dtype=self.dtype_policy, name="projection"
        )
        self.output_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, state_shape, context_shape, embedded_shape):
        width = state_shape[-1] + context_shape[-1] + embedded_shape[-1]
        self.projection.build((None, width))

    def call(self, state, context, embedded, training=None):
        joined = ops.concatenate([state, context, embedded], axis=-1)
        return self.output_dropout(self.projection(joined), training=training)

    def compute_output_shape(self, state_shape, context_shape, embedded_shape):
        return (*state_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "dropout": self.dropout}
