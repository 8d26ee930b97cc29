"""Move, attend, move again: the conditional GRU."""

import keras

from keras_bahdanau.layers.decoder_cells.decoder_cell import (
    DecoderCellBase,
    DecoderState,
    Step,
    as_memory,
)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ConditionalCell(DecoderCellBase):
    """Attention between two cells, whose query is a state that has read the token.

    s'_i = f_1(s_{i-1}, y_{i-1})
    c_i  = sum_j alpha_ij h_j,   alpha_i from s'_i
    s_i  = f_2(s'_i, c_i)         (the conditional GRU of Sennrich et al. 2017, "Nematus", 3.1)

    With `depth` above 1 the further cells stand on the second one.

    Args:
        units: Positive integer. Width of the decoder state.
        attention: An attention layer or its name: see `DecoderCellBase`.
        **kwargs: `cell`, `depth`, `residual`, `query`, `bridge`, `recurrent_dropout`,
            `context_dropout` and `context_gate` of `DecoderCellBase`.

    Call arguments and output: as in `DecoderCell`.
    """

    def __init__(self, units, attention="bahdanau", **kwargs):
        super().__init__(units, attention, **kwargs)
        self.first_cell = self._new_cell("first_cell")

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        context_units = self._build_shared(inputs_shape, as_memory(memory_shape))
        self.first_cell.build(inputs_shape)
        self.stack.build((None, context_units))

    @property
    def _projector(self):
        return self.first_cell

    def step(self, projected, state, prepared, training=None):
        projected, embedding = projected
        lowest, *upper = state.cell
        dropout_masks = self._cell_masks(prepared)
        first_masks = dropout_masks[0] if dropout_masks else ()
        # s'_i: (batch, [beam,] units)
        intermediate, lowest = self.first_cell.step(projected, lowest, dropout_masks=first_masks)
        # c_i: (batch, [beam,] context_units)
        query, attended = self._attend(intermediate, embedding, state, prepared, training)
        # s_i, with residual the sum: (batch, [beam,] units)
        output, cell = self.stack.step(
            self.stack.project(attended.context), (lowest, *upper), dropout_masks=dropout_masks
        )
        kept = attended.context if self._queries_context else ()
        return (
            Step(output, attended.context, attended.weights, attended.scores, query),
            DecoderState(cell, attended.state, context=kept),
        )
