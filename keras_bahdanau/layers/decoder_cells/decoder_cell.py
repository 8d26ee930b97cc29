"""Base class of the decoder cells, with attention, recurrent cells, query and initial state."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.attention.by_name import ATTENTIONS
from keras_bahdanau.layers.cells.causal_attention import SelfAttentionCell
from keras_bahdanau.layers.cells.keras_cell import CELLS
from keras_bahdanau.layers.cells.stack import CellStack
from keras_bahdanau.layers.memory import Memory, ProjectedMemory, Query
from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.registry import BRIDGES, CompositeLayer, from_config
from keras_bahdanau.layers.rules import check_layer, self_attention_rules
from keras_bahdanau.settings import checks


class DecoderState(NamedTuple):
    """State that a step passes to the next step; unused parts are ().

    `cell` is a tuple with the states of each layer, which are tuples of tensors `(batch, units)`.
    The first tensor of the last layer is s_i. `context` is c_i, if the next query uses it.
    """

    cell: Any
    attention: Any  # the attention's state
    context: Any = ()  # (batch, context_units)
    output: Any = ()  # (batch, units), if the next step reads it


class Step(NamedTuple):
    """Output of one step, for the readout and for traces."""

    output: Any  # (batch, units), the state that the readout uses
    context: Any  # (batch, context_units), c_i
    weights: Any  # float32 (batch, source_time), alpha_i
    scores: Any  # float32 (batch, source_time), e_i, before mask and softmax
    query: Any  # (batch, query_units)


class DropoutMasks(NamedTuple):
    """Dropout masks for a sentence: for the cells, and for the context; () if there are none."""

    cell: Any = ()
    context: Any = ()  # (batch, context_units)


class DecoderCellBase(CompositeLayer):
    """Base class of the decoder cells. Subclasses decide in `step` when to attend.

    For arguments, calls and output, see `DecoderCell`. `prepared` has no beam axis.
    """

    has_stack = True  # False if its cells do not form a `CellStack`
    has_blocks = False  # True if each cell is a residual sublayer of a block

    def __init__(
        self,
        units,
        attention="bahdanau",
        cell="gru",
        depth=1,
        residual=False,
        query=("state",),
        bridge="summary",
        recurrent_dropout=0.0,
        context_dropout=0.0,
        context_gate=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # states are float32 under any policy
        self.units = checks.positive_integer("units", "the width of the decoder state", units)
        self.depth = checks.positive_integer("depth", "the number of cells", depth)
        self.bridge_name = checks.choice("bridge", bridge, BRIDGES)
        self.recurrent_dropout = recurrent_dropout
        self.context_dropout = checks.rate(
            "context_dropout", "the dropout rate of the context", context_dropout
        )
        self.residual = residual
        is_layer = isinstance(cell, keras.layers.Layer)
        self.cell = keras.saving.serialize_keras_object(cell) if is_layer else cell
        self.attention = ATTENTIONS.get(
            attention, units=units, name="attention", dtype=self.dtype_policy
        )
        self.query = Query(query, dtype=self.dtype_policy, name="query")
        self.stack = cell if isinstance(cell, CellStack) else None
        if self.stack is None:
            cells = [self._new_cell(f"cell_{index}") for index in range(depth)]
            policy = self.dtype_policy
            self.stack = CellStack(cells, residual=residual, dtype=policy, name="stack")
        elif not self.has_stack or depth > 1 or residual or self.stack.output_units != units:
            raise ValueError(
                "A `CellStack` must be `units` wide and contain all cells of the decoder. "
                f"Received: {type(self).__name__}(units={units}, depth={depth}, "
                f"residual={residual}) with a CellStack of width {self.stack.output_units}."
            )
        self.bridge = BRIDGES[bridge](
            self.stack.state_sizes, dtype=self.dtype_policy, name="bridge"
        )
        if any(isinstance(cell, SelfAttentionCell) for cell in self.stack.cells):
            self._check_self_attention(bridge)
        self.context_mask = keras.layers.Dropout(context_dropout, dtype=self.dtype_policy)
        self.context_gate = None
        if context_gate:
            self.context_gate = keras.layers.Dense(  # f_beta
                1, activation="sigmoid", dtype=self.dtype_policy, name="context_gate"
            )

    def _check_self_attention(self, bridge):
        """Raise ValueError unless self-attention is used in blocks and starts from zero states."""
        settings = {"when": "blocks" if self.has_blocks else "", "bridge": bridge}
        shown = {"cell": "cell=SelfAttentionCell(...)", "when": f"{type(self).__name__}(...)"}
        check_layer(self_attention_rules, settings, **shown)

    def _new_cell(self, name):
        return CELLS.get(
            self.cell,
            self.units,
            recurrent_dropout=self.recurrent_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _build_shared(self, inputs_shape, memory_shape):
        """Build the query, attention and bridge, and return the width of the context."""
        context_units = self.attention.context_units(memory_shape.values[-1])
        query_units = self.query.units(
            state=self.querying_units,
            embedding=inputs_shape[-1],
            context=context_units,
            task=memory_shape.task[-1],
        )
        self.query.built = True  # has no weights
        if not self.attention.built:
            self.attention.build((None, query_units), memory_shape.values)
        self.bridge.build(memory_shape.summary)
        if self.context_gate is not None:
            self.context_gate.build((None, self.querying_units))
        self.values_units = memory_shape.values[-1]
        return context_units

    @property
    def querying_units(self):
        """Width of the state in the query."""
        return self.stack.output_units

    @property
    def output_units(self):
        """Width of the state that the readout uses."""
        return self.units

    @property
    def context_units(self):
        """Width of the context; the layer must be built."""
        return self.attention.context_units(self.values_units)

    def prepare(self, memory, alignment=(), training=None):
        """Project the memory once per sentence, for all steps."""
        dropout_masks = ()
        batch = ops.shape(memory.values)[0]
        cell_masks = self.stack.dropout_masks(batch, training=training)
        if training and (self.context_dropout or keras.tree.flatten(cell_masks)):
            ones = ops.ones((batch, self.context_units), self.compute_dtype)
            context = self.context_mask(ones, training=training)
            dropout_masks = DropoutMasks(cell=cell_masks, context=context)
        return ProjectedMemory(memory, self.keys(memory), dropout_masks, alignment)

    def keys(self, memory):
        return self.attention.prepare(memory)

    def initial_state(self, prepared):
        """Return a `DecoderState` with s_0, which comes from the encoder's summary or is zero."""
        memory = prepared.memory
        return DecoderState(
            cell=self.bridge(memory.summary),
            attention=self.attention.initial_state(memory),
            context=self._zeros(memory, self.context_units) if self._queries_context else (),
        )

    def truncate_cache(self, state, steps):
        return state._replace(cell=self.stack.truncate_cache(state.cell, steps))

    def _zeros(self, memory, units):
        return ops.zeros((ops.shape(memory.values)[0], units), memory.values.dtype)

    @property
    def _queries_context(self):
        return "context" in self.query.parts

    def step_template(self, prepared):
        """Return a `Step` of zeros, without scores and query, as a template for a loop."""
        memory = prepared.memory
        return Step(
            output=self._zeros(memory, self.output_units),
            context=self._zeros(memory, self.context_units),
            weights=ops.zeros(ops.shape(memory.values)[:2], "float32"),
            scores=(),
            query=(),
        )

    def project(self, inputs):
        """Return the projected inputs of all steps, and the inputs if the query uses them."""
        return self._projector.project(inputs), inputs if "embedding" in self.query.parts else ()

    @property
    def _projector(self):
        return self.stack

    def _attend(self, top, embedding, state, prepared, training):
        """Attend, and apply the context's gate and dropout; return (query, `Attended`)."""
        # -> (batch, [beam,] query_units)
        query = self.query(top, embedding, state.context, prepared.memory.task)
        attended = self.attention.attend(query, prepared, state.attention, training=training)
        if self.context_gate is not None:
            beta = ops.cast(self.context_gate(top), attended.context.dtype)  # (batch, [beam,] 1)
            attended = attended._replace(context=beta * attended.context)
        if prepared.dropout_masks:
            mask = prepared.dropout_masks.context  # (batch, context_units)
            if len(attended.context.shape) == 3:
                mask = ops.expand_dims(mask, axis=1)
            attended = attended._replace(context=attended.context * mask)
        return query, attended

    def _step_and_state(self, output, query, attended, cell, fed=()):
        """Return (`Step`, next `DecoderState`); `fed` is the output that the next step reads."""
        context = attended.context if self._queries_context else ()
        return (
            Step(output, attended.context, attended.weights, attended.scores, query),
            DecoderState(cell, attended.state, context, fed),
        )

    def _cell_masks(self, prepared):
        return prepared.dropout_masks.cell if prepared.dropout_masks else ()

    def step(self, projected, state, prepared, training=None):
        """Compute one step from projected inputs; return the pair (`Step`, next `DecoderState`)."""
        raise NotImplementedError

    def teacher_forced(self, inputs, prepared, return_weights, training=None):
        """Return a `Step` for all steps of a known target, without scores and query.

        `inputs` is the embedded y_0, y_1, ..., `(batch, target_time, input_units)`.
        """
        initial_state = self.initial_state(prepared)

        def step(state, projected):
            output, state = self.step(projected, state, prepared, training=training)
            return without_scores(output, return_weights), state

        template = without_scores(self.step_template(prepared), return_weights)
        return scan(step, initial_state, self.project(inputs), template)

    def call(self, inputs, state, prepared, training=None):
        projected = self.project(ops.cast(inputs, self.compute_dtype))
        return self.step(projected, state, prepared, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "attention": keras.saving.serialize_keras_object(self.attention),
            "cell": self.cell,
            "depth": self.depth,
            "residual": self.residual,
            "query": self.query.parts,
            "bridge": self.bridge_name,
            "recurrent_dropout": self.recurrent_dropout,
            "context_dropout": self.context_dropout,
            "context_gate": self.context_gate is not None,
        }

    @classmethod
    def from_config(cls, config):
        config = {**config, "attention": from_config(config["attention"])}
        if isinstance(config["cell"], dict):
            config["cell"] = from_config(config["cell"])
        return cls(**config)


def without_scores(step, return_weights):
    """Return the `Step` without scores and query, which training does not use."""
    return step._replace(weights=step.weights if return_weights else (), scores=(), query=())


def named_shapes(shape):
    """Return the shapes of a `Memory`, from the plain list in a saved model."""
    return Memory(*shape)
