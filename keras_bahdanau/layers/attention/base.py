"""Bases of the attentions and of their parts."""

from typing import Any, NamedTuple

import keras
from keras import ops, tree

from keras_bahdanau.layers.memory import Memory, ProjectedMemory, last_value
from keras_bahdanau.layers.recurrence import scan


class AttentionPart(keras.layers.Layer):
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
        return super().get_config()  # its presence marks the config as complete for Keras


class Attended(NamedTuple):
    """Result of one query, or of many."""

    context: Any  # (batch, [n,] context_units), c_i
    weights: Any  # float32 (batch, [n,] source_time), alpha_i
    scores: Any  # float32 (batch, [n,] source_time), e_i, before mask and softmax
    state: Any  # of the attention for the next step: a structure of tensors


class AttentionBase(AttentionPart):
    """Base of all attentions; a subclass writes `attend`, and the other methods as needed.

    Call arguments:
        query: Float tensor `(batch, query_units)`, or `(batch, target_time, query_units)`.
        values: Float tensor `(batch, source_time, values_units)`.
        mask: Bool tensor `(batch, source_time)`, True where a value is real, or None where all are.
            The implicit mask of Keras is not read.
        return_attention_scores: Python bool. True to return the weights too.
        training: Python bool. True to apply dropout.

    Output:
        The context `(batch, [target_time,] context_units)`; with `return_attention_scores=True` the
        pair (context, weights), the weights float32 `(batch, [target_time,] source_time)`. A
        sentence of padding alone gets all-zero weights and context.

    An argument that is not as documented, and a mask that does not fit the values, raise
    ValueError.
    """

    exportable = True  # True if it needs nothing but the source sentence
    has_weights = True  # False if its weights point at no position
    marginal = False  # True if only a `HardDecoder` can train it, which sums over all positions

    def __init__(self, **kwargs):
        super().__init__(autocast=True, **kwargs)

    def context_units(self, values_units):
        """Width of the context over values of this width."""
        return values_units

    def prepare(self, memory):
        """Keys: the values, projected once per source; see `ProjectedMemory`."""
        return ()

    def attend(self, query, prepared, state, training=None):
        """Compute one step: an `Attended`; n is the beam of a search, or absent.

        `query` is `(batch, [n,] query_units)`, `prepared` a `ProjectedMemory` without the axis n,
        `state` that of the step before, with the axis n.
        """
        raise NotImplementedError

    def call(self, query, values, mask=None, return_attention_scores=False, training=None):
        # Keras casts floats alone: integers would round the weights to 0
        query, values = (ops.cast(tensor, self.compute_dtype) for tensor in (query, values))
        if mask is None:
            mask = ops.ones(ops.shape(values)[:2], dtype="bool")
        else:
            mask = ops.cast(ops.convert_to_tensor(mask), "bool")
            _check_mask(mask, values)
            values = ops.where(ops.expand_dims(mask, axis=-1), values, 0)  # 0 * NaN is NaN
        memory = Memory(values, mask, summary=(), last=last_value(values, mask), task=())
        prepared = ProjectedMemory(memory, self.prepare(memory))
        state = self.initial_state(memory)
        if len(query.shape) == 3 and tree.flatten(state):
            attended = self._along_time(query, prepared, state, training)
        else:
            attended = self.attend(query, prepared, state, training=training)
        context, weights, *_ = attended
        return (context, weights) if return_attention_scores else context

    def _along_time(self, query, prepared, state, training):
        """All queries in a loop, where a step depends on the one before."""

        def step(state, query):
            context, weights, _, state = self.attend(query, prepared, state, training=training)
            return (context, weights), state

        values = prepared.memory.values
        batch, source_time, units = ops.shape(values)
        template = (
            ops.zeros((batch, self.context_units(units)), values.dtype),
            ops.zeros((batch, source_time), "float32"),
        )
        # -> (batch, target_time, context_units), (batch, target_time, source_time)
        return scan(step, state, query, template)

    def compute_output_shape(self, query_shape, values_shape):
        return (*query_shape[:-1], self.context_units(values_shape[-1]))

    def compute_output_spec(
        self, query, values, mask=None, return_attention_scores=False, training=None
    ):
        if hasattr(mask, "shape"):
            _check_mask(mask, values)
        shape = self.compute_output_shape(query.shape, values.shape)
        context = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return context
        return context, keras.KerasTensor((*shape[:-1], values.shape[1]), dtype="float32")

    def compute_mask(self, query, mask=None):
        return None  # `mask` is about the values: it must not go on with the context


def _check_mask(mask, values):
    """Raise ValueError unless a mask has the first two axes of the values; one row is for all."""
    shape, (batch, source_time) = tuple(mask.shape), tuple(values.shape[:2])
    fits = len(shape) == 2 and _may_equal(shape[1], source_time)
    if not (fits and (shape[0] == 1 or _may_equal(shape[0], batch))):
        raise ValueError(
            "`mask` must be (batch, source_time), True where a value is real. Received: "
            f"mask.shape={shape} with values of shape {tuple(values.shape)}. Give one mask for "
            "all queries."
        )


def _may_equal(size, expected):
    """True for equal sizes of an axis, and where a graph does not know one of them."""
    return None in (size, expected) or size == expected


def weighted_sum(weights, values):
    """c_i = sum_j alpha_ij h_j, `(batch, [n,] source_time)` weights, in the dtype of the values."""
    weights = ops.cast(weights, values.dtype)
    if len(weights.shape) == 3:
        return ops.matmul(weights, values)  # -> (batch, n, values_units)
    # (batch, 1, source_time) -> (batch, 1, values_units) -> (batch, values_units)
    return ops.squeeze(ops.matmul(ops.expand_dims(weights, axis=1), values), axis=1)
