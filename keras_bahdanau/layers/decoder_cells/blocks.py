"""Decoder cell made of Transformer blocks, with any recurrent cell instead of self-attention."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.cells.causal_attention import SelfAttentionCell
from keras_bahdanau.layers.decoder_cells.decoder_cell import (
    DecoderCellBase,
    DecoderState,
    Step,
    named_shapes,
    without_scores,
)
from keras_bahdanau.layers.recurrence import StepDropout
from keras_bahdanau.layers.registry import from_config
from keras_bahdanau.layers.rules import block_rules, check_layer
from keras_bahdanau.layers.sublayers import FeedForward, inner_units, layer_norm, sinusoids
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BlockCell(DecoderCellBase):
    """Decoder cell of residual blocks: a recurrence, attention and a feed-forward network.

    x   = sqrt(units) (W y_{i-1} + b)               into the lowest of `depth` blocks
    x'  = x + f(LN(x))                              f: the recurrent cell, over the steps
    c_i = sum_j alpha_ij h_j,   alpha_i from LN(x')
    x"  = x' + W_c c_i
    x   = x" + FFN(LN(x"))                          into the next block; a final LN on top

    This is the Transformer decoder of Vaswani et al. (2017, section 3.1), with its self-attention
    replaced by an SSRU as in Kim et al. (2019, "From research to production and back"), and with
    normalization before each sublayer (Xiong et al. 2020). Each block attends with its own weights
    and query; a step returns the weights of the highest block. The output of a step is not fed to
    the next step, so training computes all steps of a sublayer in one product. Only the recurrence
    of `cell` is sequential, and it is elementwise for a parallel cell such as "ssru". With a
    `SelfAttentionCell`, the blocks form a Transformer decoder, with positions p_i added to the
    inputs.

    The inner width of FFN is `feed_forward_units`, by default four times `units`. In training,
    dropout with the rate `dropout` is applied to the output of each sublayer. `attention` (copied
    for each block), `cell`, `depth`, `bridge` and `recurrent_dropout` are as in `DecoderCell`. The
    other arguments of `DecoderCell` raise ValueError. Calls are as in `DecoderCell`.
    """

    has_blocks = True
    has_stack = False

    def __init__(
        self,
        units,
        attention="bahdanau",
        cell="ssru",
        feed_forward_units=None,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(units, attention, cell=cell, **kwargs)
        _check(self)
        self.positional = isinstance(self.stack.cells[0], SelfAttentionCell)
        self.feed_forward_units = inner_units(feed_forward_units, units)
        self.dropout = checks.rate("dropout", "the dropout rate of the sublayers", dropout)
        template = keras.saving.serialize_keras_object(self.attention)
        self.attentions = [self.attention]
        for index in range(1, self.depth):
            copy = from_config(template)
            copy.name = f"{self.attention.name}_{index}"
            self.attentions.append(copy)
        policy = self.dtype_policy
        self.input_projection = keras.layers.Dense(units, dtype=policy, name="input_projection")
        self.blocks = [
            _Block(units, self.feed_forward_units, dropout, dtype=policy, name=f"block_{index}")
            for index in range(self.depth)
        ]
        self.last_norm = layer_norm(policy, "last_norm")

    def build(self, inputs_shape, state_shape=None, memory_shape=None):
        memory_shape = named_shapes(memory_shape)
        context_units = self._build_shared(inputs_shape, memory_shape)
        self.input_projection.build(inputs_shape)
        for attention in self.attentions[1:]:
            attention.build((None, self.units), memory_shape.values)
        self.stack.build((None, self.units))
        for block in self.blocks:
            block.build((None, self.units), (None, context_units))
        self.last_norm.build((None, self.units))

    def keys(self, memory):
        return tuple(attention.prepare(memory) for attention in self.attentions)

    def initial_state(self, prepared):
        memory = prepared.memory
        attention = tuple(attention.initial_state(memory) for attention in self.attentions)
        return DecoderState(self.bridge(memory.summary), attention)

    @property
    def querying_units(self):
        return self.units

    def project(self, inputs):
        # (..., input_units) -> (..., units), scaled like the sublayers
        return self.units**0.5 * self.input_projection(inputs), ()

    def _placed(self, x, steps):
        if not self.positional:
            return x
        furthest = self.stack.cells[0].length  # the state counts only up to this
        return x + ops.cast(sinusoids(ops.minimum(steps, furthest), self.units), x.dtype)

    def _through(self, x, recur, states, prepared, training):
        """Apply all blocks to x `(batch, [n,] units)`; return (`Step`, states of attentions)."""
        after = []
        for index, (block, attention) in enumerate(zip(self.blocks, self.attentions, strict=True)):
            x = x + block.drop(recur(index, block.recurrence_norm(x)), training=training)
            query = block.attention_norm(x)
            block_prepared = prepared._replace(keys=prepared.keys[index])
            attended = attention.attend(query, block_prepared, states[index], training=training)
            context = attended.context  # c_i: (batch, [n,] context_units)
            x = x + block.drop(block.context_projection(context), training=training)
            inner = block.feed_forward(block.feed_forward_norm(x), training=training)
            x = x + block.drop(inner, training=training)
            after.append(attended.state)
        output = self.last_norm(x)
        return Step(output, context, attended.weights, attended.scores, query), tuple(after)

    def step(self, projected, state, prepared, training=None):
        x, _ = projected
        if self.positional:  # steps so far, exact in float32: (batch, [beam])
            x = self._placed(x, ops.sum(ops.cast(state.cell[0][2], "float32"), axis=-1))
        masks = self._cell_masks(prepared) or ((),) * self.depth
        states = []

        def recur(index, x):
            cell = self.stack.cells[index]
            output, after = cell.step(cell.project(x), state.cell[index], None, masks[index])
            states.append(after)
            return output

        output, attention = self._through(x, recur, state.attention, prepared, training)
        return output, DecoderState(tuple(states), attention)

    def teacher_forced(self, inputs, prepared, return_weights, training=None):
        state = self.initial_state(prepared)
        if tree.flatten(state.attention):  # attention with a state must run step by step
            return super().teacher_forced(inputs, prepared, return_weights, training=training)
        x, _ = self.project(inputs)  # (batch, target_time, units)
        x = self._placed(x, ops.arange(ops.shape(x)[1]))
        masks = self._cell_masks(prepared) or ((),) * self.depth

        def recur(index, x):
            cell = self.stack.cells[index]
            return cell.sequence(cell.project(x), state.cell[index], masks[index])

        output, _ = self._through(x, recur, state.attention, prepared, training)
        return without_scores(output, return_weights)

    def get_config(self):
        return {
            **super().get_config(),
            "feed_forward_units": self.feed_forward_units,
            "dropout": self.dropout,
        }


class _Block(keras.layers.Layer):
    """Layers of a block, except its recurrence and its attention."""

    def __init__(self, units, feed_forward_units, dropout, **kwargs):
        super().__init__(autocast=False, **kwargs)
        policy = self.dtype_policy
        self.recurrence_norm = layer_norm(policy, "recurrence_norm")
        self.attention_norm = layer_norm(policy, "attention_norm")
        self.feed_forward_norm = layer_norm(policy, "feed_forward_norm")
        self.context_projection = keras.layers.Dense(  # W_c
            units, use_bias=False, dtype=policy, name="context_projection"
        )
        self.feed_forward = FeedForward(
            units, feed_forward_units, dropout, dtype=policy, name="feed_forward"
        )
        self.drop = StepDropout(dropout, dtype=policy, name="dropout")

    def build(self, inputs_shape, context_shape):
        for norm in (self.recurrence_norm, self.attention_norm, self.feed_forward_norm):
            norm.build(inputs_shape)
        self.context_projection.build(context_shape)
        self.feed_forward.build(inputs_shape)


def _check(cell):
    """Raise ValueError if a `BlockCell` has settings that only other decoder cells support."""
    settings = {
        "query": ",".join(cell.query.parts),
        "context_gate": cell.context_gate is not None,
        "context_dropout": cell.context_dropout,
        "residual": cell.residual,
    }
    check_layer(block_rules, settings, when=f"{type(cell).__name__}(...)")
