"""Decoder cells with attention after the cell, with or without input feeding."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.decoder_cells.decoder_cell import (
    DecoderCellBase,
    Step,
    named_shapes,
    without_scores,
)
from keras_bahdanau.layers.registry import resolve_layer
from keras_bahdanau.settings import checks

OUTPUTS = ("attentional", "state")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class InputFeedingCell(DecoderCellBase):
    """Decoder cell that attends with its new state and outputs the attentional vector.

    s_i  = f(s_{i-1}, y_{i-1}, h~_{i-1})         (Luong et al. 2015, section 3.3)
    c_i  = sum_j alpha_ij h_j,   alpha_i from s_i
    h~_i = tanh(W [c_i; s_i])                    (eq. 5)

    Args:
        input_feeding: Bool. True if the cell reads h~_{i-1} in addition to the token.
        attentional: Layer that maps [c_i; s_i] to h~_i, such as `keras.layers.Dense(256)`; None for
            tanh(W [c_i; s_i]) of width `units`; or "context" for h~_i = c_i.
        output: "attentional" if the readout uses h~_i, or "state" if it uses s_i.

    Other arguments, calls and errors are as in `DecoderCell`.
    """

    def __init__(
        self,
        units,
        attention="bahdanau",
        input_feeding=True,
        attentional=None,
        output="attentional",
        **kwargs,
    ):
        super().__init__(units, attention, **kwargs)
        self.input_feeding = input_feeding
        self.output_name = checks.choice("output", output, OUTPUTS)
        self.attentional = None  # for "context"
        self.whole = attentional not in (None, "context")  # True if `attentional` is a layer
        if attentional is None:
            self.attentional = keras.layers.Dense(
                units,
                activation="tanh",
                use_bias=False,
                dtype=self.dtype_policy,
                name="attentional",
            )
        elif self.whole:
            self.attentional = resolve_layer(attentional)

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        context_units = self._build_shared(inputs_shape, named_shapes(memory_shape))
        self.attentional_units = context_units
        if self.attentional is not None:
            both = (None, context_units + self.stack.output_units)
            self.attentional.build(both)
            self.attentional_units = self.attentional.compute_output_shape(both)[-1]
        self.stack.build(
            inputs_shape, (None, self.attentional_units) if self.input_feeding else None
        )

    @property
    def output_units(self):
        return self.units if self.output_name == "state" else self.attentional_units

    def initial_state(self, prepared):
        state = super().initial_state(prepared)
        if not self.input_feeding:
            return state
        return state._replace(output=self._zeros(prepared.memory, self.attentional_units))

    def step(self, projected, state, prepared, training=None):
        projected, embedding = projected
        fed = state.output if self.input_feeding else None  # (batch, [beam,] attentional_units)
        # s_i, including the residual: (batch, [beam,] units)
        top, cell = self.stack.step(
            projected, state.cell, context=fed, dropout_masks=self._cell_masks(prepared)
        )
        query, attended = self._attend(top, embedding, state, prepared, training)
        attentional = attended.context
        if self.attentional is not None:
            # [c_i; s_i]: (batch, [beam,] context_units + units) -> (batch, [beam,] units of h~)
            attentional = self.attentional(ops.concatenate([attended.context, top], axis=-1))
        output = top if self.output_name == "state" else attentional
        fed = attentional if self.input_feeding else ()
        return self._step_and_state(output, query, attended, cell, fed)

    def get_config(self):
        attentional = None if self.attentional is not None else "context"
        if self.whole:
            attentional = keras.saving.serialize_keras_object(self.attentional)
            attentional.pop("build_config", None)  # the cell builds the layer
        return {
            **super().get_config(),
            "input_feeding": self.input_feeding,
            "attentional": attentional,
            "output": self.output_name,
        }


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class UnfedCell(DecoderCellBase):
    """Decoder cell with a recurrence that reads only the target, not the attention's result.

    s_i = f(s_{i-1}, y_{i-1})
    c_i = sum_j alpha_ij h_j,   alpha_i from s_i

    This is the decoder of Luong et al. (2015, section 3) without the input feeding of section 3.3,
    and the decoder of Wu et al. (2018), in which states do not depend on the alignment. The readout
    reads the context. In training, the cells first read the whole target, and then all steps attend
    in parallel, unless the attention has a state. In other respects, it is like `DecoderCell`, but
    has no `readout_state`.
    """

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        self._build_shared(inputs_shape, named_shapes(memory_shape))
        self.stack.build(inputs_shape)

    def step(self, projected, state, prepared, training=None):
        projected, embedding = projected
        # s_i, including the residual: (batch, [beam,] units)
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
        return without_scores(step, return_weights)
