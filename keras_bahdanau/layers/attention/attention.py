"""Attention: scores, window, softmax, context."""

from typing import Any, NamedTuple

import keras

from keras_bahdanau.layers.attention.base import Attended, AttentionBase, weighted_sum
from keras_bahdanau.layers.recurrence import StepDropout
from keras_bahdanau.layers.registry import COVERAGES, NORMALIZERS, SCORES, WINDOWS
from keras_bahdanau.layers.scores.additive import AdditiveScore
from keras_bahdanau.layers.scores.score import check_shapes, pop_dense_arguments
from keras_bahdanau.settings import checks


class AttentionState(NamedTuple):
    """State of an attention between steps: one structure per part, () if it has none."""

    window: Any
    normalizer: Any
    coverage: Any


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Attention(AttentionBase):
    """A score, a window, a normalizer and a coverage, each exchangeable.

    e_ij     = score(s_{i-1}, h_j)              `score`: how well they match
    alpha_ij = softmax_j(e_ij)                  `normalizer`, over the positions of the `window`
    c_i      = sum_j alpha_ij h_j               (Bahdanau et al. 2015, eq. 5 and 6)

    ```python
    attention = keras_bahdanau.layers.Attention("general", window="local-p")
    attention = keras_bahdanau.layers.Attention("additive", units=256, coverage="sum")
    ```

    Args:
        score: A name of `layers.SCORES`, or a layer such as `AdditiveScore(256)`.
        units: Positive integer. Width of a score called by a name, where it has one.
        window: A name of `layers.WINDOWS`, or a layer: positions that a query may attend to.
        normalizer: A name of `layers.NORMALIZERS`, or a layer: from scores to weights.
        coverage: A name of `layers.COVERAGES` (None for none), or a layer: memory of the positions
            attended to.
        dropout: Float in [0, 1). Share of the weights dropped in training.
        **kwargs: `use_bias`, and initializers, regularizers and constraints of a score called by a
            name, where it has projections: `kernel_initializer`, ... as in `keras.layers.Dense`.

    Call arguments, output and errors: see `AttentionBase`.
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
        # keys: (batch, [n,] source_time, key_units), the axis n only where coverage adds to them
        keys = self.coverage.add_to(prepared.keys, state.coverage)
        scores = self.score.compare(query, keys)  # -> (batch, [n,] source_time), e_ij
        mask, gaussian, window = self.window.restrict(query, memory.mask, state.window)
        weights, normalizer = self.normalizer.align(
            scores, mask, state.normalizer, training=training
        )
        weights = weights * gaussian  # alpha_ij: (batch, [n,] source_time)
        # losses and copying read the weights before dropout
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
    """Remove the arguments of a score's projections from an attention's arguments."""
    projections = pop_dense_arguments(arguments)
    if "use_bias" in arguments:
        projections["use_bias"] = arguments.pop("use_bias")
    if projections and not isinstance(score, str):
        raise ValueError(
            f"A `score` layer has its own {', '.join(projections)}. Received: "
            f"score={type(score).__name__}(...) with them. Give them to that layer."
        )
    return projections


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BahdanauAttention(Attention):
    """Additive attention with learned projections.

    e_ij     = v^T tanh(W s_{i-1} + U h_j)
    alpha_ij = exp(e_ij) / sum_k exp(e_ik)
    c_i      = sum_j alpha_ij h_j               (Bahdanau et al. 2015, eq. 5, 6 and appendix A.1.2)

    `keras.layers.AdditiveAttention` has neither W nor U. The layer works in any Keras model:

    ```python
    attention = keras_bahdanau.layers.BahdanauAttention(256)
    context, weights = attention(query, values, value_mask=mask, return_attention_scores=True)
    ```

    Args:
        units: Positive integer. Width of W s_{i-1} and U h_j, the paper's n'.
        dropout: Float in [0, 1). Share of the weights dropped in training.
        use_bias: Bool. True to add a bias to U h_j.
        **kwargs: `window`, `normalizer` and `coverage` as in `Attention`; `kernel_initializer` and
            other initializers, regularizers and constraints as in `AdditiveScore`.

    Call arguments:
        query: Float tensor `(batch, query_units)` or `(batch, target_time, query_units)`, s_{i-1}.
        value: Float tensor `(batch, source_time, values_units)`, h_j.
        key: Float tensor `(batch, source_time, key_units)`, what the scores compare, or None.
        query_mask: Bool tensor `(batch, [target_time])`, True where a query is real.
        value_mask: Bool tensor `(batch, source_time)`, True where a value is real. Masks that the
            inputs carry, of `Embedding(mask_zero=True)` for example, count too.
        key_mask: Bool tensor `(batch, source_time)`, the same of `key`.
        attention_mask: Bool tensor `(batch, [target_time,] source_time)`, True where a query may
            attend to a value.
        return_attention_scores: Python bool. True to return the weights too.
        training: Python bool. True to apply dropout.
        use_causal_mask: Python bool. True to let query i attend to positions up to i.

    Output:
        The context c_i `(batch, [target_time,] values_units)`; with `return_attention_scores=True`
        the pair (context, weights), the weights float32 `(batch, [target_time,] source_time)`.
        Without a real position both are zero.

    Raises:
        ValueError: If an argument is not as documented, or a mask does not fit.
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

    `score` is "general" or another of `layers.SCORES`. Other arguments: as in `Attention`; calls:
    see `AttentionBase`.
    """

    def __init__(self, score="general", **kwargs):
        super().__init__(score, **kwargs)
