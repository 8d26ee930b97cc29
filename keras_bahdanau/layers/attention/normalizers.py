"""Normalizers, which turn scores into weights: softmax, sigmoid or maximum."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionPart
from keras_bahdanau.settings.option import check_value, number


class Normalizer(AttentionPart):
    """Base class of the normalizers, which compute weights alpha_ij from scores e_ij.

    Subclasses implement `align`, and `initial_state` if they carry a state from step to step.
    Invalid arguments raise ValueError.

    Call arguments:
        scores: Float32 tensor `(batch, [n,] source_time)`. The optional axis n is the beam.
        mask: Bool tensor that broadcasts to the scores, True at positions that may be attended to.
        state: The state after the previous step.
        training: Python bool.

    Output:
        The pair (weights, next state). The weights are float32, have the shape of the scores, and
        are exactly 0 where the mask is False.
    """

    def align(self, scores, mask, state, training=None):
        raise NotImplementedError

    def call(self, scores, mask, state, training=None):
        return self.align(scores, mask, state, training=training)


def first_marked(marked):
    """Return 1 at the first marked position of each row, and 0 elsewhere."""
    marked = ops.cast(marked, "float32")
    # where the number of marks so far is 1
    return marked * ops.cast(ops.less(ops.cumsum(marked, axis=-1), 1.5), "float32")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Softmax(Normalizer):
    """Softmax: alpha_ij = exp(beta e_ij) / sum_k exp(beta e_ik) (Bahdanau et al. 2015, eq. 6).

    A `beta` in (1, 1000] makes the weights sharper: in a long source, such as speech, a few
    positions get most of the weight (Chorowski et al. 2015, section 2.3, sharpening). The weights
    sum to 1, or are all zero where the mask is all False. The state is (). For calls and errors,
    see `Normalizer`.
    """

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self.beta = beta
        check_value("beta", beta, number(0, 1000, "(]"))

    def align(self, scores, mask, state, training=None):
        return masked_softmax(scores if self.beta == 1 else self.beta * scores, mask), ()

    def get_config(self):
        return {**super().get_config(), "beta": self.beta}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Sigmoid(Normalizer):
    """Smoothing: alpha_ij = sigma(e_ij) / sum_k sigma(e_ik) (Chorowski et al. 2015, 2.3).

    The context becomes a mean over several matching positions, such as all frames of a sound. For
    calls, see `Normalizer`.
    """

    def align(self, scores, mask, state, training=None):
        scores = ops.cast(scores, "float32")
        # log sigma(e), using operations that every runtime has
        smooth = ops.minimum(scores, 0.0) - ops.log(1.0 + ops.exp(-ops.abs(scores)))
        return masked_softmax(smooth, mask), ()


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Hardmax(Normalizer):
    """Normalizer that gives all weight to the first maximum, without a gradient (TF Addons)."""

    def align(self, scores, mask, state, training=None):
        alpha = masked_softmax(scores, mask)
        largest = ops.greater_equal(alpha, ops.max(alpha, axis=-1, keepdims=True))
        return first_marked(ops.logical_and(largest, ops.greater(alpha, 0.0))), ()


LARGEST = 1e30  # bound for a score: twice this is still a finite float32
NOTHING = -1e38  # replaces the score of a masked position


def masked_softmax(scores, mask=None):
    """Return the softmax over the last axis, in float32, with exactly 0 at masked positions.

    `scores` is float `(..., source_time)`. `mask` is None, or a bool tensor that broadcasts to the
    scores, True at real positions. Each row sums to 1, or is all zero if it has no real position.
    Masked positions have no influence, however large their scores are. NaN counts as the lowest
    score.
    """
    scores = finite(scores)
    if mask is None:
        return _softmax(scores)
    # -> (..., source_time); the product sets a row with only masked positions to zero
    return _softmax(ops.where(mask, scores, NOTHING)) * ops.cast(mask, "float32")


def finite(scores):
    """Clip scores to float32 in [-1e30, 1e30]; NaN, from infinite values, becomes the lowest."""
    scores = ops.cast(scores, "float32")
    above = ops.greater_equal(scores, -LARGEST)  # False for NaN
    return ops.where(above, ops.minimum(scores, LARGEST), -LARGEST)


def shifted(scores, mask):
    """Return finite scores minus the largest score of a real position; the softmax is the same."""
    scores = finite(scores)
    real = ops.where(mask, scores, NOTHING)
    return scores - ops.stop_gradient(ops.max(real, axis=-1, keepdims=True, initial=NOTHING))


def _softmax(scores):
    """Return `ops.softmax`, without its warning about an axis of length 1."""
    return ops.exp(ops.log_softmax(scores, axis=-1))
