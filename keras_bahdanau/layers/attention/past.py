"""Attention over the decoder's own earlier states, besides the source."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionBase
from keras_bahdanau.layers.attention.normalizers import masked_softmax
from keras_bahdanau.layers.registry import resolve_layer
from keras_bahdanau.layers.scores.additive import AdditiveScore
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PastAttention(AttentionBase):
    """An attention over the source, and one over the earlier queries.

    d_i  = sum_k beta_ik P q_k,  k < i,  beta_i from additive scores of q_i and q_k
    c'_i = [c_i; d_i]            (the intra-decoder attention of Paulus et al. 2018, section 2.2;
                                  the queries are the decoder's states; P makes them `units` wide)

    The decoder attends to the last `length` queries, in a buffer of fixed shape, as every runtime
    needs. d_1 is zero.

    Args:
        attention: The attention over the source.
        length: Positive integer. Number of queries in the buffer.
        units: Positive integer. Width of the score over them, and of d_i.

    Call arguments and output: see `AttentionBase`; weights and scores are those over the source.
    """

    def __init__(self, attention, length=64, units=128, **kwargs):
        super().__init__(**kwargs)
        self.attention = resolve_layer(attention)
        self.length = checks.positive_integer("length", "the queries kept", length)
        self.units = checks.positive_integer("units", "the width of the score", units)
        self.score = AdditiveScore(units, dtype=self.dtype_policy, name="score")
        self.projection = keras.layers.Dense(  # P
            units, use_bias=False, dtype=self.dtype_policy, name="projection"
        )

    @property
    def exportable(self):
        return self.attention.exportable

    @property
    def has_weights(self):
        return self.attention.has_weights

    @property
    def marginal(self):
        return self.attention.marginal

    def build(self, query_shape, values_shape):
        self.attention.build(query_shape, values_shape)
        self.score.build(query_shape, (None, self.length, query_shape[-1]))
        self.projection.build(query_shape)

    def context_units(self, values_units):
        return self.attention.context_units(values_units) + self.units

    def prepare(self, memory):
        return self.attention.prepare(memory)

    def initial_state(self, memory):
        batch = ops.shape(memory.mask)[0]
        dtype = memory.values.dtype
        return (
            self.attention.initial_state(memory),
            ops.zeros((batch, self.length, self.units), dtype),  # P q_k, the values
            ops.zeros((batch, self.length, self.units), dtype),  # the keys of q_k
            ops.zeros((batch, self.length, 1), "float32"),  # 1 where a query was written
        )

    def attend(self, query, prepared, state, training=None):
        inner, values, keys, written = state
        attended = self.attention.attend(query, prepared, inner, training=training)
        scores = self.score.compare(query, keys)  # -> (batch, [n,] length)
        weights = masked_softmax(scores, ops.greater(written[..., 0], 0))  # beta_i
        # -> (batch, [n,] length, 1)
        weights = ops.expand_dims(ops.cast(weights, values.dtype), axis=-1)
        past = ops.sum(weights * values, axis=-2)  # -> (batch, [n,] units), d_i
        state = (
            attended.state,
            _pushed(values, self.projection(query)),
            _pushed(keys, self.score.project(query)),
            _pushed(written, ops.ones_like(written[..., 0, :])),
        )
        # c'_i: (batch, [n,] context_units + units)
        return attended._replace(
            context=ops.concatenate([attended.context, past], axis=-1), state=state
        )

    def get_config(self):
        return {
            **super().get_config(),
            "attention": keras.saving.serialize_keras_object(self.attention),
            "length": self.length,
            "units": self.units,
        }


def _pushed(buffer, newest):
    """Buffer `(batch, [n,] length, units)` without its oldest entry, and with a new one."""
    # (batch, [n,] length - 1, units) and (batch, [n,] 1, units)
    return ops.concatenate([buffer[..., 1:, :], ops.expand_dims(newest, axis=-2)], axis=-2)
