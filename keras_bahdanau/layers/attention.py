"""Attention: scores, mask, softmax, context."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers import checks
from keras_bahdanau.layers.scores import AdditiveScore


class Memory(NamedTuple):
    """What a decoder may look at: one encoded source sentence per row.

    Attributes:
        values: Float tensor `(batch, source_time, values_units)`, the annotations h_j.
        mask: Bool tensor `(batch, source_time)`, True where a token is real.
        summary: Float tensor `(batch, summary_units)`, what the first decoder state is made of.
        keys: Float tensor `(batch, source_time, units)`: the values as the score wants them,
            projected once per sentence (`BahdanauAttention.prepare`), or None.
    """

    values: Any
    mask: Any
    summary: Any = None
    keys: Any = None


def masked_softmax(scores, mask=None):
    """Softmax over the last axis, in float32, that gives masked places exactly 0.

    Args:
        scores: Float tensor `(..., source_time)`.
        mask: Bool tensor that broadcasts to `scores`, True where a place counts, or None.

    Returns:
        Float32 tensor of the shape of `scores`. Rows sum to 1; a row without
        any real place is all zero.
    """
    scores = ops.cast(scores, "float32")
    if mask is None:
        return _softmax(scores)
    real = ops.cast(mask, "float32")
    return _softmax(scores + (1.0 - real) * -1e9) * real


def _softmax(scores):
    """`ops.softmax` without its warning, which a sentence of one token would raise."""
    return ops.exp(ops.log_softmax(scores, axis=-1))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BahdanauAttention(keras.layers.Layer):
    """Additive attention with learned projections.

    e_ij     = v^T tanh(W s_{i-1} + U h_j)
    alpha_ij = exp(e_ij) / sum_k exp(e_ik)
    c_i      = sum_j alpha_ij h_j               (Bahdanau et al. 2015, eq. 5, 6 and appendix A.1.2)

    `keras.layers.AdditiveAttention` has neither W nor U. Here they are, so the
    layer can stand in any Keras script:

    ```python
    attention = keras_bahdanau.layers.BahdanauAttention(256)
    context, weights = attention(query, values, mask=mask, return_attention_scores=True)
    ```

    Args:
        units: Positive integer. Width of the space in which query and values
            meet (the paper's n').
        dropout: Float in [0, 1). Share of the weights dropped in training.

    Call arguments:
        query: Float tensor `(batch, units)`, or `(batch, target_time, units)`
            for all steps at once.
        values: Float tensor `(batch, source_time, values_units)`.
        mask: Bool tensor `(batch, source_time)`, True where a value is real,
            or None where all are.
        return_attention_scores: Python bool. Whether the weights come too.
        training: Python bool. Whether dropout is applied.

    Output:
        The context `(batch, values_units)`, or `(batch, target_time, values_units)`;
        with `return_attention_scores=True` the pair (context, weights), the
        weights in float32, `(batch, source_time)` or
        `(batch, target_time, source_time)`. A sentence of padding alone gets
        all-zero weights and context.

    Raises:
        ValueError: If `units` is not a positive integer, `dropout` not in [0, 1).
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the score", units)
        self.dropout = checks.share("dropout", "the share of weights dropped", dropout)
        self.score = AdditiveScore(units, dtype=self.dtype_policy, name="score")
        self.weights_dropout = keras.layers.Dropout(
            dropout, dtype="float32", name="weights_dropout"
        )

    def build(self, query_shape, values_shape):
        self.score.build(query_shape, values_shape)

    def prepare(self, memory):
        """The `Memory` with its `keys` filled in: the part that no query changes."""
        return memory._replace(keys=self.score.project(memory.values))

    def attend(self, query, memory, training=None):
        """Context and weights of a query over a prepared `Memory`."""
        scores = self.score.compare(query, memory.keys)
        mask = memory.mask
        if mask is not None and len(scores.shape) == 3:
            mask = ops.expand_dims(mask, axis=1)
        weights = self.weights_dropout(masked_softmax(scores, mask), training=training)
        return weighted_sum(weights, memory.values), weights

    def call(self, query, values, mask=None, return_attention_scores=False, training=None):
        memory = self.prepare(Memory(values, mask))
        context, weights = self.attend(query, memory, training=training)
        return (context, weights) if return_attention_scores else context

    def compute_output_shape(self, query_shape, values_shape):
        return (*query_shape[:-1], values_shape[-1])

    def compute_output_spec(
        self, query, values, mask=None, return_attention_scores=False, training=None
    ):
        shape = self.compute_output_shape(query.shape, values.shape)
        context = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return context
        return context, keras.KerasTensor((*shape[:-1], values.shape[1]), dtype="float32")

    def compute_mask(self, query, mask=None):
        return None  # `mask` is about the values: it must not go on with the context

    def get_config(self):
        return {**super().get_config(), "units": self.units, "dropout": self.dropout}


def weighted_sum(weights, values):
    """c_i = sum_j alpha_ij h_j, in the dtype of the values.

    Args:
        weights: `(batch, source_time)` or `(batch, target_time, source_time)`.
        values: `(batch, source_time, values_units)`.
    """
    weights = ops.cast(weights, values.dtype)
    if len(weights.shape) == 3:
        return ops.matmul(weights, values)
    return ops.squeeze(ops.matmul(ops.expand_dims(weights, axis=1), values), axis=1)


def masked_mean(values, mask):
    """The mean of the real values, zero for a sentence that has none.

    Args:
        values: `(batch, source_time, values_units)`.
        mask: Bool `(batch, source_time)`, True where a value is real.
    """
    real = ops.expand_dims(ops.cast(mask, values.dtype), axis=-1)
    count = ops.maximum(ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True), 1)
    return ops.sum(values * real, axis=1) / ops.cast(count, values.dtype)
