"""Exact hard attention: a hidden Markov model of the source position of each token."""

import functools

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import Attended, AttentionBase, weighted_sum
from keras_bahdanau.layers.attention.normalizers import masked_softmax, shifted
from keras_bahdanau.layers.attention.windows import for_queries
from keras_bahdanau.layers.registry import SCORES
from keras_bahdanau.layers.scores.score import check_shapes
from keras_bahdanau.settings import checks

LOG_ZERO = -1e9  # far below the logarithm of any probability, and finite


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class HardAlignment(AttentionBase):
    """Hard attention to one position a_i per token, with an exact sum over position sequences.

    p(y | x) = sum_a prod_i p(a_i | a_{i-1}, y_<i, x) p(y_i | a_i, y_<i, x)

    This layer computes the first factor, the transitions; `Emission` computes the second. The
    forward algorithm sums over the positions step by step, using the probability of each position
    given the tokens so far:

    f_i(j) = p(a_i = j | y_<i)  = sum_j' p(a_i = j | a_{i-1} = j') g_{i-1}(j')     `attend`
    g_i(j) = p(a_i = j | y_<=i) = f_i(j) p(y_i | a_i = j) / p(y_i | y_<i)          `observe`

    order 0: p(a_i = j | a_{i-1} = j') = softmax_j e(s_i, h_j)                (Wu et al. 2018)
    order 1: softmax_j (e(s_i, h_j) + b_{j-j'}(s_i)),   b = U s_i + u

    With `monotonic`, the softmax is over j >= j'. Monotonic alignments and order 1 follow Wu and
    Cotterell (2019), with these differences: the scores b of jumps are added to e instead of
    replacing it, and jumps beyond `reach`, which is at most 100, share the score of the longest
    jump. U and u are initialized to zero. Before the first token, the position is the first source
    position.

    The weights are f_i, the probabilities of the positions before the token is known. The context
    is not used. In a call without a decoder, no tokens are observed. The state is log f_i, float32
    `(batch, [n,] source_time)`. `score` and `units` are as in `Attention`.

    For calls, see `AttentionBase`.

    Example:
        >>> attention = keras_bahdanau.layers.HardAlignment("general", order=1, monotonic=True)
        >>> cell = keras_bahdanau.layers.UnfedCell(128, attention)
        >>> decoder = keras_bahdanau.HardDecoder(60, 64, cell)
    """

    marginal = True

    def __init__(self, score="additive", units=256, order=0, monotonic=False, reach=5, **kwargs):
        super().__init__(**kwargs)
        policy = {"dtype": self.dtype_policy}
        self.score = SCORES.get(score, units=units, name="score", **policy)
        self.order = checks.choice("order", order, (0, 1))
        self.monotonic = bool(monotonic)
        self.reach = checks.positive_integer("reach", "the farthest jump", reach, most=100)
        self.back = 0 if self.monotonic else self.reach
        self.jumps = None
        if self.order:
            zeros = {"kernel_initializer": "zeros", "bias_initializer": "zeros"}
            self.jumps = keras.layers.Dense(  # U, u
                self.back + 1 + self.reach, name="jumps", **zeros, **policy
            )

    @property
    def remembers(self):
        """True if a step depends on the positions of the previous tokens."""
        return bool(self.order or self.monotonic)

    def build(self, query_shape, values_shape, key_shape=None):
        key_shape = key_shape or values_shape
        self.score.build(query_shape, key_shape)
        check_shapes(self.score, query_shape, key_shape)
        if self.jumps is not None:
            self.jumps.build(query_shape)

    def prepare(self, memory):
        return self.score.project(memory.values)

    def initial_state(self, memory):
        # 1, 2, 3, ...: (batch, source_time)
        position = ops.cumsum(ops.ones_like(memory.mask, dtype="int32"), axis=-1)
        return ops.where(ops.equal(position, 1), 0.0, LOG_ZERO)  # log g_0

    def attend(self, query, prepared, state, training=None):
        memory = prepared.memory
        scores = self.score.compare(query, prepared.keys)  # e: (batch, [n,] source_time)
        real = for_queries(memory.mask, query)  # (batch, [n or 1,] source_time)
        log_prior = self._log_prior(query, scores, real, state, training)
        # for a source without tokens, f_i is uniform and unused
        weights = ops.exp(log_prior) * ops.cast(real, "float32")
        return Attended(weighted_sum(weights, memory.values), weights, scores, log_prior)

    def _log_prior(self, query, scores, real, state, training):
        """Return log f_i, computed from log g_{i-1}, as float32 `(batch, [n,] source_time)`."""
        scores = ops.where(real, shifted(scores, real), LOG_ZERO)
        if not self.remembers:
            return ops.log_softmax(scores, axis=-1)
        # b: (batch, [n,] jumps)
        jump_scores = (ops.cast(self.jumps(query), "float32"),) if self.order else ()
        prior = functools.partial(self._log_prior_of_pairs, gathered if training else skewed)
        if training:  # recompute the pairs for the gradient instead of storing them for all steps
            prior = keras.remat(prior)
        return prior(scores, state, *jump_scores)

    def _log_prior_of_pairs(self, matrix_of, scores, state, jump_scores=None):
        """Return log f_i for scores e, summed over all pairs of position and previous position."""
        size = ops.shape(scores)[-1]
        jump = ops.arange(2 * size, dtype="int32") - size + 1  # j - j', from 1 - size to size
        if jump_scores is None:
            by_jump = ops.zeros_like(jump, dtype=scores.dtype)
        else:  # -> (batch, [n,] 2 source_time)
            known = ops.clip(jump, -self.back, self.reach) + self.back
            by_jump = ops.take(jump_scores, known, axis=-1)
        if self.monotonic:
            by_jump = ops.where(ops.less(jump, 0), LOG_ZERO, by_jump)
        # p(a_i = j | a_{i-1} = j'): (batch, [n,] j', j)
        alpha = masked_softmax(ops.expand_dims(scores, axis=-2) + matrix_of(by_jump))
        # sum over j' with g_{i-1}: (batch, [n,] j)
        return safe_log(ops.sum(ops.expand_dims(ops.exp(state), axis=-1) * alpha, axis=-2))

    def observe(self, state, log_likelihoods):
        """Return log g_i, from log f_i and log p(y_i | a_i = j), as `(batch, [n,] source_time)`."""
        joint = state + log_likelihoods
        return joint - ops.expand_dims(log_sum_exp(joint, axis=-1), axis=-1)

    def get_config(self):
        return {
            **super().get_config(),
            "score": keras.saving.serialize_keras_object(self.score),
            "order": self.order,
            "monotonic": self.monotonic,
            "reach": self.reach,
        }


def gathered(numbers):
    """Return the matrix `(..., n, n)` with the number for j - j' at (j', j); faster than `skewed`.

    `numbers` `(..., 2 n)` has one number for each difference from -(n - 1) to n - 1, followed by an
    unused number.
    """
    position = ops.arange(ops.shape(numbers)[-1] // 2, dtype="int32")
    difference = position - ops.expand_dims(position, axis=-1)
    return ops.take(numbers, difference + ops.shape(position)[0] - 1, axis=-1)


def skewed(numbers):
    """Return the matrix of `gathered` without a gather, by the skewing of Huang et al. (2018)."""
    outer, size = ops.shape(numbers)[:-1], ops.shape(numbers)[-1] // 2
    repeated = ops.tile(numbers, (*[1] * len(outer), size))
    # a row is one number shorter than `numbers`, so each row starts one number earlier
    rows = ops.reshape(repeated[..., : size * (2 * size - 1)], (*outer, size, 2 * size - 1))
    return rows[..., size - 1 :]


def log_sum_exp(numbers, axis):
    """Return the log-sum-exp of finite values, with fewer operations than Keras' `logsumexp`."""
    largest = ops.stop_gradient(ops.max(numbers, axis=axis, keepdims=True))
    total = ops.sum(ops.exp(numbers - largest), axis=axis)
    return ops.squeeze(largest, axis=axis) + ops.log(total)


def safe_log(probabilities):
    """Return the logarithm, with value `LOG_ZERO` and gradient 0 at 0."""
    some = ops.greater(probabilities, 0.0)
    return ops.where(some, ops.log(ops.where(some, probabilities, 1.0)), LOG_ZERO)
