"""Attention pooling: one vector for a whole sequence."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.arguments import (
    bool_mask,
    check_masks,
    flatten_grid,
    lost_mask,
    mask_of_source,
)
from keras_bahdanau.layers.attention.by_name import ATTENTIONS
from keras_bahdanau.layers.memory import last_real_value
from keras_bahdanau.layers.recurrence import outside_graphs
from keras_bahdanau.layers.registry import CompositeLayer
from keras_bahdanau.layers.scores.multiplicative import DotScore, HiddenScore
from keras_bahdanau.layers.scores.score import kernel_arguments, pop_dense_arguments
from keras_bahdanau.settings import checks

QUERIES = ("learned", "last")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AttentionPooling(CompositeLayer):
    """Mean of the steps of a sequence, weighted by attention with a learned query.

    u_t     = tanh(W h_t + b)
    alpha_t = exp(u_t^T u_w) / sum_k exp(u_k^T u_w)
    c       = sum_t alpha_t h_t                             (Yang et al. 2016, eq. 8 to 10)

    ```python
    model = keras.Sequential([
        keras.layers.Embedding(1000, 32, mask_zero=True),
        keras.layers.Bidirectional(keras.layers.LSTM(32, return_sequences=True)),
        keras_bahdanau.layers.AttentionPooling(64),
        keras.layers.Dense(1),
    ])
    ```

    Args:
        units: Positive integer. Width of the learned query u_w and of u_t, or of any other score.
        score: A name in `layers.SCORES`, or a layer. The score above is "additive" with a learned
            query.
        heads: Positive integer. Number of heads: see `MultiHeadAttention`.
        query: "learned", or "last" to use the last real step as the query.
        dropout: Float in [0, 1). Fraction of the weights dropped in training.
        normalizer: A name in `layers.NORMALIZERS`, or a layer.
        return_attention_scores: Python bool. True to also return the weights.
        **kwargs: `kernel_initializer`, `kernel_regularizer` and `kernel_constraint` for the query
            and the projections, and `bias_...`, as in `keras.layers.Dense`; also the arguments of
            any layer, such as `name`.

    Call arguments:
        inputs: Float tensor `(batch, source_time, units)`, or a grid
            `(batch, height, width, units)`.
        mask: Bool tensor `(batch, source_time)`, True where a step is real. Keras fills in the
            mask that the inputs carry. After `TimeDistributed`, this mask may be
            `(batch, source_time, words)`; then a step is real if any of its words is real.
        return_attention_scores: Python bool; overrides the constructor's value.
        training: Python bool.

    Output:
        Float tensor `(batch, units)`, as wide as the inputs; zero for a row without a real step.
        With `return_attention_scores=True`, a pair of this tensor and the float32 weights
        `(batch, source_time)`, or `(batch, height, width)` for a grid.

    Invalid arguments raise ValueError.
    """

    def __init__(
        self,
        units,
        score="additive",
        heads=1,
        query="learned",
        dropout=0.0,
        normalizer="softmax",
        return_attention_scores=False,
        **kwargs,
    ):
        self.dense_arguments = pop_dense_arguments(kwargs)
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the query", units)
        self.query = checks.choice("query", query, QUERIES)
        self.return_attention_scores = bool(return_attention_scores)
        policy = {"dtype": self.dtype_policy}
        arguments = {"score": score, "heads": heads, "dropout": dropout, "normalizer": normalizer}
        self._arguments = keras.saving.serialize_keras_object(arguments)
        projections = self.dense_arguments if isinstance(score, str) else {}
        if score == "additive" and query == "learned":
            score, projections = HiddenScore(**self.dense_arguments, **policy), {}
        self.attention = ATTENTIONS.get(
            score,
            units=units,
            heads=heads,
            dropout=dropout,
            normalizer=normalizer,
            name="attention",
            **projections,
            **policy,
        )

    def build(self, inputs_shape):
        if len(inputs_shape) < 3 or isinstance(inputs_shape[-1], list | tuple):
            raise ValueError(
                "`inputs` of AttentionPooling must be (batch, source_time, units). Received: "
                f"inputs.shape={inputs_shape}. Set return_sequences=True on a recurrent layer."
            )
        width = query_units = inputs_shape[-1]
        with outside_graphs():
            if self.query == "learned":
                is_dot = isinstance(getattr(self.attention, "score", None), DotScore)
                query_units = width if is_dot else self.units
                self.query_vector = self.add_weight(  # u_w
                    shape=(1, query_units), name="query", **kernel_arguments(self.dense_arguments)
                )
            self.attention.build((None, query_units), (None, None, width))

    def __call__(self, inputs, mask=None, **kwargs):
        if isinstance(inputs, list | tuple) and all(hasattr(item, "shape") for item in inputs):
            raise ValueError(
                "`inputs` of AttentionPooling must be one tensor. Received: a list of "
                f"{len(inputs)} tensors. Pass only the first output of a layer with "
                "return_state=True; for a query and values, use BahdanauAttention."
            )
        if mask is None:
            mask = lost_mask(inputs)
        elif hasattr(mask, "shape") and len(mask.shape) < len(inputs.shape):
            check_masks(None, inputs, {"value_mask": mask})
        return super().__call__(inputs, mask=mask, **kwargs)

    def call(self, inputs, mask=None, return_attention_scores=None, training=None):
        if return_attention_scores is None:
            return_attention_scores = self.return_attention_scores
        if mask is not None and len(mask.shape) == len(inputs.shape):
            mask = ops.any(bool_mask(mask), axis=-1)  # a mask for the words of sentences
        return self.attention(
            self._query(inputs, mask),
            inputs,
            value_mask=mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )

    def _query(self, inputs, mask):
        """Return the query `(batch, query_units)`."""
        values = flatten_grid(inputs)
        batch, source_time = ops.shape(values)[:2]
        if self.query == "learned":
            return ops.broadcast_to(self.query_vector, (batch, self.query_vector.shape[-1]))
        real = ops.ones((batch, source_time), "bool") if mask is None else mask_of_source(mask)
        return last_real_value(values, real)

    def compute_output_shape(self, inputs_shape):
        context = (inputs_shape[0], self.attention.context_units(inputs_shape[-1]))
        return (context, tuple(inputs_shape[:-1])) if self.return_attention_scores else context

    def compute_output_spec(self, inputs, mask=None, return_attention_scores=None, training=None):
        if return_attention_scores is None:
            return_attention_scores = self.return_attention_scores
        query = keras.KerasTensor((inputs.shape[0], 1), self.compute_dtype)
        return self.attention.compute_output_spec(
            query, inputs, value_mask=mask, return_attention_scores=return_attention_scores
        )

    def compute_mask(self, inputs, mask=None):
        return None  # no step remains

    def get_config(self):
        config = {
            "units": self.units,
            "query": self.query,
            "return_attention_scores": self.return_attention_scores,
        }
        return {**super().get_config(), **config, **self._arguments, **self.dense_arguments}
