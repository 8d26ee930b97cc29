"""Move, then attend, and feed the result to the next step: Luong's step."""

import keras
from keras import ops

from keras_bahdanau.layers.decoder_cells.decoder_cell import (
    DecoderCellBase,
    DecoderState,
    Step,
    as_memory,
)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class InputFeedingCell(DecoderCellBase):
    """Query with the new state, and output the attentional vector.

    s_i  = f(s_{i-1}, y_{i-1}, h~_{i-1})         (Luong et al. 2015, section 3.3)
    c_i  = sum_j alpha_ij h_j,   alpha_i from s_i
    h~_i = tanh(W [c_i; s_i])                    (eq. 5)

    Args:
        units: Positive integer. Width of the decoder state, and of h~.
        attention: An attention layer.
        input_feeding: Bool. True if the cell reads h~_{i-1} beside the token.
        **kwargs: Further arguments, as in `Decoder`: `cell` (not a whole decoder cell),
            `depth`, `residual`, `query`, `bridge`, `recurrent_dropout`, `context_dropout`,
            `context_gate`.

    Call arguments and output: as in `DecoderCell`; `Step.output` is h~_i.
    """

    def __init__(self, units, attention, input_feeding=True, **kwargs):
        super().__init__(units, attention, **kwargs)
        self.input_feeding = input_feeding
        self.attentional = keras.layers.Dense(
            units, activation="tanh", use_bias=False, dtype=self.dtype_policy, name="attentional"
        )

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        context_units = self._build_shared(inputs_shape, as_memory(memory_shape))
        self.stack.build(inputs_shape, (None, self.units) if self.input_feeding else None)
        self.attentional.build((None, context_units + self.units))

    def initial_state(self, prepared):
        state = super().initial_state(prepared)
        if not self.input_feeding:
            return state
        return state._replace(output=self._zeros(prepared.memory, self.units))

    def step(self, projected, state, prepared, training=None):
        projected, embedding = projected
        fed = state.output if self.input_feeding else None  # (batch, [beam,] units)
        # s_i, with residual the sum: (batch, [beam,] units)
        top, cell = self.stack.step(
            projected, state.cell, context=fed, dropout_masks=self._cell_masks(prepared)
        )
        query, attended = self._attend(top, embedding, state, prepared, training)
        # [c_i; s_i]: (batch, [beam,] context_units + units) -> (batch, [beam,] units)
        output = self.attentional(ops.concatenate([attended.context, top], axis=-1))
        return (
            Step(output, attended.context, attended.weights, attended.scores, query),
            DecoderState(
                cell,
                attended.state,
                context=attended.context if self._queries_context else (),
                output=output if self.input_feeding else (),
            ),
        )

    def get_config(self):
        return {**super().get_config(), "input_feeding": self.input_feeding}
