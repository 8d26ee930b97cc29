"""Monotonic attention: each step starts where the previous step stopped."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.normalizers import (
    Normalizer,
    finite,
    first_marked,
    masked_softmax,
)
from keras_bahdanau.layers.recurrence import StepSeedGenerator
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Monotonic(Normalizer):
    """Attention that starts where the previous step stopped, and stops at j with probability p_ij.

    p_ij     = sigmoid(e_ij + r)
    alpha_ij = p_ij sum_{k <= j} alpha_{i-1,k} prod_{l=k}^{j-1} (1 - p_il)
                                         (Raffel et al. 2017, section 2.3, training in expectation)

    The first step starts at position 0. A step that passes the last token without stopping attends
    to nothing, so the weights sum to 1 or less. The state is the last alignment, float32
    `(batch, [n,] source_time)`. The learned r is initialized to `offset` (section 2.4), which is
    negative so that attention with untrained scores reaches the later positions.

    With `hard`, a step outside of training stops at the first position with p_ij > 0.5, at or after
    the previous position, and gives it a weight of 1. If there is no such position, all weights are
    zero and the position does not change. (See section 2.2; the paper samples where a threshold is
    used here.) Training always uses the expectation, with noise of standard deviation `score_noise`
    added to the scores (section 2.5), which pushes p_ij away from 0.5. For calls and errors, see
    `Normalizer`.
    """

    def __init__(self, hard=False, score_noise=1.0, offset=-1.0, **kwargs):
        super().__init__(**kwargs)
        self.hard = bool(hard)
        self.score_noise = checks.not_negative(
            "score_noise", "the deviation of the noise on scores", score_noise
        )
        self.offset = checks.number("offset", "the first value of the learned offset", offset)
        self.random = StepSeedGenerator()

    def build(self, scores_shape=None):
        self.r = self.add_weight(
            shape=(), initializer=keras.initializers.Constant(self.offset), autocast=False, name="r"
        )

    def initial_state(self, memory):
        # 1, 2, 3, ...: (batch, source_time)
        position = ops.cumsum(ops.ones_like(memory.mask, dtype="int32"), axis=-1)
        return ops.cast(ops.equal(position, 1), "float32")  # alpha_0: (batch, source_time)

    def align(self, scores, mask, state, training=None):
        energy = finite(scores) + ops.cast(self.r, "float32")
        if training and self.score_noise:
            energy += self.score_noise * keras.random.normal(ops.shape(energy), seed=self.random)
        if training or not self.hard:
            alignment = _expected(energy, mask, state)
            return alignment, alignment
        alignment = _first_stop(energy, mask, state)
        stopped = ops.greater(ops.sum(alignment, axis=-1, keepdims=True), 0.5)  # -> (batch, [n,] 1)
        return alignment, ops.where(stopped, alignment, state)

    def get_config(self):
        config = {"hard": self.hard, "score_noise": self.score_noise, "offset": self.offset}
        return {**super().get_config(), **config}


def _expected(energy, mask, last):
    stop = ops.where(mask, ops.sigmoid(energy), 0.0)  # p_ij: (batch, [n,] source_time)
    # at least 1e-8, a negligible change: sums of bounded logarithms stay precise
    go_on = ops.where(mask, ops.maximum(ops.sigmoid(-energy), 1e-8), 1.0)  # 1 - p_il
    way = ops.log(go_on)
    way = ops.cumsum(way, axis=-1) - way  # log of the product over l < j
    between = ops.expand_dims(way, axis=-2) - ops.expand_dims(way, axis=-1)  # (..., k, j)
    position = ops.arange(ops.shape(last)[-1])
    # k <= j: (source_time, source_time)
    ahead = ops.less_equal(ops.expand_dims(position, axis=1), ops.expand_dims(position, axis=0))
    # prod_{l=k}^{j-1} (1 - p_il): (..., k, j)
    arrives = ops.exp(ops.minimum(between, 0.0)) * ops.cast(ahead, "float32")
    # not a matrix product, which a GPU may round to 10 bits
    return stop * ops.sum(ops.expand_dims(last, axis=-1) * arrives, axis=-2)  # alpha_ij: (..., j)


def _first_stop(energy, mask, last):
    """Return 1 at the first position with p > 0.5, at or after the last position; 0 elsewhere."""
    reached = ops.greater(ops.cumsum(last, axis=-1), 0.5)  # True from the last position on
    # energy > 0 means p_ij > 0.5
    stops = ops.logical_and(ops.logical_and(reached, mask), ops.greater(energy, 0.0))
    return first_marked(stops)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MonotonicChunkwise(Monotonic):
    """Monotonic chunkwise attention (MoChA): a softmax over the last few positions.

    alpha_ij as in `Monotonic`; u_ij = g e_ij
    beta_ij = sum_{k=j}^{j+w-1} alpha_ik exp(u_ij) / sum_{l=k-w+1}^k exp(u_il)
                                             (Chiu and Raffel 2018, eq. 13, training in expectation)

    With `hard`, a step outside of training stops at one position t, and attends to the positions
    t - w + 1 to t with the softmax of u (eq. 8 to 10). It does not use positions after t, so you
    can decode while the source is still growing. The paper learns a second score for u; here, u is
    the score times a learned factor g. The state is alpha_i.

    `width`, a positive integer up to 100, is w. The other arguments are as in `Monotonic`.
    """

    def __init__(self, width=4, hard=False, score_noise=1.0, offset=-1.0, **kwargs):
        super().__init__(hard, score_noise, offset, **kwargs)
        self.width = checks.positive_integer("width", "the positions of a chunk", width, most=100)

    def build(self, scores_shape=None):
        super().build(scores_shape)
        self.g = self.add_weight(shape=(), initializer="ones", autocast=False, name="g")

    def align(self, scores, mask, state, training=None):
        alignment, state = super().align(scores, mask, state, training=training)
        energy = ops.cast(self.g, "float32") * scores
        return _over_chunks(alignment, energy, mask, self.width), state

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def _over_chunks(alignment, energy, mask, width):
    """Return beta_i, as defined in `MonotonicChunkwise`, from alpha_i and u_i."""
    # -> (batch, [n,] source_time, width); the last element of a chunk is at position k
    chunks = _chunks(energy, width)
    real = _chunks(ops.cast(ops.broadcast_to(mask, ops.shape(energy)), "float32"), width)
    # alpha_ik exp(u_ij) / sum_l exp(u_il), l from k - w + 1 to k
    shares = ops.expand_dims(alignment, axis=-1) * masked_softmax(chunks, ops.greater(real, 0))
    time = ops.shape(energy)[-1]
    # position j is the element w - 1 - (k - j) of the chunk that ends at k
    parts = [
        _padded(shares[..., width - 1 - back], after=back)[..., back : time + back]
        for back in range(width)
    ]
    return sum(parts)


def _chunks(tensor, width):
    """Return, for each position, the `width` values up to it, zero-padded: `(..., time, width)`."""
    time = ops.shape(tensor)[-1]
    tensor = _padded(tensor, before=width - 1)
    return ops.stack(
        [tensor[..., position : time + position] for position in range(width)], axis=-1
    )


def _padded(tensor, before=0, after=0):
    return ops.pad(tensor, [[0, 0]] * (len(tensor.shape) - 1) + [[before, after]])
