"""Windows: the source positions that attention may use at each step."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionPart
from keras_bahdanau.settings import checks


class Window(AttentionPart):
    """Base of the windows: which positions a query may attend to, and with which factor.

    A subclass writes `restrict`; `initial_state` if it carries a state; and `remember` if that
    state depends on the weights. Arguments that are not as documented raise ValueError.

    A call gets `query`, float `(batch, [n,] query_units)`, n the beam or absent; `mask`, bool
    `(batch, [n,] source_time)`, True where a token is real; and `state`, that of the step before.
    It gives (mask, gaussian, state): a bool mask that broadcasts to `(batch, [n,] source_time)`,
    never all False where the sentence has a real token; a float32 factor of the weights, of the
    same shape or 1.0; and the next state.
    """

    def restrict(self, query, mask, state):
        raise NotImplementedError

    def remember(self, state, weights):
        """The next state, from the result of `restrict` and the weights of this step."""
        return state

    def call(self, query, mask, state):
        return self.restrict(query, mask, state)


class LocalWindow(Window):
    """Positions s with |s - p_t| <= D around one position p_t; `width` is the paper's D."""

    def __init__(self, width=10, **kwargs):
        super().__init__(**kwargs)
        self.width = checks.positive_integer("width", "how far a window sees", width)

    def near(self, position, mask):
        """Mask of the real positions around a position `(batch, [n])`, and the distance of all.

        If no real token is near, as in a mask with gaps, the window is the nearest real token.
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
    """0, 1, 2, ... along the source: float32 `(source_time,)`."""
    return ops.cast(ops.arange(ops.shape(mask)[-1]), "float32")


def real_length(mask, position):
    """Position after the last real token, in the shape of `position`, `(batch, [n])`."""
    mask = for_queries(mask, position, axes=2)
    # -> (batch, [n or 1])
    return ops.max(ops.where(mask, positions(mask) + 1.0, 0.0), axis=-1, initial=0.0)


def for_queries(mask, query, axes=3):
    """The mask, with an axis n of length 1 if only the query, of this rank, has one."""
    if len(query.shape) == axes and len(mask.shape) == 2:
        return ops.expand_dims(mask, axis=1)  # -> (batch, 1, source_time)
    return mask


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Everywhere(Window):
    """All real tokens (Bahdanau et al. 2015; Luong et al. 2015: global attention)."""

    def restrict(self, query, mask, state):
        return for_queries(mask, query), 1.0, ()  # (batch, [n or 1,] source_time)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LocalMonotonic(LocalWindow):
    """Window around the number of the target's step.

    p_t = t, at most the last real token      (Luong et al. 2015, section 3.2, local-m)
    mask: |s - p_t| <= D

    D is `width`, 10 by default; steps and positions count from 0. The state is t, float32
    `(batch, [n])`. Calls and errors: see `Window`.
    """

    def initial_state(self, memory):
        return ops.zeros(ops.shape(memory.mask)[:1], dtype="float32")

    def restrict(self, query, mask, state):
        position = ops.minimum(state, real_length(mask, state) - 1.0)  # p_t: (batch, [n])
        mask, _ = self.near(position, mask)
        return mask, 1.0, state + 1.0


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LocalPredictive(LocalWindow):
    """Window around a predicted position, with a Gaussian around its middle.

    p_t      = S sigmoid(v^T tanh(W h_t))             (Luong et al. 2015, eq. 9)
    gaussian = exp(-(s - p_t)^2 / (2 sigma^2)),  sigma = D / 2        (eq. 10)
    mask: |s - p_t| <= D

    S is the number of real tokens, D `width`; positions s count from 0. As in the paper, weights
    are not normalized again: they sum to less than 1. Only the factor gives p_t a gradient. Calls
    and errors: see `Window`.
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
    """Window around the median of the last weights.

    p_i = min {j: sum_{k <= j} alpha_{i-1,k} >= 1/2 sum_k alpha_{i-1,k}},  p_1 = 0
    mask: |s - p_i| <= D               (Chorowski et al. 2015, section 2.3, windowing)

    For sources that are read in order, such as speech: sentences much longer than those of the
    training stay aligned. D is `width`; positions s count from 0. Where the last weights are all
    zero, the window does not move. The state is p_i, float32 `(batch, [n])`. Calls and errors: see
    `Window`.
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
