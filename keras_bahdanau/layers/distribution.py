"""Distribution of the next token: its log-probabilities and their entropy."""

from typing import Any, NamedTuple

import numpy as np
from keras import ops

LARGEST = 3.4e38  # about the largest float32
# log-probability of a token that may not come: lower than that of an empty place in a beam,
# whatever its length makes of it
FORBIDDEN = -1e30


class Distribution(NamedTuple):
    """Distribution over a vocabulary.

    Attributes:
        logits: Float32 tensor `(..., vocabulary)`, log-probabilities but for `log_total`. The best
            tokens are found in them, so that a search needs the log-probabilities of these alone.
        log_total: Float32 tensor `(..., 1)`: log p_k = logits_k - log_total.
        entropy: Float32 tensor `(...)`, in nats.
        unwritten: Tuple of integers, tokens that no text has, and that are not chosen. They count
            in `log_total` and in the entropy.
    """

    logits: Any
    log_total: Any
    entropy: Any
    unwritten: tuple = ()

    @property
    def log_probs(self):
        """Float32 tensor `(..., vocabulary)`, in nats; -1e30 for unwritten tokens."""
        log_probs = self.logits - self.log_total
        return without(log_probs, self.unwritten) if self.unwritten else log_probs


def without(logits, tokens):
    """Logits `(..., vocabulary)` by which these tokens are not chosen."""
    vocabulary = np.arange(logits.shape[-1])
    never = np.where(np.isin(vocabulary, tokens), FORBIDDEN, 0.0).astype("float32")
    return logits + ops.convert_to_tensor(never)  # (..., vocabulary) + (vocabulary,)


def softmax_distribution(logits):
    """`Distribution` of logits.

    log p_k = l_k - log Z,   H = -sum_k p_k log p_k = log Z - 1/Z sum_k exp(l_k) l_k

    with Z = sum_k exp(l_k) (Shannon 1948) and l_k as a difference from the largest, so that one
    exponential serves both.

    Args:
        logits: Float32 tensor `(..., vocabulary)`, finite.

    Example:
        >>> softmax_distribution(np.array([[1.0, 1.0, -99.0]])).entropy
        [0.693]
    """
    # eagerly, Keras refuses the maximum of a batch without rows if it has no `initial`
    largest = ops.max(logits, axis=-1, keepdims=True, initial=-LARGEST)
    shifted = logits - largest
    odds = ops.exp(shifted)  # -> (..., vocabulary)
    total = ops.sum(odds, axis=-1, keepdims=True)  # -> (..., 1)
    log_total = ops.log(total)
    mean = ops.sum(odds * shifted, axis=-1, keepdims=True) / total
    # rounding leaves no entropy below 0
    entropy = ops.maximum(ops.squeeze(log_total - mean, axis=-1), 0.0)
    return Distribution(shifted, log_total, entropy)


def distribution_of(log_probs):
    """`Distribution` of log-probabilities; one stays as it is.

    Tokens that a constraint forbids count for nothing in the entropy, and what a share of CTC
    makes of the log-probabilities is a distribution again.

    Args:
        log_probs: Float32 tensor `(..., vocabulary)`, finite, or a `Distribution`.
    """
    if isinstance(log_probs, Distribution):
        return log_probs
    entropy = softmax_distribution(log_probs).entropy
    return Distribution(log_probs, ops.zeros_like(log_probs[..., :1]), entropy)
