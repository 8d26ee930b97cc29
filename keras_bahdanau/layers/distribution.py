"""Distribution of the next token: log-probabilities, entropy, and the mixture with copying."""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_bahdanau.layers.registry import CompositeLayer

LARGEST = 3.4e38  # approximately the largest float32
# log-probability of a forbidden token: lower than that of an empty slot of a beam, whatever
# the length normalization
FORBIDDEN = -1e30


class Distribution(NamedTuple):
    """Distribution over a vocabulary: log p_k = logits_k - log_total.

    A search finds the best tokens by their logits, and computes log-probabilities only for these.
    """

    logits: Any  # float32 (..., vocabulary)
    log_total: Any  # float32 (..., 1)
    entropy: Any  # float32 (...), in nats
    unwritten: tuple = ()  # tokens that are never chosen, but are included in the other fields

    @property
    def log_probs(self):
        """Log-probabilities in nats, float32 `(..., vocabulary)`; -1e30 for unwritten tokens."""
        log_probs = self.logits - self.log_total
        return without(log_probs, self.unwritten) if self.unwritten else log_probs


def without(logits, tokens):
    """Lower the logits `(..., vocabulary)` of some tokens, so that these are never chosen."""
    vocabulary = np.arange(logits.shape[-1])
    never = np.where(np.isin(vocabulary, tokens), FORBIDDEN, 0.0).astype("float32")
    return logits + ops.convert_to_tensor(never)  # (..., vocabulary) + (vocabulary,)


def softmax_distribution(logits):
    """Return the `Distribution` for finite float32 logits `(..., vocabulary)`.

    log p_k = l_k - log Z,   H = -sum_k p_k log p_k = log Z - 1/Z sum_k exp(l_k) l_k
    """
    # in eager mode, Keras needs `initial` for the maximum of a batch without rows
    largest = ops.max(logits, axis=-1, keepdims=True, initial=-LARGEST)
    shifted = logits - largest
    odds = ops.exp(shifted)  # -> (..., vocabulary)
    total = ops.sum(odds, axis=-1, keepdims=True)  # -> (..., 1)
    log_total = ops.log(total)
    mean = ops.sum(odds * shifted, axis=-1, keepdims=True) / total
    # rounding must not make the entropy negative
    entropy = ops.maximum(ops.squeeze(log_total - mean, axis=-1), 0.0)
    return Distribution(shifted, log_total, entropy)


def as_distribution(log_probs):
    """Convert float32 log-probabilities `(..., vocabulary)` to a `Distribution`, if necessary.

    The entropy ignores forbidden tokens. If CTC scores have been added, p is normalized again
    before the entropy is computed.
    """
    if isinstance(log_probs, Distribution):
        return log_probs
    entropy = softmax_distribution(log_probs).entropy
    return Distribution(log_probs, ops.zeros_like(log_probs[..., :1]), entropy)


SMALLEST = 1e-30  # probability below which nothing is copied or generated
NOTHING = -1e9  # log-probability of copying a token that the source does not contain


class Copying(NamedTuple):
    """Gate, weights and source symbols of a pointer-generator."""

    generation: Any  # float32 (batch, [n]), p_gen
    weights: Any  # float32 (batch, [n,] source_time), alpha_i
    symbols: Any  # int32 (batch, source_time), target id of x_j, or -1 if it has none


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PointerGenerator(CompositeLayer):
    """Probability, float32 `(...)`, that a step generates a token instead of copying one.

    p_gen = sigmoid(w_h c_i + w_s s_i + w_x y_{i-1} + b)      (See et al. 2017, eq. 8)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.projection = keras.layers.Dense(1, dtype=self.dtype_policy, name="projection")

    def build(self, state_shape, context_shape, embedded_shape):
        # [w_h; w_s; w_x]
        self.projection.build((None, context_shape[-1] + state_shape[-1] + embedded_shape[-1]))

    def call(self, state, context, embedded):
        gate = self.projection(ops.concatenate([context, state, embedded], axis=-1))
        return ops.sigmoid(ops.cast(ops.squeeze(gate, axis=-1), "float32"))

    def compute_output_spec(self, state, context, embedded):
        return keras.KerasTensor(state.shape[:-1], dtype="float32")


def log_mixture(logits, copying):
    """Return log-probabilities `(batch, [n,] vocabulary)` of generating or copying each token.

    p(w) = g_i P_vocab(w) + (1 - p_gen) sum_{j: x_j = w} alpha_ij     (See et al. 2017, eq. 9)
    g_i  = 1 - (1 - p_gen) sum_{j: x_j known} alpha_ij

    P_vocab is the softmax of the float32 logits. If the weights sum to 1 and the target vocabulary
    contains every x_j, g_i is p_gen, as in the paper. Any remaining weight is added to g_i, so that
    p sums to 1. To keep logarithms finite, g_i is at least 1e-30, and tokens with a lower
    probability of being copied are not copied.
    """
    symbols = copying.symbols
    if len(logits.shape) == 3:
        symbols = ops.expand_dims(symbols, axis=1)  # -> (batch, 1, source_time)
    known = ops.cast(symbols >= 0, "float32")
    weights = copying.weights * known  # -> (batch, [n,] source_time)
    generation = ops.expand_dims(copying.generation, axis=-1)  # -> (batch, [n,] 1)
    # rounding can make the sum slightly larger than 1
    left = ops.maximum(1 - ops.sum(weights, axis=-1, keepdims=True), 0.0)
    share = generation + (1 - generation) * left  # g_i: (batch, [n,] 1)
    generated = ops.log(ops.maximum(share, SMALLEST)) + ops.log_softmax(logits, axis=-1)
    copied = _sum_by_token((1 - generation) * weights, ops.maximum(symbols, 0), logits.shape[-1])
    copied = ops.where(copied > SMALLEST, ops.log(ops.maximum(copied, SMALLEST)), NOTHING)
    larger = ops.stop_gradient(ops.maximum(generated, copied))
    # log(exp(a) + exp(b)): (batch, [n,] vocabulary)
    return larger + ops.log(ops.exp(generated - larger) + ops.exp(copied - larger))


def _sum_by_token(weights, symbols, vocabulary):
    """Sum the weights over all positions of each token: `(batch, [n,] vocabulary)`."""
    *rows, source_time = ops.shape(weights)
    count = rows[0] if len(rows) == 1 else rows[0] * rows[1]
    symbols = ops.reshape(ops.broadcast_to(symbols, ops.shape(weights)), (-1, source_time))
    # index of each token in the flat result: (batch * n, source_time)
    indices = symbols + vocabulary * ops.expand_dims(ops.arange(count, dtype="int32"), axis=1)
    flat = ops.segment_sum(
        ops.reshape(weights, (-1,)), ops.reshape(indices, (-1,)), num_segments=count * vocabulary
    )
    return ops.reshape(flat, (*rows, vocabulary))
