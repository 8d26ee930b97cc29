"""Bases of the attentions and of their parts."""

import inspect
from typing import Any, NamedTuple

import keras
from keras import ops, tree

from keras_bahdanau.layers.attention.arguments import (
    FLAGS,
    bool_mask,
    check_masks,
    flatten_grid,
    keras_arguments,
    mask_of_queries,
    mask_of_source,
    named,
)
from keras_bahdanau.layers.memory import Memory, ProjectedMemory, last_real_value
from keras_bahdanau.layers.recurrence import outside_graphs, scan
from keras_bahdanau.layers.registry import CompositeLayer


class AttentionPart(CompositeLayer):
    """Base of scores, windows, normalizers, coverage, and of the attentions made of them.

    A part that depends on earlier steps carries a state. Scores, weights and positions are float32
    under every dtype policy; with `autocast` Keras casts float inputs to the compute dtype.
    """

    def __init__(self, autocast=False, **kwargs):
        super().__init__(autocast=autocast, **kwargs)

    def build(self, *shapes):
        pass

    def initial_state(self, memory):
        """State before the first step: a structure of tensors `(batch, ...)`; () for none."""
        return ()

    def get_config(self):
        return super().get_config()  # Keras takes a config with this method as complete


class Attended(NamedTuple):
    """Result of one query, or of many."""

    context: Any  # (batch, [n,] context_units), c_i
    weights: Any  # float32 (batch, [n,] source_time), alpha_i
    scores: Any  # float32 (batch, [n,] source_time), e_i, before mask and softmax
    state: Any  # of the attention for the next step: a structure of tensors


class AttentionBase(AttentionPart):
    """Base of all attentions; a subclass writes `attend`, and the other methods as needed.

    Calls follow `keras.layers.MultiHeadAttention`; `layer([query, value])`, as of
    `keras.layers.AdditiveAttention`, is the same call.

    Call arguments:
        query: Float tensor `(batch, query_units)`, or `(batch, target_time, query_units)`.
        value: Float tensor `(batch, source_time, values_units)`, or a grid
            `(batch, height, width, values_units)`. `values=` is another name of it.
        key: Float tensor with the axes of `value`, which the scores compare; `value` if None.
        query_mask: Bool tensor `(batch, [target_time])`, True where a query is real: the context of
            another query is zero.
        value_mask: Bool tensor `(batch, source_time)`, True where a value is real.
        key_mask: The same of `key`. A position counts where both are True.
        attention_mask: Bool tensor `(batch, [target_time,] source_time)`, True where a query may
            attend to a value; one without the batch is for all sources.
        return_attention_scores: Python bool. True to return the weights too.
        training: Python bool. True to apply dropout.
        use_causal_mask: Python bool. True to let query i attend to positions up to i.
        mask: The value mask; or the list [query_mask, value_mask(, key_mask)].

    Keras fills in `query_mask`, `value_mask` and `key_mask` that the inputs carry, of an
    `Embedding(mask_zero=True)` for example; an explicit mask wins over the one that an input
    carries. The mask of the query goes on with the context.

    Output:
        The context `(batch, [target_time,] context_units)`; with `return_attention_scores=True` the
        pair (context, weights), the weights float32 `(batch, [target_time,] source_time)`, of a
        grid `(batch, [target_time,] height, width)`. Without a real position weights and context
        are zero.

    Arguments that are not as documented, and masks that do not fit, raise ValueError; so does a
    mask by two names.
    """

    exportable = True  # True if it needs only the source sentence
    has_weights = True  # False if its weights belong to no positions
    marginal = False  # True if only a `HardDecoder` can train it, which sums over all positions

    def __init__(self, **kwargs):
        super().__init__(autocast=True, **kwargs)

    def context_units(self, values_units):
        """Width of the context over values of this width."""
        return values_units

    def prepare(self, memory):
        """Keys: the values, projected once per source; see `ProjectedMemory`."""
        return ()

    def prepare_pair(self, memory, key_memory):
        """`prepare` with the keys from `key_memory` and the values from `memory`."""
        return self.prepare(key_memory)

    def attend(self, query, prepared, state, training=None):
        """Compute one step: an `Attended`; n is the beam of a search, or absent.

        `query` is `(batch, [n,] query_units)`, `prepared` a `ProjectedMemory` without the axis n,
        but for its mask `(batch, [n,] source_time)`, `state` that of the step before, with the axis
        n.
        """
        raise NotImplementedError

    def __call__(
        self,
        query,
        value=None,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        *flags,
        mask=None,
        values=None,
        **kwargs,
    ):
        masks = (query_mask, value_mask, key_mask, attention_mask)
        (query, value, key), masks = keras_arguments(query, value, key, masks, mask, values)
        if not self.built:
            widths = [tensor.shape[-1] for tensor in (value, key) if tensor is not None]
            shapes = [(*value.shape[:1], None, width) for width in dict.fromkeys(widths)]
            with outside_graphs():
                self.build(tuple(query.shape), *shapes)
        kwargs |= dict(zip(FLAGS, flags, strict=False))
        check_masks(query, value, masks, kwargs.get("use_causal_mask"))
        keys = {} if key is None else {"key": key}
        return super().__call__(query, value, **keys, **masks, **kwargs)

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        masks = named(query_mask, value_mask, key_mask, attention_mask)
        check_masks(query, value, masks, use_causal_mask)
        grid = ops.shape(value)[1:-1]
        # Keras casts only floats: integers would round the weights to 0
        query, value, key = (
            None if tensor is None else ops.cast(tensor, self.compute_dtype)
            for tensor in (query, value, key)
        )
        if len(query.shape) == 2:
            mask, steps_mask = mask_of_source(value_mask, key_mask, attention_mask), None
        else:
            mask = mask_of_source(value_mask, key_mask)
            steps_mask = mask_of_queries(attention_mask, use_causal_mask, query, grid)
        prepared = self._prepared(
            flatten_grid(value), None if key is None else flatten_grid(key), mask
        )
        if steps_mask is not None:
            # (batch, 1, source_time), (batch or 1, target_time or 1, source_time)
            source_mask = ops.expand_dims(prepared.memory.mask, axis=1)
            shape = (*ops.shape(query)[:2], ops.shape(source_mask)[-1])
            steps_mask = ops.broadcast_to(ops.logical_and(source_mask, steps_mask), shape)
        context, weights = self._attended(query, steps_mask, prepared, training)
        if query_mask is not None:
            context = ops.where(ops.expand_dims(bool_mask(query_mask), axis=-1), context, 0)
        if len(grid) > 1:
            weights = ops.reshape(weights, (*ops.shape(weights)[:-1], *grid))
        return (context, weights) if return_attention_scores else context

    def _prepared(self, values, keys, mask):
        """`ProjectedMemory` of values and keys `(batch, source_time, units)`, zero at padding."""
        memory = new_memory(values, mask)
        if keys is None:
            return ProjectedMemory(memory, self.prepare(memory))
        key_memory = memory._replace(values=zero_padding(keys, memory.mask))
        return ProjectedMemory(memory, self.prepare_pair(memory, key_memory))

    def _attended(self, query, mask, prepared, training):
        """Context and weights of all queries; a loop only if a step depends on the one before."""
        state = self.initial_state(prepared.memory)
        alone = len(query.shape) == 2
        if alone and tree.flatten(state):
            return self.attend(query, prepared, state, training=training)[:2]
        if not tree.flatten(state):
            # a time axis for a single query: its score then keeps the tanh
            query = ops.expand_dims(query, axis=1) if alone else query
            prepared = masked(prepared, mask)
            attended = self.attend(query, prepared, state, training=training)[:2]
            return [ops.squeeze(x, axis=1) for x in attended] if alone else attended

        def step(state, inputs):
            query, mask = inputs
            step_prepared = masked(prepared, mask)
            context, weights, _, state = self.attend(query, step_prepared, state, training=training)
            return (context, weights), state

        values = prepared.memory.values
        batch, source_time, units = ops.shape(values)
        template = (
            ops.zeros((batch, self.context_units(units)), values.dtype),
            ops.zeros((batch, source_time), "float32"),
        )
        # -> (batch, target_time, context_units), (batch, target_time, source_time)
        return scan(step, state, (query, () if mask is None else mask), template)

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        if value_shape is None:
            query_shape, value_shape = query_shape[:2]  # of a list of inputs
        return (*query_shape[:-1], self.context_units(value_shape[-1]))

    def compute_output_spec(self, *args, **kwargs):
        arguments = inspect.signature(self.call).bind(*args, **kwargs).arguments
        value = arguments["value"]
        shape = self.compute_output_shape(arguments["query"].shape, value.shape)
        context = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not arguments.get("return_attention_scores"):
            return context
        return context, keras.KerasTensor((*shape[:-1], *value.shape[1:-1]), dtype="float32")

    def compute_mask(self, query, mask=None):
        if isinstance(mask, list | tuple):
            mask = mask[0]  # of a list of inputs
        return mask


def new_memory(values, mask=None):
    """`Memory` of values `(batch, source_time, units)`, zero at padding, without their summary."""
    if mask is None:
        mask = ops.ones(ops.shape(values)[:2], dtype="bool")
    else:
        mask = ops.broadcast_to(mask, ops.shape(values)[:2]) if mask.shape[0] == 1 else mask
        values = zero_padding(values, mask)
    return Memory(values, mask, summary=(), last=last_real_value(values, mask), task=())


def zero_padding(values, mask):
    """Values `(batch, source_time, units)`, zero where a mask `(batch, source_time)` is False."""
    return ops.where(ops.expand_dims(mask, axis=-1), values, 0)  # 0 * NaN is NaN


def masked(prepared, mask):
    """The memory with another mask, `(batch, [n,] source_time)`; unchanged without a mask."""
    if mask is None or isinstance(mask, tuple):
        return prepared
    return prepared._replace(memory=prepared.memory._replace(mask=mask))


def weighted_sum(weights, values):
    """c_i = sum_j alpha_ij h_j, `(batch, [n,] source_time)` weights, in the dtype of the values."""
    weights = ops.cast(weights, values.dtype)
    if len(weights.shape) == 3:
        return ops.matmul(weights, values)  # -> (batch, n, values_units)
    # (batch, 1, source_time) -> (batch, 1, values_units) -> (batch, values_units)
    return ops.squeeze(ops.matmul(ops.expand_dims(weights, axis=1), values), axis=1)
