"""Attention layers made of others: several heads, or the source and the decoder's past."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import Attended, AttentionBase
from keras_bahdanau.layers.attention.normalizers import masked_softmax
from keras_bahdanau.layers.registry import from_config, resolve_layer
from keras_bahdanau.layers.scores.additive import AdditiveScore
from keras_bahdanau.layers.scores.score import pop_dense_arguments
from keras_bahdanau.settings import checks


class ComposedAttention(AttentionBase):
    """Base class of layers that wrap attention layers, with the capabilities of `inner`."""

    @property
    def exportable(self):
        return self.inner.exportable

    @property
    def has_weights(self):
        return self.inner.has_weights

    @property
    def marginal(self):
        return self.inner.marginal


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MultiHeadAttention(ComposedAttention):
    """Multi-head attention: copies of an attention layer, each with its own projections.

    alpha^n_ij = softmax_j(score^n(Q^n s_{i-1}, K^n h_j))
    c_i        = [sum_j alpha^1_ij V^1 h_j; ...; sum_j alpha^N_ij V^N h_j]
                                                     (Vaswani et al. 2017, section 3.2.2)

    ```python
    attention = keras_bahdanau.layers.MultiHeadAttention(
        keras_bahdanau.layers.BahdanauAttention(64), heads=4
    )
    ```

    `heads` is the number of heads. Each head is a copy of the layer `attention` and has its own Q,
    K and V. Their width is values_units / heads, rounded down, so the context can be slightly
    narrower than the values. Weights and scores are the mean over the heads. `use_bias` and the
    initializers, regularizers and constraints of Q, K and V are as in `keras.layers.Dense`. Raises
    ValueError unless `heads` is a positive integer and the attention has weights, and TypeError if
    `attention` is not a layer. For calls, see `AttentionBase`.
    """

    def __init__(self, attention, heads, use_bias=False, **kwargs):
        self.projection_arguments = {"use_bias": bool(use_bias), **pop_dense_arguments(kwargs)}
        super().__init__(**kwargs)
        self.heads = checks.positive_integer("heads", "the number of heads", heads)
        self._template = keras.saving.serialize_keras_object(resolve_layer(attention))
        self.attentions = [self._copy(f"head_{index}") for index in range(heads)]
        if not self.has_weights:
            raise ValueError(
                "MultiHeadAttention needs an attention layer with weights. Received: "
                f"{type(self.inner).__name__}(...). Use another attention, or heads=1."
            )
        self.queries, self.keys, self.values = [], [], []

    def _copy(self, name):
        attention = from_config(self._template)
        attention.name = name
        return attention

    @property
    def inner(self):
        return self.attentions[0]

    def build(self, query_shape, values_shape, key_shape=None):
        width = self._head_units(values_shape[-1])
        self.queries = self._projections("queries", query_shape, width)  # Q
        self.keys = self._projections("keys", key_shape or values_shape, width)  # K
        self.values = self._projections("values", values_shape, width)  # V
        for attention in self.attentions:
            attention.build((None, width), (None, None, width))

    def _projections(self, name, shape, width):
        """Return one projection per head."""
        projections = []
        for index in range(self.heads):
            projection = keras.layers.Dense(
                width,
                dtype=self.dtype_policy,
                name=f"{name}_{index}",
                **self.projection_arguments,
            )
            projection.build(shape)
            projections.append(projection)
        return projections

    def _head_units(self, values_units):
        return max(1, values_units // self.heads)

    def context_units(self, values_units):
        width = self._head_units(values_units)
        return sum(attention.context_units(width) for attention in self.attentions)

    def prepare(self, memory):
        return self.prepare_pair(memory, memory)

    def prepare_pair(self, memory, key_memory):
        """Return the keys of each head's attention, and V h_j."""
        return tuple(
            (
                # of K h_j: (batch, source_time, head_units)
                attention.prepare(key_memory._replace(values=keys(key_memory.values))),
                values(memory.values),  # V h_j: (batch, source_time, head_units)
            )
            for attention, keys, values in zip(self.attentions, self.keys, self.values, strict=True)
        )

    def initial_state(self, memory):
        return tuple(attention.initial_state(memory) for attention in self.attentions)

    def attend(self, query, prepared, state, training=None):
        attended = []
        for attention, projection, (keys, values), head_state in zip(
            self.attentions, self.queries, prepared.keys, state, strict=True
        ):
            head_prepared = prepared._replace(
                keys=keys, memory=prepared.memory._replace(values=values)
            )
            # Q^n s: (batch, [n,] query_units) -> (batch, [n,] head_units)
            attended.append(
                attention.attend(projection(query), head_prepared, head_state, training=training)
            )
        return Attended(
            # c_i: heads of (batch, [n,] head_units) -> (batch, [n,] heads * head_units)
            ops.concatenate([head.context for head in attended], axis=-1),
            sum(head.weights for head in attended) / self.heads,
            sum(head.scores for head in attended) / self.heads,
            tuple(head.state for head in attended),
        )

    def get_config(self):
        config = {"attention": self._template, "heads": self.heads, **self.projection_arguments}
        return {**super().get_config(), **config}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PastAttention(ComposedAttention):
    """Attention over the source, combined with attention over the earlier queries.

    d_i  = sum_k beta_ik P q_k,  k < i,  beta_i from additive scores of q_i and q_k
    c'_i = [c_i; d_i]            (the intra-decoder attention of Paulus et al. 2018, section 2.2;
                                  the queries are the decoder's states; P makes them `units` wide)

    The decoder attends to the last `length` queries, which are kept in a buffer of fixed shape. The
    score for these queries is also `units` wide. d_1 is zero. The returned weights and scores are
    those of `attention`, over the source. Raises ValueError unless `length` and `units` are
    positive integers. For calls, see `AttentionBase`.
    """

    def __init__(self, attention, length=64, units=128, **kwargs):
        super().__init__(**kwargs)
        self.attention = resolve_layer(attention)
        self.length = checks.positive_integer("length", "the queries kept", length)
        self.units = checks.positive_integer("units", "the width of the score", units)
        self.score = AdditiveScore(units, dtype=self.dtype_policy, name="score")
        self.projection = keras.layers.Dense(  # P
            units, use_bias=False, dtype=self.dtype_policy, name="projection"
        )

    @property
    def inner(self):
        return self.attention

    def build(self, query_shape, values_shape, key_shape=None):
        self.attention.build(query_shape, values_shape, *([key_shape] if key_shape else []))
        self.score.build(query_shape, (None, self.length, query_shape[-1]))
        self.projection.build(query_shape)

    def context_units(self, values_units):
        return self.attention.context_units(values_units) + self.units

    def prepare(self, memory):
        return self.attention.prepare(memory)

    def prepare_pair(self, memory, key_memory):
        return self.attention.prepare_pair(memory, key_memory)

    def initial_state(self, memory):
        batch = ops.shape(memory.mask)[0]
        dtype = memory.values.dtype
        return (
            self.attention.initial_state(memory),
            ops.zeros((batch, self.length, self.units), dtype),  # P q_k, the values
            ops.zeros((batch, self.length, self.units), dtype),  # the keys of q_k
            ops.zeros((batch, self.length, 1), "float32"),  # 1 where a query has been written
        )

    def attend(self, query, prepared, state, training=None):
        inner, values, keys, written = state
        attended = self.attention.attend(query, prepared, inner, training=training)
        scores = self.score.compare(query, keys)  # -> (batch, [n,] length)
        weights = masked_softmax(scores, ops.greater(written[..., 0], 0))  # beta_i
        # -> (batch, [n,] length, 1)
        weights = ops.expand_dims(ops.cast(weights, values.dtype), axis=-1)
        past = ops.sum(weights * values, axis=-2)  # -> (batch, [n,] units), d_i
        state = (
            attended.state,
            _pushed(values, self.projection(query)),
            _pushed(keys, self.score.project(query)),
            _pushed(written, ops.ones_like(written[..., 0, :])),
        )
        # c'_i: (batch, [n,] context_units + units)
        return attended._replace(
            context=ops.concatenate([attended.context, past], axis=-1), state=state
        )

    def get_config(self):
        return {
            **super().get_config(),
            "attention": keras.saving.serialize_keras_object(self.attention),
            "length": self.length,
            "units": self.units,
        }


def _pushed(buffer, newest):
    """Drop the oldest entry of a buffer `(batch, [n,] length, units)` and append a new one."""
    # (batch, [n,] length - 1, units) and (batch, [n,] 1, units)
    return ops.concatenate([buffer[..., 1:, :], ops.expand_dims(newest, axis=-2)], axis=-2)
