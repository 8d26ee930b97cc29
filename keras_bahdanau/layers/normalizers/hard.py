"""Hard attention: one place a step, drawn in training."""

import keras
from keras import ops

from keras_bahdanau.layers.normalizers.normalizer import Drawn, Normalizer, first_marked
from keras_bahdanau.layers.normalizers.softmax import masked_softmax
from keras_bahdanau.layers.step_seed import StepSeedGenerator
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Hard(Normalizer):
    """One place a step, drawn from the softmax in training.

    p(s_ij = 1) = alpha_ij = softmax_j(e_ij),   the weights are s_i
    d/dW = d log p(y|s)/dW + (log p(y|s) - b) d log p(s)/dW + lambda_e dH[alpha]/dW

    (Xu et al. 2015, section 4.1, with lambda_r = 1, by which the gradient is that of the
    expected log p(y|s).) The first term is the ordinary gradient; `Seq2Seq` adds the others,
    with the moving baseline b: see `models.reinforcement`. A rate of the sentences gets the
    expectation alpha_i at all steps in place of s_i, as in the paper, where it is 0.5. A loss of
    the weights, such as that of guided alignment, has a gradient in these sentences alone.

    Args:
        expected: Float in [0, 1). Rate of the sentences that get the expectation in training.
        entropy: Float, at least 0. lambda_e, which keeps the attention from settling early.
        inference: "most-probable": the weight 1 at the first place with the largest alpha_ij;
            or "expected": alpha_i itself.

    Call arguments and output: see `Normalizer`; the state is a number for each sentence, drawn
    in its first step of a training, -1 before, and the `Drawn` of the last step.

    Raises:
        ValueError: If `expected` is not in [0, 1), `entropy` below 0, or `inference` unknown.
    """

    draws = True

    def __init__(self, expected=0.5, entropy=0.01, inference="most-probable", **kwargs):
        super().__init__(**kwargs)
        self.expected = checks.rate("expected", "the rate of expectations", expected)
        self.entropy = checks.not_negative("entropy", "the weight of the entropy", entropy)
        self.inference = checks.choice("inference", inference, ("most-probable", "expected"))
        self.random = StepSeedGenerator()

    def initial_state(self, memory):
        zeros = ops.zeros(ops.shape(memory.mask)[:1], "float32")
        return zeros - 1.0, Drawn(zeros, zeros)

    def drawn(self, state):
        return state[1]

    def align(self, scores, allowed, state, training=None):
        alpha = masked_softmax(scores, allowed)
        if not training:
            return (alpha if self.inference == "expected" else _most_probable(alpha)), state
        coin = ops.where(ops.less(state[0], 0.0), self._uniform(state[0]), state[0])
        draws = ops.greater_equal(coin, self.expected)  # -> (batch, [n])
        place = ops.stop_gradient(_place(alpha, self._uniform(coin)))  # s_i
        # no logarithm of what is too small to be drawn
        log_alpha = ops.log(ops.where(ops.greater(alpha, 1e-30), alpha, 1.0))
        log_prob = ops.where(draws, ops.sum(place * log_alpha, axis=-1), 0.0)
        entropy = -self.entropy * ops.sum(alpha * log_alpha, axis=-1)
        # -> (batch, [n,] source_time)
        weights = ops.where(ops.expand_dims(draws, axis=-1), place, alpha)
        return weights, (coin, Drawn(log_prob, entropy))

    def _uniform(self, like):
        return keras.random.uniform(ops.shape(like), seed=self.random)

    def get_config(self):
        config = {"expected": self.expected, "entropy": self.entropy, "inference": self.inference}
        return {**super().get_config(), **config}


def _most_probable(alpha):
    """1 at the first of the largest weights, else 0; all zero where all weights are."""
    largest = ops.greater_equal(alpha, ops.max(alpha, axis=-1, keepdims=True))
    return first_marked(ops.logical_and(largest, ops.greater(alpha, 0.0)))


def _place(alpha, uniform):
    """1 at the place in which a number of [0, 1) falls, if they are laid end to end; else 0.

    One number for each row: further padding does not change what is drawn.
    """
    ends = ops.cumsum(alpha, axis=-1)
    point = ops.expand_dims(uniform, axis=-1) * ends[..., -1:]
    return first_marked(ops.logical_and(ops.greater(ends, point), ops.greater(alpha, 0.0)))
