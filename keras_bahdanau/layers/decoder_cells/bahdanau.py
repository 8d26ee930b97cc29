"""Decoder cells with attention before the cell (Bahdanau et al.) or between two (Nematus)."""

import keras

from keras_bahdanau.layers.decoder_cells.decoder_cell import (
    DecoderCellBase,
    named_shapes,
)
from keras_bahdanau.settings import checks

READOUT_STATES = ("current", "previous")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class DecoderCell(DecoderCellBase):
    """Decoder cell that attends with its previous state.

    c_i = sum_j alpha_ij h_j,   alpha_i from s_{i-1}      (Bahdanau et al. 2015, eq. 5, 6)
    s_i = f(s_{i-1}, y_{i-1}, c_i)                        (eq. 4)

    ```python
    cell = keras_bahdanau.layers.DecoderCell(512, "general", cell="lstm", depth=2)
    decoder = keras_bahdanau.Decoder(6000, 256, cell)
    ```

    Args:
        units: Positive integer. Width of the decoder state.
        attention: An attention layer, or an identifier in `layers.ATTENTIONS`: "bahdanau", a score
            or its name, "forced"; None for the fixed context of an encoder-decoder without
            attention. An attention layer created by name is as wide as the state.
        readout_state: The state that the readout uses: "current" (s_i), or "previous" (s_{i-1}) as
            in appendix A.2.2.

    Keyword Args:
        cell: "gru" or another name in `layers.CELLS`, or a Keras cell, which is copied; or a
            `CellStack`, which is used directly, with `depth=1`.
        depth: Positive integer. Number of stacked cells.
        residual: Bool. True if each cell except the lowest adds its input to its output.
        query: Tuple of the parts of the query: "state", "embedding", "context", "task".
        bridge: Initial state: "summary" for tanh(W summary + b), "identity" for the summary itself,
            or "zeros".
        recurrent_dropout: Float in [0, 1). Fraction of the state dropped before the recurrent
            product in training, the same at all steps (Gal and Ghahramani 2016).
        context_dropout: Float in [0, 1). Fraction of the context dropped in the same way.
        context_gate: Bool. True for a learned gate that scales each context:
            c_i = beta_i sum_j alpha_ij h_j, where beta_i = sigmoid(f_beta(s)), f_beta is affine,
            and s is the state in the query (Xu et al. 2015, section 4.2.1: h_{t-1}, here s_{i-1}).

    Call arguments:
        inputs: Float tensor `(batch, input_units)`, the embedded y_{i-1}.
        state: `DecoderState` of the previous step, or `initial_state(prepared)`.
        prepared: `ProjectedMemory`, from `prepare(memory)`.
        training: Python bool.

    Output:
        The pair (step, next `DecoderState`), with a beam axis if `inputs` and `state` have one. The
        step has `output` `(batch, units)`, `context` `(batch, context_units)`, and float32
        `weights` and `scores` `(batch, source_time)`.

    Raises:
        ValueError: If an argument is out of range, or not compatible with the other arguments.
    """

    def __init__(self, units, attention="bahdanau", readout_state="current", **kwargs):
        super().__init__(units, attention, **kwargs)
        self.readout_state = checks.choice("readout_state", readout_state, READOUT_STATES)

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        context_units = self._build_shared(inputs_shape, named_shapes(memory_shape))
        self.stack.build(inputs_shape, (None, context_units))

    @property
    def querying_units(self):
        return self.stack.state_sizes[-1][0]

    @property
    def output_units(self):
        return self.querying_units if self.readout_state == "previous" else self.units

    def step(self, projected, state, prepared, training=None):
        projected, embedding = projected
        previous = state.cell[-1][0]  # s_{i-1}: (batch, [beam,] units)
        # c_i: (batch, [beam,] context_units)
        query, attended = self._attend(previous, embedding, state, prepared, training)
        # s_i, including the residual: (batch, [beam,] units)
        output, cell = self.stack.step(
            projected,
            state.cell,
            context=attended.context,
            dropout_masks=self._cell_masks(prepared),
        )
        if self.readout_state == "previous":
            output = previous
        return self._step_and_state(output, query, attended, cell)

    def get_config(self):
        return {**super().get_config(), "readout_state": self.readout_state}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ConditionalCell(DecoderCellBase):
    """Decoder cell that attends between two cells, after reading the token.

    s'_i = f_1(s_{i-1}, y_{i-1})
    c_i  = sum_j alpha_ij h_j,   alpha_i from s'_i
    s_i  = f_2(s'_i, c_i)         (the conditional GRU of Sennrich et al. 2017, "Nematus", 3.1)

    With `depth` above 1, further cells follow the second one. In other respects, it is like
    `DecoderCell`.
    """

    has_stack = False

    def __init__(self, units, attention="bahdanau", **kwargs):
        super().__init__(units, attention, **kwargs)
        self.first_cell = self._new_cell("first_cell")

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        context_units = self._build_shared(inputs_shape, named_shapes(memory_shape))
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
        # s_i, including the residual: (batch, [beam,] units)
        output, cell = self.stack.step(
            self.stack.project(attended.context), (lowest, *upper), dropout_masks=dropout_masks
        )
        return self._step_and_state(output, query, attended, cell)
