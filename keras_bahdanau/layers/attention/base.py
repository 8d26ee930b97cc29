"""Base classes of the attention layers and of their parts."""

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
    """Base class of scores, windows, normalizers and coverages, and of attention layers.

    A part that depends on earlier steps carries a state. Scores, weights and positions are float32
    under every dtype policy. With `autocast`, Keras casts float inputs to the compute dtype.
    """

    def __init__(self, autocast=False, **kwargs):
        super().__init__(autocast=autocast, **kwargs)

    def build(self, *shapes):
        pass

    def initial_state(self, memory):
        """Return the state before the first step, a structure of tensors `(batch, ...)` or ()."""
        return ()

    def get_config(self):
        return super().get_config()  # with this method, Keras considers the config complete


class Attended(NamedTuple):
    """Result of attention for one query, or for several."""

    context: Any  # (batch, [n,] context_units), c_i
    weights: Any  # float32 (batch, [n,] source_time), alpha_i
    scores: Any  # float32 (batch, [n,] source_time), e_i, before mask and softmax
    state: Any  # the attention's state for the next step: a structure of tensors


class AttentionBase(AttentionPart):
    """Base class of attention layers. Subclasses implement `attend`, and other methods as needed.

    Calls follow `keras.layers.MultiHeadAttention`. The list form of
    `keras.layers.AdditiveAttention`, `layer([query, value])`, works too.

    Call arguments:
        query: Float tensor `(batch, query_units)`, or `(batch, target_time, query_units)`.
        value: Float tensor `(batch, source_time, values_units)`, or a grid
            `(batch, height, width, values_units)`. Can also be passed as `values=`.
        key: Float tensor with the axes of `value`, which the scores compare with the query. If
            None, the scores use `value`.
        query_mask: Bool tensor `(batch, [target_time])`, True where a query is real. The context of
            any other query is zero.
        value_mask: Bool tensor `(batch, source_time)`, True where a value is real.
        key_mask: Bool tensor `(batch, source_time)`, True where a key is real. A position is used
            only where both masks are True.
        attention_mask: Bool tensor `(batch, [target_time,] source_time)`, True where a query may
            attend to a value. A mask without the batch axis applies to all sources.
        return_attention_scores: Python bool. True to also return the weights.
        training: Python bool. True to apply dropout.
        use_causal_mask: Python bool. True to let query i attend only to positions up to i.
        mask: The value mask, or the list [query_mask, value_mask(, key_mask)].

    Keras fills in `query_mask`, `value_mask` and `key_mask` from the masks that the inputs carry,
    for example from an `Embedding(mask_zero=True)`. Explicit masks take precedence. The context
    carries the mask of the query.

    Output:
        The context `(batch, [target_time,] context_units)`. With `return_attention_scores=True`,
        the pair (context, weights), where the weights are float32
        `(batch, [target_time,] source_time)`, or `(batch, [target_time,] height, width)` for a
        grid. Weights and context are zero if a row has no real position.

    Raises ValueError if an argument is invalid, if a mask has the wrong shape, or if the same mask
    is passed under two names.
    """

    exportable = True  # True if it needs nothing but the source
    has_weights = True  # False if its weights do not refer to source positions
    marginal = False  # True if only a `HardDecoder`, which sums over all positions, can train it

    def __init__(self, **kwargs):
        super().__init__(autocast=True, **kwargs)

    def context_units(self, values_units):
        """Return the width of the context for values of this width."""
        return values_units

    def prepare(self, memory):
        """Return the keys, projected from the values once per source: see `ProjectedMemory`."""
        return ()

    def prepare_pair(self, memory, key_memory):
        """Return the keys like `prepare`, but from separate memories for keys and values."""
        return self.prepare(key_memory)

    def attend(self, query, prepared, state, training=None):
        """Compute one step and return an `Attended`.

        The optional axis n is the beam of a search. `query` is `(batch, [n,] query_units)`.
        `prepared` is a `ProjectedMemory`, in which only the mask, `(batch, [n,] source_time)`, may
        have the axis n. `state` is the state after the previous step, with the axis n if present.
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
        # Keras casts only floats: with integer values, the weights would be rounded to 0
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
        """Return a `ProjectedMemory` of values and keys `(batch, source_time, units)`."""
        memory = new_memory(values, mask)
        if keys is None:
            return ProjectedMemory(memory, self.prepare(memory))
        key_memory = memory._replace(values=zero_padding(keys, memory.mask))
        return ProjectedMemory(memory, self.prepare_pair(memory, key_memory))

    def _attended(self, query, mask, prepared, training):
        """Return context and weights for all queries; loops only if the attention has a state."""
        state = self.initial_state(prepared.memory)
        alone = len(query.shape) == 2
        if alone and tree.flatten(state):
            return self.attend(query, prepared, state, training=training)[:2]
        if not tree.flatten(state):
            # with a time axis, the score of a single query keeps the tanh for its gradient
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
            query_shape, value_shape = query_shape[:2]  # shapes for a list of inputs
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
            mask = mask[0]  # masks for a list of inputs
        return mask


def new_memory(values, mask=None):
    """Return a `Memory`, without a summary, for values `(batch, source_time, units)`.

    The padding of the values becomes zero.
    """
    if mask is None:
        mask = ops.ones(ops.shape(values)[:2], dtype="bool")
    else:
        mask = ops.broadcast_to(mask, ops.shape(values)[:2]) if mask.shape[0] == 1 else mask
        values = zero_padding(values, mask)
    return Memory(values, mask, summary=(), last=last_real_value(values, mask), task=())


def zero_padding(values, mask):
    """Set `values` `(batch, time, units)` to zero where `mask` `(batch, time)` is False."""
    return ops.where(ops.expand_dims(mask, axis=-1), values, 0)  # 0 * NaN is NaN


def masked(prepared, mask):
    """Replace the mask of the memory by `mask` `(batch, [n,] source_time)`, if there is one."""
    if mask is None or isinstance(mask, tuple):
        return prepared
    return prepared._replace(memory=prepared.memory._replace(mask=mask))


def weighted_sum(weights, values):
    """Return c_i = sum_j alpha_ij h_j in the dtype of the values.

    The weights alpha are `(batch, [n,] source_time)`, the values h `(batch, source_time, units)`.
    """
    weights = ops.cast(weights, values.dtype)
    if len(weights.shape) == 3:
        return ops.matmul(weights, values)  # -> (batch, n, values_units)
    # (batch, 1, source_time) -> (batch, 1, values_units) -> (batch, values_units)
    return ops.squeeze(ops.matmul(ops.expand_dims(weights, axis=1), values), axis=1)
