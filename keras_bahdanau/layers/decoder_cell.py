"""ONE target step: the only place where the step's mathematics is written.

Training scans it, search and the exported files iterate it.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers import checks
from keras_bahdanau.layers.attention import Memory
from keras_bahdanau.layers.bridge import StateBridge
from keras_bahdanau.layers.cells import new_cell
from keras_bahdanau.layers.serialization import unbuilt


class DecoderState(NamedTuple):
    """What one target step leaves behind, for the next one and for the readout.

    Attributes:
        cell: Tuple of float tensors `(batch, units)`; the first is s_i.
        context: Float tensor `(batch, values_units)`, c_i.
        weights: Float32 tensor `(batch, source_time)`, alpha_i.
    """

    cell: Any
    context: Any
    weights: Any


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class DecoderCell(keras.layers.Layer):
    """Attends, then moves the state.

    c_i = sum_j alpha_ij h_j,   alpha_i from s_{i-1}      (Bahdanau et al. 2015, eq. 5, 6)
    s_i = f(s_{i-1}, y_{i-1}, c_i)                        (eq. 4)

    Args:
        units: Positive integer. Width of the decoder state.
        attention: A `BahdanauAttention`.
        cell: "gru" or "lstm".

    Call arguments:
        inputs: Float tensor `(batch, input_units)`, the embedded y_{i-1}.
        state: `DecoderState` of the step before, or `first_state(memory)`.
        memory: `Memory` from `prepare`.
        training: Python bool.

    Output:
        The next `DecoderState`. With a beam axis in `inputs` and `state`
        (`(batch, beam, ...)`) all of it has that axis; the memory has none.
    """

    def __init__(self, units, attention, cell="gru", **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the decoder state", units)
        self.cell_name = cell
        self.attention = attention
        self.cell = new_cell(cell, units, dtype=self.dtype_policy, name="cell")
        self.context_projection = keras.layers.Dense(
            self.cell.gates * units, use_bias=False, dtype=self.dtype_policy, name="context"
        )
        self.bridge = StateBridge(
            units, self.cell.state_count, dtype=self.dtype_policy, name="bridge"
        )

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        memory_shape = Memory(*memory_shape)  # a saved model has it as a plain list
        self.attention.build((None, self.units), memory_shape.values)
        self.cell.build(inputs_shape)
        self.context_projection.build((None, memory_shape.values[-1]))
        self.bridge.build(memory_shape.summary)

    def prepare(self, memory):
        """The `Memory` with what no step changes computed once."""
        return self.attention.prepare(memory)

    def first_state(self, memory):
        """s_0 from the encoder's summary; nothing attended to yet."""
        batch, source_time, _ = ops.shape(memory.values)
        return DecoderState(
            cell=self.bridge(memory.summary),
            context=ops.zeros((batch, memory.values.shape[-1]), memory.values.dtype),
            weights=ops.zeros((batch, source_time), "float32"),
        )

    def project(self, inputs):
        """The inputs' share of the step, for all steps in one product."""
        return self.cell.project(inputs)

    def step(self, projected, state, memory, training=None):
        """The next `DecoderState`, from inputs that `project` has seen."""
        context, weights = self.attention.attend(state.cell[0], memory, training=training)
        cell = self.cell.step(projected + self.context_projection(context), state.cell)
        return DecoderState(cell, context, weights)

    def call(self, inputs, state, memory, training=None):
        return self.step(self.project(inputs), state, memory, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "attention": keras.saving.serialize_keras_object(self.attention),
            "cell": self.cell_name,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "attention": unbuilt(config["attention"])})
