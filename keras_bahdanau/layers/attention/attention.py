"""Attention layers that combine a score, a window, a normalizer and a coverage."""

from typing import Any, NamedTuple

import keras

from keras_bahdanau.layers.attention.base import Attended, AttentionBase, weighted_sum
from keras_bahdanau.layers.recurrence import StepDropout
from keras_bahdanau.layers.registry import COVERAGES, NORMALIZERS, SCORES, WINDOWS
from keras_bahdanau.layers.scores.additive import AdditiveScore
from keras_bahdanau.layers.scores.score import check_shapes, pop_dense_arguments
from keras_bahdanau.settings import checks


class AttentionState(NamedTuple):
    """State of an attention between steps: one structure per part, () for a part without state."""

    window: Any
    normalizer: Any
    coverage: Any


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Attention(AttentionBase):
    """Attention made of a score, a window, a normalizer and a coverage, all of them replaceable.

    e_ij     = score(s_{i-1}, h_j)              `score`: how well query and key match
    alpha_ij = softmax_j(e_ij)                  `normalizer`, over the positions of the `window`
    c_i      = sum_j alpha_ij h_j               (Bahdanau et al. 2015, eq. 5 and 6)

    ```python
    attention = keras_bahdanau.layers.Attention("general", window="local-p")
    attention = keras_bahdanau.layers.Attention("additive", units=256, coverage="sum")
    ```

    Args:
        score: A name in `layers.SCORES`, or a layer such as `AdditiveScore(256)`.
        units: Positive integer. Width of the score if `score` is a name. Scores that have no width
            ignore it.
        window: A name in `layers.WINDOWS`, or a layer. Selects the positions that a query may
            attend to.
        normalizer: A name in `layers.NORMALIZERS`, or a layer. Turns scores into weights.
        coverage: A name in `layers.COVERAGES`, a layer, or None. Records how much attention each
            position has received.
        dropout: Float in [0, 1). Fraction of the weights dropped in training.
        **kwargs: `use_bias`, initializers, regularizers and constraints of the projections, if
            `score` is the name of a score with projections: `kernel_initializer` and so on, as in
            `keras.layers.Dense`.

    For call arguments, output and errors, see `AttentionBase`.
    """

    def __init__(
        self,
        score,
        units=256,
        window="everywhere",
        normalizer="softmax",
        coverage=None,
        dropout=0.0,
        **kwargs,
    ):
        projections = _pop_projections(score, kwargs)
        super().__init__(**kwargs)
        policy = {"dtype": self.dtype_policy}
        self.dropout = checks.rate("dropout", "the dropout rate of the weights", dropout)
        self.score = SCORES.get(score, units=units, name="score", **projections, **policy)
        self.window = WINDOWS.get(window, name="window", **policy)
        self.normalizer = NORMALIZERS.get(normalizer, name="normalizer", **policy)
        self.coverage = COVERAGES.get(coverage, name="coverage", **policy)
        self.weights_dropout = StepDropout(dropout, dtype="float32", name="weights_dropout")

    def build(self, query_shape, values_shape, key_shape=None):
        key_shape = key_shape or values_shape
        self.score.build(query_shape, key_shape)
        check_shapes(self.score, query_shape, key_shape)
        self.window.build(query_shape)
        self.coverage.build((None, None, self.score.key_units))
        self.normalizer.build()

    def prepare(self, memory):
        return self.score.project(memory.values)

    def initial_state(self, memory):
        parts = (self.window, self.normalizer, self.coverage)
        return AttentionState(*(part.initial_state(memory) for part in parts))

    def attend(self, query, prepared, state, training=None):
        memory = prepared.memory
        # keys: (batch, [n,] source_time, key_units), with the axis n only if coverage adds to them
        keys = self.coverage.add_to(prepared.keys, state.coverage)
        scores = self.score.compare(query, keys)  # -> (batch, [n,] source_time), e_ij
        mask, gaussian, window = self.window.restrict(query, memory.mask, state.window)
        weights, normalizer = self.normalizer.align(
            scores, mask, state.normalizer, training=training
        )
        weights = weights * gaussian  # alpha_ij: (batch, [n,] source_time)
        # losses and copying use the weights before dropout
        dropped = self.weights_dropout(weights, training=training)
        coverage = self.coverage.remember(state.coverage, dropped)
        window = self.window.remember(window, dropped)
        return Attended(
            weighted_sum(dropped, memory.values),  # c_i: (batch, [n,] values_units)
            weights,
            scores,
            AttentionState(window, normalizer, coverage),
        )

    def get_config(self):
        parts = {
            name: keras.saving.serialize_keras_object(getattr(self, name))
            for name in ("score", "window", "normalizer", "coverage")
        }
        return {**super().get_config(), **parts, "dropout": self.dropout}


def _pop_projections(score, arguments):
    """Remove the arguments for a score's projections from an attention layer's arguments."""
    projections = pop_dense_arguments(arguments)
    if "use_bias" in arguments:
        projections["use_bias"] = arguments.pop("use_bias")
    if projections and not isinstance(score, str):
        raise ValueError(
            f"A `score` layer takes its own {', '.join(projections)}. Received: "
            f"score={type(score).__name__}(...) with them. Pass them to that layer."
        )
    return projections


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BahdanauAttention(Attention):
    """Additive attention with learned projections.

    e_ij     = v^T tanh(W s_{i-1} + U h_j)
    alpha_ij = exp(e_ij) / sum_k exp(e_ik)
    c_i      = sum_j alpha_ij h_j               (Bahdanau et al. 2015, eq. 5, 6 and appendix A.1.2)

    `keras.layers.AdditiveAttention` has neither W nor U. This layer works in any Keras model:

    ```python
    attention = keras_bahdanau.layers.BahdanauAttention(256)
    context, weights = attention(query, values, value_mask=mask, return_attention_scores=True)
    ```

    Args:
        units: Positive integer. Width of W s_{i-1} and U h_j, the paper's n'.
        dropout: Float in [0, 1). Fraction of the weights dropped in training.
        use_bias: Bool. True to add a bias to U h_j.
        **kwargs: `window`, `normalizer` and `coverage` as in `Attention`; `kernel_initializer` and
            other initializers, regularizers and constraints as in `AdditiveScore`.

    Call arguments:
        query: Float tensor `(batch, query_units)` or `(batch, target_time, query_units)`, s_{i-1}.
        value: Float tensor `(batch, source_time, values_units)`, h_j.
        key: Float tensor `(batch, source_time, key_units)` that the scores compare with the query,
            or None to compare `value`.
        query_mask: Bool tensor `(batch, [target_time])`, True where a query is real.
        value_mask: Bool tensor `(batch, source_time)`, True where a value is real. Masks carried by
            the inputs, for example from `Embedding(mask_zero=True)`, also apply.
        key_mask: Bool tensor `(batch, source_time)`, True where a key is real.
        attention_mask: Bool tensor `(batch, [target_time,] source_time)`, True where a query may
            attend to a value.
        return_attention_scores: Python bool. True to also return the weights.
        training: Python bool. True to apply dropout.
        use_causal_mask: Python bool. True to let query i attend only to positions up to i.

    Output:
        The context c_i `(batch, [target_time,] values_units)`. With `return_attention_scores=True`,
        the pair (context, weights), where the weights are float32
        `(batch, [target_time,] source_time)`. Both are zero if a row has no real position.

    Raises:
        ValueError: If an argument is invalid, or a mask has the wrong shape.
    """

    def __init__(self, units, dropout=0.0, use_bias=False, **kwargs):
        projections = {"use_bias": use_bias, **pop_dense_arguments(kwargs)}
        score = AdditiveScore(units, dtype=kwargs.get("dtype"), name="score", **projections)
        super().__init__(score, dropout=dropout, **kwargs)
        self.units = units

    def get_config(self):
        config = super().get_config()
        del config["score"]
        projections = {"use_bias": self.score.use_bias, **self.score.dense_arguments}
        return {**config, "units": self.units, **projections}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LuongAttention(Attention):
    """Multiplicative attention, global or local.

    e_ij = s_i^T W h_j      (Luong et al. 2015, section 3.1; softmax: eq. 7; windows: section 3.2)

    ```python
    attention = keras_bahdanau.layers.LuongAttention(window="local-p")
    ```

    `score` is "general" by default, and may be any name in `layers.SCORES`. The other arguments are
    as in `Attention`. For calls, see `AttentionBase`.
    """

    def __init__(self, score="general", **kwargs):
        super().__init__(score, **kwargs)
