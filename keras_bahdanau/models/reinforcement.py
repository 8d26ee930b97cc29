"""The loss by which hard attention learns from the places that it has drawn."""

import keras
from keras import ops

MOMENTUM = 0.9  # of the baseline, as in the paper


class Reinforcement(keras.layers.Layer):
    """Score function of drawn places, with a moving baseline and the entropy.

    d/dW = - sum_i R_i d log p(s_i)/dW - lambda_e sum_i w_i dH[alpha_i]/dW
    R_i  = sum_{k >= i} w_k (log p(y_k) - b)             (Xu et al. 2015, section 4.1)

    In the paper every place has the reward of the whole sentence. Here it has that of the
    tokens from its own step on: earlier ones do not depend on it, so the expectation is the
    same, and the variance smaller. The paper's b is the moving average of log p(y) of a
    sentence, here that of a token, which suits sentences of all lengths:

    b = m / n,   m = 0.9 m + 0.1 sum_i w_i log p(y_i),   n = 0.9 n + 0.1 sum_i w_i

    A batch gets the b of the batches before, which does not depend on its own draws, and the
    first one 0. The value of the score function's term is 0: the loss of a training stays the
    cross-entropy, less the entropy of the attention.

    Call arguments:
        drawn: `Drawn` of tensors `(passes, batch, target_time)`.
        negative_log_probs: Float tensor `(batch, target_time)`, -log p(y_i), the mean of all
            passes. It gets no gradient.
        weight: Float tensor `(batch, target_time)`, w_i, 0 at padding.

    Output:
        Float32 scalar, a sum over the batch. The layer's b moves on.
    """

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": "float32", "trainable": False, "autocast": False, **kwargs})

    def build(self, *shapes):
        self.sums = self.add_weight(  # m, n
            shape=(2,), initializer="zeros", trainable=False, aggregation="mean", name="sums"
        )

    def call(self, drawn, negative_log_probs, weight):
        weight = ops.cast(weight, "float32")
        log_probs = -ops.stop_gradient(ops.cast(negative_log_probs, "float32"))
        rewards = weight * (log_probs - self._baseline(log_probs, weight))
        # R_i: (batch, target_time)
        later = ops.flip(ops.cumsum(ops.flip(rewards, axis=1), axis=1), axis=1)
        score = ops.sum(later * ops.sum(drawn.log_prob, axis=0))
        entropy = ops.sum(weight * ops.mean(drawn.entropy, axis=0))
        return ops.stop_gradient(score) - score - entropy

    def _baseline(self, log_probs, weight):
        """The b of the batches before."""
        before = ops.copy(self.sums)
        own = ops.stack([ops.sum(weight * log_probs), ops.sum(weight)])
        self.sums.assign(MOMENTUM * before + (1 - MOMENTUM) * own)
        return ops.divide_no_nan(before[0], before[1])
