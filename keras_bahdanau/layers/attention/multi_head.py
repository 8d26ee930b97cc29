"""Several attentions side by side."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import Attended, AttentionBase
from keras_bahdanau.layers.registry import from_config, resolve_layer
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MultiHeadAttention(AttentionBase):
    """`heads` copies of an attention, each with its own projections of query, keys and values.

    alpha^n_ij = softmax_j(score^n(Q^n s_{i-1}, K^n h_j))
    c_i        = [sum_j alpha^1_ij V^1 h_j; ...; sum_j alpha^N_ij V^N h_j]
                                                     (Vaswani et al. 2017, section 3.2.2)

    ```python
    attention = keras_bahdanau.layers.MultiHeadAttention(
        keras_bahdanau.layers.BahdanauAttention(64), heads=4
    )
    ```

    Args:
        attention: The attention that each head copies; it is not used itself.
        heads: Positive integer. Number of heads.

    Call arguments and output: see `AttentionBase`. Each head, with its Q, K and V, is
    values_units / heads wide, rounded down: the context is as wide as the values, or a little
    narrower. Weights and scores are the mean over the heads.

    Raises:
        ValueError: If `heads` is not a positive integer.
        TypeError: If `attention` is not a layer.
    """

    def __init__(self, attention, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads = checks.positive_integer("heads", "the number of heads", heads)
        self._template = keras.saving.serialize_keras_object(resolve_layer(attention))
        self.attentions = [self._copy(f"head_{index}") for index in range(heads)]
        if not self.has_weights:
            raise ValueError(
                "Several heads need an attention that learns where to look. Received: "
                f"{type(self.attentions[0]).__name__}(...). Give another, or no heads."
            )
        self.queries, self.keys, self.values = [], [], []

    def _copy(self, name):
        attention = from_config(self._template)
        attention.name = name
        return attention

    @property
    def exportable(self):
        return self.attentions[0].exportable

    @property
    def has_weights(self):
        return self.attentions[0].has_weights

    @property
    def marginal(self):
        return self.attentions[0].marginal

    def build(self, query_shape, values_shape):
        width = self._head_units(values_shape[-1])
        self.queries = self._projections("queries", query_shape, width)  # Q
        self.keys = self._projections("keys", values_shape, width)  # K
        self.values = self._projections("values", values_shape, width)  # V
        for attention in self.attentions:
            attention.build((None, width), (None, None, width))

    def _projections(self, name, shape, width):
        """One projection a head."""
        projections = []
        for index in range(self.heads):
            projection = keras.layers.Dense(
                width, use_bias=False, dtype=self.dtype_policy, name=f"{name}_{index}"
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
        """Keys of each head's attention, and V h_j."""
        return tuple(
            (
                # of K h_j: (batch, source_time, head_units)
                attention.prepare(memory._replace(values=keys(memory.values))),
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
        return {**super().get_config(), "attention": self._template, "heads": self.heads}
