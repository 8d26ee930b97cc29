"""Windows, which select the source positions that attention may use at each step."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionPart
from keras_bahdanau.settings import checks


class Window(AttentionPart):
    """Base class of the windows: the positions that a query may attend to, and a factor for each.

    Subclasses implement `restrict`, `initial_state` if they carry a state, and `remember` if that
    state depends on the weights. Invalid arguments raise ValueError.

    Call arguments:
        query: Float tensor `(batch, [n,] query_units)`. The optional axis n is the beam.
        mask: Bool tensor `(batch, [n,] source_time)`, True where a token is real.
        state: The state after the previous step.

    Output:
        The tuple (mask, gaussian, next state). The bool mask broadcasts to
        `(batch, [n,] source_time)`, and is never all False if the sentence has a real token. The
        float32 factor `gaussian`, by which the weights are multiplied, has the same shape, or is
        1.0.
    """

    def restrict(self, query, mask, state):
        raise NotImplementedError

    def remember(self, state, weights):
        """Return the next state, from the state after `restrict` and the weights of this step."""
        return state

    def call(self, query, mask, state):
        return self.restrict(query, mask, state)


class LocalWindow(Window):
    """Base class of windows |s - p_t| <= D around a position p_t; `width` is the paper's D."""

    def __init__(self, width=10, **kwargs):
        super().__init__(**kwargs)
        self.width = checks.positive_integer("width", "how far a window sees", width)

    def near(self, position, mask):
        """Return the mask of real positions near `position` `(batch, [n])`, and all distances.

        If no real token is near, which can happen for a mask with gaps, the window contains only
        the nearest real token.
        """
        mask = for_queries(mask, position, axes=2)  # -> (batch, [n or 1,] source_time)
        # (source_time,) - (batch, [n,] 1) -> (batch, [n,] source_time)
        distance = ops.abs(positions(mask) - ops.expand_dims(position, axis=-1))
        # -> (batch, [n,] 1)
        nearest = ops.min(ops.where(mask, distance, 1e9), axis=-1, keepdims=True, initial=1e9)
        # |s - p_t| <= D, or the nearest position: (batch, [n,] source_time)
        inside = ops.less_equal(distance, ops.maximum(nearest, float(self.width)))
        return ops.logical_and(mask, inside), distance

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def positions(mask):
    """Return 0, 1, 2, ... along the source, float32 `(source_time,)`."""
    return ops.cast(ops.arange(ops.shape(mask)[-1]), "float32")


def real_length(mask, position):
    """Return the position after the last real token, in the shape `(batch, [n])` of `position`."""
    mask = for_queries(mask, position, axes=2)
    # -> (batch, [n or 1])
    return ops.max(ops.where(mask, positions(mask) + 1.0, 0.0), axis=-1, initial=0.0)


def for_queries(mask, query, axes=3):
    """Add an axis n of length 1 to the mask if `query` has this axis, that is, `axes` axes."""
    if len(query.shape) == axes and len(mask.shape) == 2:
        return ops.expand_dims(mask, axis=1)  # -> (batch, 1, source_time)
    return mask


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Everywhere(Window):
    """Window over all real tokens (Bahdanau et al. 2015; Luong et al. 2015: global attention)."""

    def restrict(self, query, mask, state):
        return for_queries(mask, query), 1.0, ()  # (batch, [n or 1,] source_time)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LocalMonotonic(LocalWindow):
    """Window around the source position that equals the number of the target step.

    p_t = t, at most the last real position   (Luong et al. 2015, section 3.2, local-m)
    mask: |s - p_t| <= D

    D is `width`, 10 by default. Steps and positions are counted from 0. The state is t, float32
    `(batch, [n])`. For calls and errors, see `Window`.
    """

    def initial_state(self, memory):
        return ops.zeros(ops.shape(memory.mask)[:1], dtype="float32")

    def restrict(self, query, mask, state):
        position = ops.minimum(state, real_length(mask, state) - 1.0)  # p_t: (batch, [n])
        mask, _ = self.near(position, mask)
        return mask, 1.0, state + 1.0


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LocalPredictive(LocalWindow):
    """Window around a predicted position, with a Gaussian factor for the weights.

    p_t      = S sigmoid(v^T tanh(W h_t))             (Luong et al. 2015, eq. 9)
    gaussian = exp(-(s - p_t)^2 / (2 sigma^2)),  sigma = D / 2        (eq. 10)
    mask: |s - p_t| <= D

    S is the number of real tokens, and D is `width`. Positions s are counted from 0. As in the
    paper, the weights are not normalized again, so they sum to less than 1. The gradient of p_t
    comes only from the Gaussian. For calls and errors, see `Window`.
    """

    def build(self, query_shape):
        units = query_shape[-1]
        self.projection = keras.layers.Dense(  # W
            units, activation="tanh", use_bias=False, dtype=self.dtype_policy, name="projection"
        )
        self.v = keras.layers.Dense(
            1, activation="sigmoid", use_bias=False, dtype="float32", name="v"
        )
        self.projection.build(query_shape)
        self.v.build((None, units))

    def restrict(self, query, mask, state):
        share = ops.squeeze(self.v(self.projection(query)), axis=-1)  # -> (batch, [n])
        position = real_length(mask, share) * share  # p_t
        mask, distance = self.near(position, mask)
        # factor, with sigma = D / 2: (batch, [n,] source_time)
        return mask, ops.exp(-0.5 * ops.square(distance / (self.width / 2))), ()


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LocalMedian(LocalWindow):
    """Window around the median of the previous weights.

    p_i = min {j: sum_{k <= j} alpha_{i-1,k} >= 1/2 sum_k alpha_{i-1,k}},  p_1 = 0
    mask: |s - p_i| <= D               (Chorowski et al. 2015, section 2.3, windowing)

    Use this window for sources that are read in order, such as speech: attention stays aligned even
    in sources much longer than those in training. D is `width`. Positions s are counted from 0. The
    window does not move if the previous weights are all zero. The state is p_i, float32
    `(batch, [n])`. For calls and errors, see `Window`.
    """

    def __init__(self, width=25, **kwargs):
        super().__init__(width, **kwargs)

    def initial_state(self, memory):
        return ops.zeros(ops.shape(memory.mask)[:1], dtype="float32")

    def restrict(self, query, mask, state):
        mask, _ = self.near(state, mask)
        return mask, 1.0, state

    def remember(self, state, weights):
        sums = ops.cumsum(ops.cast(weights, "float32"), axis=-1)  # -> (batch, [n,] source_time)
        total = ops.max(sums, axis=-1, keepdims=True, initial=0.0)  # the last position, or none
        before = ops.cast(ops.less(sums, 0.5 * total), "float32")  # 1 before the median
        return ops.where(
            ops.greater(ops.squeeze(total, axis=-1), 0), ops.sum(before, axis=-1), state
        )
