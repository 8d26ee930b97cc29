"""Normalizers: from scores to weights."""

from functools import partial
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau import checks
from keras_bahdanau.layers.attention.part import AttentionPart
from keras_bahdanau.layers.registry import Registry
from keras_bahdanau.layers.step_seed import StepSeedGenerator
from keras_bahdanau.option import check_value, number


class Normalizer(AttentionPart):
    """Base of the normalizers: weights alpha_ij from scores e_ij.

    A subclass writes `align`, and `initial_state` where it takes something along
    from step to step. The axis n below is the beam of a search, or absent.

    Call arguments:
        scores: Float32 tensor `(batch, [n,] source_time)`.
        allowed: Bool tensor that broadcasts to `scores`, True at positions that may be attended to.
        state: `initial_state(memory)`, or that of the step before, with the axis n.
        training: Python bool.

    Output:
        Pair of the weights, float32, of the shape of `scores`, exactly 0 where
        it is not allowed, and the state of the next step.
    """

    draws = False  # True if training draws places at random, so that the loss needs `drawn`

    def drawn(self, state):
        """`Drawn` of the step that gave this state; () of a normalizer that draws nothing."""
        return ()

    def align(self, scores, allowed, state, training=None):
        """See the class: what `call` does."""
        raise NotImplementedError

    def call(self, scores, allowed, state, training=None):
        return self.align(scores, allowed, state, training=training)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Softmax(Normalizer):
    """alpha_ij = exp(beta e_ij) / sum_k exp(beta e_ik)      (Bahdanau et al. 2015, eq. 6).

    With beta > 1 the weights are sharper: few places of a long source, such as speech, get
    most of them (Chorowski et al. 2015, section 2.3, sharpening).

    Args:
        beta: Float above 0. Inverse temperature.

    Call arguments and output: see `Normalizer`; the state is (). Weights sum to
    1, or are all zero where no place is allowed.

    Raises:
        ValueError: If `beta` is not a number above 0 and up to 1000.
    """

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self.beta = beta
        check_value("beta", beta, number(0, 1000, "(]"))

    def align(self, scores, allowed, state, training=None):
        return masked_softmax(scores if self.beta == 1 else self.beta * scores, allowed), ()

    def get_config(self):
        return {**super().get_config(), "beta": self.beta}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Sigmoid(Normalizer):
    """alpha_ij = sigma(e_ij) / sum_k sigma(e_ik)      (Chorowski et al. 2015, section 2.3).

    Smoothing: no place gets much more than another that fits as well, so that the context
    is a mean over several places, such as all frames of a sound.

    Call arguments and output: see `Softmax`.
    """

    def align(self, scores, allowed, state, training=None):
        scores = ops.cast(scores, "float32")
        # log sigma(e), of operations that every runtime has
        smooth = ops.minimum(scores, 0.0) - ops.log(1.0 + ops.exp(-ops.abs(scores)))
        return masked_softmax(smooth, allowed), ()


def masked_softmax(scores, mask=None):
    """Softmax over the last axis, in float32, that gives masked places exactly 0.

    Args:
        scores: Float tensor `(..., source_time)`.
        mask: Bool tensor that broadcasts to `scores`, True where a place counts, or None.

    Returns:
        Float32 tensor of the shape of `scores`. Rows sum to 1; a row without
        any real place is all zero.
    """
    scores = ops.cast(scores, "float32")
    if mask is None:
        return _softmax(scores)
    real = ops.cast(mask, "float32")
    # -> (..., source_time); the product makes a row of masked places zero
    return _softmax(scores + (1.0 - real) * -1e9) * real


def _softmax(scores):
    """`ops.softmax` without its warning, which a sentence of one token would raise."""
    return ops.exp(ops.log_softmax(scores, axis=-1))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Monotonic(Normalizer):
    """Each step goes on from the place where the last one stopped, and stops with p_ij.

    p_ij     = sigmoid(e_ij + r)
    alpha_ij = p_ij sum_{k <= j} alpha_{i-1,k} prod_{l=k}^{j-1} (1 - p_il)
                                         (Raffel et al. 2017, section 2.3, training in expectation)

    Before the first step the place is 0. Whoever passes the last token without a
    stop attends to nothing: weights sum to 1 or less, as in the paper.

    Hard: outside of training it stops at the first place from the last one on
    with p_ij > 0.5, weight 1 there; where there is none, all weights are zero and
    the place stays (section 2.2, with a threshold for the paper's draw). In training hard
    and soft are the same: the expectation, of noisy scores (section 2.5), which teaches
    p_ij to keep away from 0.5.

    Args:
        hard: Bool. True if inference stops at one place.
        score_noise: Float, at least 0. Standard deviation of the noise on scores in training.
        offset: Float. Initial value of the learned r (section 2.4): negative, so that
            untrained scores let the attention reach the later places.

    Call arguments and output: see `Normalizer`; the state is the last alignment,
    float32 `(batch, [n,] source_time)`.

    Raises:
        ValueError: If `score_noise` is not a number of at least 0, `offset` not a number.
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
        place = ops.cumsum(ops.ones_like(memory.mask, dtype="int32"), axis=-1)
        return ops.cast(ops.equal(place, 1), "float32")  # alpha_0: (batch, source_time)

    def align(self, scores, allowed, state, training=None):
        energy = scores + ops.cast(self.r, "float32")
        if training and self.score_noise:
            energy += self.score_noise * keras.random.normal(ops.shape(energy), seed=self.random)
        if training or not self.hard:
            alignment = _expected(energy, allowed, state)
            return alignment, alignment
        alignment = _first_stop(energy, allowed, state)
        stopped = ops.greater(ops.sum(alignment, axis=-1, keepdims=True), 0.5)  # -> (batch, [n,] 1)
        return alignment, ops.where(stopped, alignment, state)

    def get_config(self):
        config = {"hard": self.hard, "score_noise": self.score_noise, "offset": self.offset}
        return {**super().get_config(), **config}


def _expected(energy, allowed, last):
    """alpha_i of the class docstring, from alpha_{i-1}."""
    stop = ops.where(allowed, ops.sigmoid(energy), 0.0)  # p_ij: (batch, [n,] source_time)
    # at least 1e-8, which nobody sees: a logarithm of bounded size keeps its digits in sums
    go_on = ops.where(allowed, ops.maximum(ops.sigmoid(-energy), 1e-8), 1.0)  # 1 - p_il
    way = ops.log(go_on)
    way = ops.cumsum(way, axis=-1) - way  # log of the product over l < j
    between = ops.expand_dims(way, axis=-2) - ops.expand_dims(way, axis=-1)  # (..., k, j)
    place = ops.arange(ops.shape(last)[-1])
    # k <= j: (source_time, source_time)
    ahead = ops.less_equal(ops.expand_dims(place, axis=1), ops.expand_dims(place, axis=0))
    # prod_{l=k}^{j-1} (1 - p_il): (..., k, j)
    arrives = ops.exp(ops.minimum(between, 0.0)) * ops.cast(ahead, "float32")
    # no matrix product, which a GPU may shorten to 10 bits
    return stop * ops.sum(ops.expand_dims(last, axis=-1) * arrives, axis=-2)  # alpha_ij: (..., j)


def _first_stop(energy, allowed, last):
    """1 at the first place from the last one on that has p > 0.5, else all zero."""
    reached = ops.greater(ops.cumsum(last, axis=-1), 0.5)  # True from the last place on
    # energy > 0 is p_ij > 0.5
    stops = ops.logical_and(ops.logical_and(reached, allowed), ops.greater(energy, 0.0))
    return _first(stops)


def _first(marked):
    """1 at the first place of each row that is marked, else 0."""
    marked = ops.cast(marked, "float32")
    # its count up to there is 1
    return marked * ops.cast(ops.less(ops.cumsum(marked, axis=-1), 1.5), "float32")


class Drawn(NamedTuple):
    """Places that a step of a training has drawn, for the loss.

    Attributes:
        log_prob: Float32 tensor `(batch, [n])`, log p(s_i) of the place; 0 where none was drawn.
        entropy: Float32 tensor `(batch, [n])`, the weight of the entropy times H[alpha_i].
    """

    log_prob: Any
    entropy: Any


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
    return _first(ops.logical_and(largest, ops.greater(alpha, 0.0)))


def _place(alpha, uniform):
    """1 at the place in which a number of [0, 1) falls, if they are laid end to end; else 0.

    One number for each row: further padding does not change what is drawn.
    """
    ends = ops.cumsum(alpha, axis=-1)
    point = ops.expand_dims(uniform, axis=-1) * ends[..., -1:]
    return _first(ops.logical_and(ops.greater(ends, point), ops.greater(alpha, 0.0)))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MonotonicChunkwise(Monotonic):
    """Monotonic attention that looks back at a few places, by a softmax: MoChA.

    alpha_ij of `Monotonic`; u_ij = g e_ij
    beta_ij = sum_{k=j}^{j+w-1} alpha_ik exp(u_ij) / sum_{l=k-w+1}^k exp(u_il)
                                             (Chiu and Raffel 2018, eq. 13, training in expectation)

    Hard: outside of training it stops at one place t, and attends to t - w + 1 ... t by the
    softmax of u (eq. 8 to 10): the same sum, with alpha_i = 1 at t. It needs nothing behind the
    place where it stops, so it can follow a source that goes on. The paper learns a second
    score for u; here the score serves both, with a learned factor g.

    Args:
        width: Positive integer. Number w of places of a chunk.
        hard: As in `Monotonic`.
        score_noise: As in `Monotonic`.
        offset: As in `Monotonic`.

    Call arguments and output: see `Monotonic`; the state is alpha_i.

    Raises:
        ValueError: As in `Monotonic`, or if `width` is not a positive integer up to 100.
    """

    def __init__(self, width=4, hard=False, score_noise=1.0, offset=-1.0, **kwargs):
        super().__init__(hard, score_noise, offset, **kwargs)
        self.width = checks.positive_integer("width", "the places of a chunk", width, most=100)

    def build(self, scores_shape=None):
        super().build(scores_shape)
        self.g = self.add_weight(shape=(), initializer="ones", autocast=False, name="g")

    def align(self, scores, allowed, state, training=None):
        alignment, state = super().align(scores, allowed, state, training=training)
        energy = ops.cast(self.g, "float32") * scores
        return _over_chunks(alignment, energy, allowed, self.width), state

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def _over_chunks(alignment, energy, allowed, width):
    """beta_i of the class docstring, from alpha_i and u_i."""
    chunks = _chunks(energy, width)  # -> (batch, [n,] source_time, width), the last one is k
    real = _chunks(ops.cast(ops.broadcast_to(allowed, ops.shape(energy)), "float32"), width)
    # alpha_ik exp(u_ij) / sum_l exp(u_il), l from k - w + 1 to k
    shares = ops.expand_dims(alignment, axis=-1) * masked_softmax(chunks, ops.greater(real, 0))
    time = ops.shape(energy)[-1]
    # place j is the element w - 1 - (k - j) of the chunk that ends at k
    parts = [
        _padded(shares[..., width - 1 - back], after=back)[..., back : time + back]
        for back in range(width)
    ]
    return sum(parts)


def _chunks(tensor, width):
    """The `width` places up to each place, zeros before the first: `(..., time, width)`."""
    time = ops.shape(tensor)[-1]
    tensor = _padded(tensor, before=width - 1)
    return ops.stack([tensor[..., place : time + place] for place in range(width)], axis=-1)


def _padded(tensor, before=0, after=0):
    return ops.pad(tensor, [[0, 0]] * (len(tensor.shape) - 1) + [[before, after]])


NORMALIZERS = Registry(
    "normalizer",
    {
        "softmax": Softmax,
        "softmax-sharp": partial(Softmax, beta=2.0),
        "sigmoid": Sigmoid,
        "monotonic": Monotonic,
        "monotonic-hard": partial(Monotonic, hard=True),
        "mocha": MonotonicChunkwise,
        "mocha-hard": partial(MonotonicChunkwise, hard=True),
        "hard": Hard,
    },
)
