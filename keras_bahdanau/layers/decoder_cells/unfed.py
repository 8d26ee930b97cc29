"""Move, then attend, and feed nothing back."""

import keras
from keras import tree

from keras_bahdanau.layers.decoder_cells.decoder_cell import (
    DecoderCellBase,
    Step,
    as_memory,
    kept,
)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class UnfedCell(DecoderCellBase):
    """Attention apart from the recurrence, which reads the target alone.

    s_i = f(s_{i-1}, y_{i-1})
    c_i = sum_j alpha_ij h_j,   alpha_i from s_i

    (Luong et al. 2015, section 3, without the input feeding of section 3.3; the decoder of Wu
    et al. 2018, whose states do not depend on the alignment.) The context goes to the readout.
    In training the cells read the whole target, one cell after the other, and then all steps
    attend at once, unless a step of the attention depends on the one before.

    Args:
        units: Positive integer. Width of the decoder state.
        attention: An attention layer or its name: see `DecoderCellBase`.
        **kwargs: `cell`, `depth`, `residual`, `query`, `bridge`, `recurrent_dropout`,
            `context_dropout` and `context_gate` of `DecoderCellBase`.

    Call arguments and output: as in `DecoderCell`.
    """

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        self._build_shared(inputs_shape, as_memory(memory_shape))
        self.stack.build(inputs_shape)

    def step(self, projected, state, prepared, training=None):
        projected, embedding = projected
        # s_i, with residual the sum: (batch, [beam,] units)
        top, cell = self.stack.step(projected, state.cell, dropout_masks=self._cell_masks(prepared))
        # c_i: (batch, [beam,] context_units)
        query, attended = self._attend(top, embedding, state, prepared, training)
        return self._step_and_state(top, query, attended, cell)

    def teacher_forced(self, inputs, prepared, return_weights, training=None):
        state = self.initial_state(prepared)
        if tree.flatten((state.attention, state.context)):
            return super().teacher_forced(inputs, prepared, return_weights, training=training)
        projected, embedding = self.project(inputs)
        # s_1, s_2, ...: (batch, target_time, units)
        tops = self.stack.sequence(projected, state.cell, self._cell_masks(prepared))
        # all c_i: (batch, target_time, context_units)
        _, attended = self._attend(tops, embedding, state, prepared, training)
        step = Step(tops, attended.context, attended.weights, attended.scores, query=())
        return kept(step, return_weights)
