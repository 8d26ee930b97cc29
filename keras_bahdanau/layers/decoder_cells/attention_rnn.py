"""Recurrent layer that attends to a memory at each step."""

import math

import keras
from keras import ops, tree

from keras_bahdanau.layers.attention.arguments import (
    bool_mask,
    ensure_tensor,
    flatten_grid,
    lost_mask,
    mask_of_source,
    may_equal,
)
from keras_bahdanau.layers.attention.base import AttentionBase, new_memory
from keras_bahdanau.layers.cells.cell import Cell
from keras_bahdanau.layers.cells.keras_cell import KerasCell
from keras_bahdanau.layers.cells.stack import CellStack
from keras_bahdanau.layers.decoder_cells.bahdanau import DecoderCell
from keras_bahdanau.layers.decoder_cells.decoder_cell import DecoderCellBase
from keras_bahdanau.layers.memory import Memory, masked_mean
from keras_bahdanau.layers.recurrence import outside_graphs, scan
from keras_bahdanau.layers.registry import CompositeLayer, from_config

FLAGS = ("return_sequences", "return_state", "return_attention_scores", "go_backwards")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AttentionRNN(CompositeLayer):
    """Recurrent layer that attends to a memory before each step of its cell.

    c_i = sum_j alpha_ij h_j,   alpha_i from s_{i-1}      (Bahdanau et al. 2015, eq. 5, 6)
    s_i = f(s_{i-1}, [x_i; c_i])                          (eq. 4)

    ```python
    source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
    embedded = keras.layers.Embedding(1000, 32, mask_zero=True)(source)
    memory, h = keras.layers.GRU(64, return_sequences=True, return_state=True)(embedded)
    rnn = keras_bahdanau.layers.AttentionRNN(keras.layers.GRUCell(64), return_sequences=True)
    x = keras.layers.Embedding(900, 32, mask_zero=True)(target)
    logits = keras.layers.Dense(900)(rnn(x, memory, initial_state=h))
    model = keras.Model([source, target], logits)
    ```

    In a custom loop, call `prepare` once and `step` for each token. Here, `embedding` and `dense`
    are the target embedding and the output layer:

    ```python
    prepared = rnn.prepare(memory, memory_mask)
    state = rnn.initial_state(prepared, h)
    for _ in range(20):
        step, state = rnn.step(embedding(token), state, prepared)
        token = keras.ops.argmax(dense(step.output), axis=-1)  # (batch,)
    ```

    Args:
        cell: A cell for `keras.layers.RNN` (built-in, custom, or from this package); a list of such
            cells, of which the lowest reads the context and the highest makes the query; or a
            decoder cell with its own attention and initial state, such as an `InputFeedingCell`.
        attention: An attention layer, or a name in `layers.ATTENTIONS`; an attention layer
            created by name is as wide as the state.
        return_sequences: Python bool. True to return the outputs of all steps.
        return_state: Python bool. True to also return the last state of the cell.
        return_attention_scores: Python bool. True to also return the weights.
        go_backwards: Python bool. True to read the inputs in reverse. The outputs and weights are
            then also in reverse order.

    Call arguments:
        inputs: Float tensor `(batch, time, input_units)`.
        memory: Float tensor `(batch, source_time, values_units)`, or a grid
            `(batch, height, width, values_units)`.
        mask: Bool tensor `(batch, time)`, True where a step is real. Padded steps repeat the
            previous state and output, and have zero weights.
        memory_mask: Bool tensor `(batch, source_time)`, True where a value is real.
        initial_state: Tensor or structure of tensors `(batch, size)` in the order of the cell's
            states, such as [h, c]; None for the cell's default, usually zeros.
        return_attention_scores: Python bool; overrides the constructor's value.
        training: Python bool.

    Keras passes the masks of the inputs and of the memory. Explicit masks take precedence.

    Output:
        The last output `(batch, units)`, or with `return_sequences` all outputs
        `(batch, time, units)`. With `return_state`, the states follow, as in `keras.layers.RNN`.
        With `return_attention_scores`, the float32 weights of all steps follow,
        `(batch, time, source_time)`, or `(batch, time, height, width)` for a grid. Weights and
        contexts are zero for a row without a real value.

    Invalid arguments raise ValueError. Layers of the wrong kind raise TypeError.
    """

    def __init__(
        self,
        cell,
        attention="bahdanau",
        return_sequences=False,
        return_state=False,
        return_attention_scores=False,
        go_backwards=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.cell = keras.layers.StackedRNNCells(cell) if isinstance(cell, list | tuple) else cell
        self.return_sequences = bool(return_sequences)
        self.return_state = bool(return_state)
        self.return_attention_scores = bool(return_attention_scores)
        self.go_backwards = bool(go_backwards)
        self.decoder_cell = self.cell
        if not isinstance(cell, DecoderCellBase):
            stack = _stack(self.cell)
            parts = {"cell": stack, "bridge": "zeros", "dtype": stack.dtype_policy}
            self.decoder_cell = DecoderCell(stack.output_units, attention, **parts)
        self.attention = self.decoder_cell.attention
        _check_parts(self.attention, self.decoder_cell.query.parts)

    def build(self, inputs_shape, memory_shape):
        if len(inputs_shape) != 3 or len(memory_shape) < 3:
            raise ValueError(
                "`inputs` must be (batch, time, input_units), and `memory` (batch, source_time, "
                f"values_units) or a grid. Received: inputs.shape={inputs_shape}, "
                f"memory.shape={memory_shape}. Set return_sequences=True on recurrent layers."
            )
        values, summary = (None, None, memory_shape[-1]), (None, memory_shape[-1])
        memory_shape = Memory(values, values[:-1], summary, summary, task=(None, 0))
        with outside_graphs():
            self.decoder_cell.build((None, inputs_shape[-1]), memory_shape=memory_shape)
        self.cell.built = True

    def prepare(self, memory, memory_mask=None, training=None):
        """Project the memory once for all steps; return a `ProjectedMemory`.

        The arguments are as in a call. Raises ValueError if the layer has not been built.
        """
        if not self.built:
            raise ValueError(
                "An AttentionRNN must be built before a step. Received: "
                f"{self.name}, which is not built. Call the layer once, or "
                "build(inputs_shape, memory_shape)."
            )
        memory = ensure_tensor(memory)
        if memory_mask is not None:
            batch, *sizes = memory.shape[:-1]
            flat = None if None in sizes else math.prod(sizes)
            _check_mask("memory_mask", memory_mask, (batch, *sizes), (batch, flat))
            memory_mask = mask_of_source(memory_mask)
        values = ops.cast(flatten_grid(memory), self.decoder_cell.compute_dtype)
        memory = new_memory(values, memory_mask)
        memory = memory._replace(summary=masked_mean(memory.values, memory.mask))
        return self.decoder_cell.prepare(memory, training=training)

    def initial_state(self, prepared, initial_state=None):
        """Return the `DecoderState` before the first step; `initial_state` is as in a call."""
        state = self.decoder_cell.initial_state(prepared)
        if initial_state is None and self.decoder_cell is self.cell:
            return state
        if initial_state is None:
            batch = ops.shape(prepared.memory.values)[0]
            initial_state = self.decoder_cell.stack.get_initial_state(batch)
        return state._replace(cell=self._packed_states(initial_state))

    def step(self, inputs, state, prepared, training=None):
        """Compute one step; return the pair (`Step`, next `DecoderState`).

        `inputs` is x_i `(batch, input_units)`. `state` is the state returned by the previous step,
        or `initial_state(prepared)`. `prepared` is the result of `prepare(memory, memory_mask)`.
        The step has `output` `(batch, units)`, `context` `(batch, values_units)` and float32
        `weights` `(batch, source_time)`, where the cells of a grid are flattened into one axis.
        """
        return self.decoder_cell.call(ensure_tensor(inputs), state, prepared, training=training)

    def __call__(self, inputs, memory, mask=None, memory_mask=None, **kwargs):
        inputs, memory = ensure_tensor(inputs), ensure_tensor(memory)
        mask = lost_mask(inputs) if mask is None else ensure_tensor(mask)
        memory_mask = lost_mask(memory) if memory_mask is None else ensure_tensor(memory_mask)
        return super().__call__(inputs, memory, mask=mask, memory_mask=memory_mask, **kwargs)

    def call(
        self,
        inputs,
        memory,
        mask=None,
        memory_mask=None,
        initial_state=None,
        return_attention_scores=None,
        training=None,
        inputs_mask=None,  # passed by Keras
    ):
        mask = inputs_mask if mask is None else mask
        if mask is not None:
            _check_mask("mask", mask, inputs.shape[:2])
            mask = bool_mask(mask)
        prepared = self.prepare(memory, memory_mask, training=training)
        state = self.initial_state(prepared, initial_state)
        inputs = ops.cast(inputs, self.decoder_cell.compute_dtype)
        if self.go_backwards:
            inputs = ops.flip(inputs, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        outputs, weights, states = self._run(inputs, mask, state, prepared, training)
        if len(memory.shape) > 3:
            weights = ops.reshape(weights, (*ops.shape(weights)[:2], *ops.shape(memory)[1:-1]))
        output, states = tree.map_structure(
            lambda tensor: ops.cast(tensor, self.compute_dtype),
            (outputs if self.return_sequences else outputs[:, -1], states),
        )
        return self._results(output, states, weights, return_attention_scores)

    def _run(self, inputs, mask, state, prepared, training):
        """Run all steps; return (outputs, weights, last states of the cell)."""

        def step(before, slices):
            projected, real = slices
            step, state = self.decoder_cell.step(projected, before[0], prepared, training=training)
            after, weights = (state, step.output), step.weights
            if mask is not None:
                skipped = before, ops.zeros_like(weights)
                after, weights = _where(real, (after, weights), skipped)
            return (after[1], weights), after

        template = self.decoder_cell.step_template(prepared)
        (outputs, weights), (state, _) = scan(
            step,
            (state, template.output),
            (self.decoder_cell.project(inputs), () if mask is None else mask),
            template=(template.output, template.weights),
            return_state=True,
        )
        return outputs, weights, state.cell

    def _packed_states(self, states):
        """Pack initial states in the structure of the cell; raise ValueError for wrong shapes."""
        sizes = self.decoder_cell.stack.state_sizes
        states = [ensure_tensor(state) for state in tree.flatten(states)]
        widths, shapes = tree.flatten(sizes), [tuple(state.shape) for state in states]
        if [shape[1:] for shape in shapes] != [(width,) for width in widths]:
            raise ValueError(
                f"`initial_state` must be tensors (batch, size) with the sizes {widths} of the "
                f"cell. Received: initial_state of shapes {shapes}."
            )
        dtype = self.decoder_cell.compute_dtype
        return tree.pack_sequence_as(sizes, [ops.cast(state, dtype) for state in states])

    def _results(self, output, states, weights, return_attention_scores):
        """Return the outputs of a call, with states as in `keras.layers.RNN`."""
        results = [output]
        if self.return_state and len(states) == 1:
            results.extend(states[0])
        elif self.return_state:
            results.extend(layer[0] if len(layer) == 1 else [*layer] for layer in states)
        if return_attention_scores is None:
            return_attention_scores = self.return_attention_scores
        if return_attention_scores:
            results.append(weights)
        return results[0] if len(results) == 1 else tuple(results)

    def compute_output_spec(
        self, inputs, memory, initial_state=None, return_attention_scores=None, **kwargs
    ):
        if initial_state is not None:
            self._packed_states(initial_state)
        batch, time = inputs.shape[:2]
        steps = (time,) if self.return_sequences else ()
        output, states = tree.map_structure(
            lambda size: keras.KerasTensor((batch, size), self.compute_dtype),
            (self.decoder_cell.output_units, self.decoder_cell.stack.state_sizes),
        )
        output = keras.KerasTensor((batch, *steps, output.shape[-1]), self.compute_dtype)
        weights = keras.KerasTensor((batch, time, *memory.shape[1:-1]), "float32")
        return self._results(output, states, weights, return_attention_scores)

    def compute_mask(self, inputs, mask=None):
        if mask is None or not self.return_sequences:
            return None
        return ops.flip(mask, axis=1) if self.go_backwards else mask

    def get_config(self):
        parts = {"cell": self.cell, "attention": self.attention}
        if self.decoder_cell is self.cell:
            parts["attention"] = None
        parts = {name: keras.saving.serialize_keras_object(part) for name, part in parts.items()}
        return {**super().get_config(), **parts, **{name: getattr(self, name) for name in FLAGS}}

    @classmethod
    def from_config(cls, config):
        parts = {name: from_config(config[name]) for name in ("cell", "attention") if config[name]}
        return cls(**{**config, **parts})


def _stack(cell):
    """Return a `CellStack` of a Keras RNN cell, not copied; raise TypeError for anything else."""
    if isinstance(cell, CellStack):
        return cell
    cells = cell.cells if isinstance(cell, keras.layers.StackedRNNCells) else [cell]
    cells = [cell if isinstance(cell, Cell) else KerasCell(cell) for cell in cells]
    return CellStack(cells, dtype=getattr(cell, "dtype_policy", None), name="stack")


def _check_parts(attention, query_parts):
    """Raise TypeError or ValueError unless attention and query depend only on the memory."""
    if not isinstance(attention, AttentionBase):
        raise TypeError(
            "`attention` must be an attention layer of this package, or the name of one. Received: "
            f'attention={attention!r}. Pass "bahdanau", or BahdanauAttention(units).'
        )
    if attention.marginal or not attention.exportable or "task" in query_parts:
        raise ValueError(
            "Attention and query must depend only on the memory. Received: a "
            f"{type(attention).__name__} with query={query_parts!r}. Use a `Seq2Seq` for these."
        )


def _check_mask(name, mask, *shapes):
    """Raise ValueError unless a mask has one of the shapes; None in a shape means any size."""
    shape = tuple(mask.shape)
    if not any(len(shape) == len(fit) and all(map(may_equal, shape, fit)) for fit in shapes):
        raise ValueError(
            f"`{name}` must have shape {tuple(shapes[0])}, True where a step is real. Received: "
            f"{name}.shape={shape}."
        )


def _where(real, after, before):
    """Choose rows of `after` where `real` `(batch,)` is True, else rows of `before`."""

    def choose(new, old):
        return ops.where(ops.reshape(real, (-1, *(1 for _ in new.shape[1:]))), new, old)

    return tree.map_structure(choose, after, before)
