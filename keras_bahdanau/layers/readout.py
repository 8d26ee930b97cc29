"""Readouts: from a finished step to the input of the output layer."""

import keras
from keras import ops

from keras_bahdanau.settings import checks


class ReadoutBase(keras.layers.Layer):
    """Base of the readouts: t_i from s_i, c_i and y_{i-1}, for all steps at once.

    Args:
        units: Positive integer. Width of t_i.
        dropout: Float in [0, 1). Share of t_i dropped in training.

    Call arguments:
        state: Float tensor `(..., state_units)`, s_i, or the output of the decoder cell.
        context: Float tensor `(..., context_units)`, c_i.
        embedded: Float tensor `(..., embedding_units)`, the previous token's embedding.
        training: Python bool.

    Output:
        Float tensor `(..., units)`.
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the readout", units)
        self.dropout = checks.rate("dropout", "the dropout rate of the readout", dropout)
        self.output_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def read(self, state, context, embedded):
        """t_i, before dropout."""
        raise NotImplementedError

    def call(self, state, context, embedded, training=None):
        return self.output_dropout(self.read(state, context, embedded), training=training)

    def compute_output_shape(self, state_shape, context_shape, embedded_shape):
        return (*state_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "dropout": self.dropout}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Readout(ReadoutBase):
    """t_i = tanh(W_s s_i + W_c c_i + W_y y_{i-1} + b).

    The deep output of Pascanu et al. 2014 with tanh in place of maxout, as Nematus has it.

    Arguments and output: see `ReadoutBase`.
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(units, dropout, **kwargs)
        self.projection = keras.layers.Dense(
            units, activation="tanh", dtype=self.dtype_policy, name="projection"
        )

    def build(self, state_shape, context_shape, embedded_shape):
        width = state_shape[-1] + context_shape[-1] + embedded_shape[-1]
        self.projection.build((None, width))

    def read(self, state, context, embedded):
        # [s_i; c_i; y_{i-1}] -> t_i: (..., units)
        return self.projection(ops.concatenate([state, context, embedded], axis=-1))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MaxoutReadout(ReadoutBase):
    """The paper's deep output with a maxout layer of two pieces.

    t~_i = U_o s + V_o y_{i-1} + C_o c_i
    t_i  = [max(t~_{i,2j-1}, t~_{i,2j})], j = 1 ... units      (Bahdanau et al. 2015, A.2.2)

    Arguments and output: see `ReadoutBase`.
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(units, dropout, **kwargs)
        self.projection = keras.layers.Dense(
            2 * units, use_bias=False, dtype=self.dtype_policy, name="projection"
        )

    def build(self, state_shape, context_shape, embedded_shape):
        width = state_shape[-1] + context_shape[-1] + embedded_shape[-1]
        self.projection.build((None, width))

    def read(self, state, context, embedded):
        # t~_i: (..., 2 * units)
        pieces = self.projection(ops.concatenate([state, context, embedded], axis=-1))
        # -> (..., units, 2), of which the maximum is (..., units)
        pairs = ops.reshape(pieces, (*ops.shape(pieces)[:-1], self.units, 2))
        return ops.max(pairs, axis=-1)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AttentionalReadout(ReadoutBase):
    """Luong's attentional vector: t_i = tanh(W [c_i; s_i])      (Luong et al. 2015, eq. 5).

    Arguments and output: see `ReadoutBase`.
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(units, dropout, **kwargs)
        self.projection = keras.layers.Dense(
            units, activation="tanh", use_bias=False, dtype=self.dtype_policy, name="projection"
        )

    def build(self, state_shape, context_shape, embedded_shape):
        self.projection.build((None, state_shape[-1] + context_shape[-1]))

    def read(self, state, context, embedded):
        # [c_i; s_i] -> t_i: (..., units)
        return self.projection(ops.concatenate([context, state], axis=-1))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PlainReadout(ReadoutBase):
    """t_i is the output of the decoder cell, such as the attentional vector of `InputFeedingCell`.

    Arguments and output: see `ReadoutBase`; `units` must be the width of the state.
    """

    def build(self, state_shape, context_shape, embedded_shape):
        if state_shape[-1] != self.units:
            raise ValueError(
                "A plain readout is as wide as the output of the decoder cell. "
                f"Received: readout_units={self.units}, units={state_shape[-1]}. "
                "Make them equal, or take another readout."
            )

    def read(self, state, context, embedded):
        return state
