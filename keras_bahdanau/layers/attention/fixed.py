"""Attention without learned weights: a fixed context, or known alignments."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import Attended, AttentionBase, weighted_sum


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FixedContext(AttentionBase):
    """Context for a decoder without attention: the encoder's last states, used at every step.

    c_i = h_T        (RNNencdec, Cho et al. 2014; the baseline of Bahdanau et al. 2015)

    `DecoderCell(512, attention=None)` uses this layer. Its weights are all zero.
    """

    has_weights = False

    def attend(self, query, prepared, state, training=None):
        values, context = prepared.memory.values, prepared.memory.last
        weights = ops.zeros(ops.shape(values)[:2], dtype="float32")
        if len(query.shape) == 3:
            n = ops.shape(query)[1]
            # -> (batch, n, values_units)
            context = ops.repeat(ops.expand_dims(context, axis=1), n, axis=1)
            weights = ops.repeat(ops.expand_dims(weights, axis=1), n, axis=1)
        return Attended(context, weights, weights, state)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ForcedAlignment(AttentionBase):
    """Attention with known weights, where step i uses row i of the weights.

    c_i = sum_j a_ij h_j, with a_ij from known alignments

    The weights `(batch, target_time, source_time)` are the third input of `Seq2Seq`, or the second
    input of `Seq2Seq.encode`. Steps after the last row use the last row. A step without weights
    raises ValueError, so this layer can't be exported or called without a decoder.
    """

    exportable = False

    def initial_state(self, memory):
        return ops.zeros(ops.shape(memory.mask)[:1], "int32")  # the number of the step

    def attend(self, query, prepared, state, training=None):
        alignment = self._real_alignment(prepared)
        last = ops.shape(alignment)[1] - 1
        row = ops.cast(
            ops.equal(
                ops.expand_dims(ops.minimum(state, last), axis=-1),
                ops.arange(last + 1, dtype="int32"),
            ),
            "float32",
        )  # -> (batch, [n,] target_time)
        # row i of the alignment: (batch, [n,] target_time) -> (batch, [n,] source_time)
        weights = weighted_sum(row, ops.cast(alignment, "float32"))
        values = prepared.memory.values
        return Attended(weighted_sum(weights, values), weights, weights, state + 1)

    def _real_alignment(self, prepared):
        alignment = prepared.alignment
        if isinstance(alignment, tuple):
            raise ValueError(
                "attention='forced' needs known alignments. Received: no alignment. Pass weights "
                "(batch, target_time, source_time) as the third input of the model: "
                "`data.batches(..., alignments=...)` makes them from Pharaoh links."
            )
        # (batch, target_time, source_time) * (batch, 1, source_time)
        return alignment * ops.expand_dims(ops.cast(prepared.memory.mask, alignment.dtype), axis=1)
