"""Normalizers: from scores to weights, by softmax, sigmoid or maximum."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionPart
from keras_bahdanau.settings.option import check_value, number


class Normalizer(AttentionPart):
    """Base of the normalizers: weights alpha_ij from scores e_ij.

    A subclass writes `align`, and `initial_state` if it carries a state from step to step.
    Arguments that are not as documented raise ValueError.

    A call gets `scores`, float32 `(batch, [n,] source_time)`, n the beam or absent; a bool `mask`
    that broadcasts to them, True at positions that may be attended to; `state`, that of the step
    before; and `training`. It gives (weights, state): float32 weights of the shape of the scores,
    exactly 0 where the mask is False, and the next state.
    """

    def align(self, scores, mask, state, training=None):
        raise NotImplementedError

    def call(self, scores, mask, state, training=None):
        return self.align(scores, mask, state, training=training)


def first_marked(marked):
    """1 at the first marked position of each row, else 0."""
    marked = ops.cast(marked, "float32")
    # its count up to there is 1
    return marked * ops.cast(ops.less(ops.cumsum(marked, axis=-1), 1.5), "float32")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Softmax(Normalizer):
    """alpha_ij = exp(beta e_ij) / sum_k exp(beta e_ik)      (Bahdanau et al. 2015, eq. 6).

    With `beta` in (1, 1000] the weights are sharper: few positions of a long source, such as
    speech, get most of them (Chorowski et al. 2015, section 2.3, sharpening). Weights sum to 1, or
    are all zero where the mask is all False; the state is (). Calls and errors: see `Normalizer`.
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
    """alpha_ij = sigma(e_ij) / sum_k sigma(e_ik)      (Chorowski et al. 2015, section 2.3).

    Smoothing: the context is a mean over several matches, such as all frames of a sound. Calls: see
    `Normalizer`.
    """

    def align(self, scores, mask, state, training=None):
        scores = ops.cast(scores, "float32")
        # log sigma(e), of operations that every runtime has
        smooth = ops.minimum(scores, 0.0) - ops.log(1.0 + ops.exp(-ops.abs(scores)))
        return masked_softmax(smooth, mask), ()


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Hardmax(Normalizer):
    """Weight 1 at the first of the largest scores, 0 elsewhere, without a gradient (TF Addons)."""

    def align(self, scores, mask, state, training=None):
        alpha = masked_softmax(scores, mask)
        largest = ops.greater_equal(alpha, ops.max(alpha, axis=-1, keepdims=True))
        return first_marked(ops.logical_and(largest, ops.greater(alpha, 0.0))), ()


LARGEST = 1e30  # of a score: twice as much is still a float32
NOTHING = -1e38  # in place of the score of a masked position


def masked_softmax(scores, mask=None):
    """Softmax over the last axis, in float32, with exactly 0 at masked positions.

    `scores` are float `(..., source_time)`, `mask` bool that broadcasts to them, True where a
    position counts, or None. Rows sum to 1, or are all zero without a real position. The softmax is
    over real positions alone, however large their scores; NaN counts as the lowest.
    """
    scores = finite(scores)
    if mask is None:
        return _softmax(scores)
    # -> (..., source_time); the product makes a row of masked positions zero
    return _softmax(ops.where(mask, scores, NOTHING)) * ops.cast(mask, "float32")


def finite(scores):
    """Float32 scores in [-1e30, 1e30]; NaN, of a product of infinite numbers, as the lowest."""
    scores = ops.cast(scores, "float32")
    above = ops.greater_equal(scores, -LARGEST)  # False for NaN
    return ops.where(above, ops.minimum(scores, LARGEST), -LARGEST)


def shifted(scores, mask):
    """Finite scores less the largest of a real position, which softmax does not change."""
    scores = finite(scores)
    real = ops.where(mask, scores, NOTHING)
    return scores - ops.stop_gradient(ops.max(real, axis=-1, keepdims=True, initial=NOTHING))


def _softmax(scores):
    """`ops.softmax` without its warning about an axis of length 1."""
    return ops.exp(ops.log_softmax(scores, axis=-1))
