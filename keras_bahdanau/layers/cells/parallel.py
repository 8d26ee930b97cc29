"""Parallel recurrences: cells that do not multiply the state by a matrix."""

import keras
from keras import ops

from keras_bahdanau.layers.cells.cell import ProjectedCell
from keras_bahdanau.layers.rules import check_layer, undropped_rules


class ParallelCell(ProjectedCell):
    """Base class of cells without a recurrent product, which need only one product before the loop.

    Raises ValueError unless `recurrent_dropout` is 0.
    """

    def __init__(self, units, recurrent_dropout=0.0, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(units, kernel_initializer, **kwargs)
        check_layer(undropped_rules, {"recurrent_dropout": recurrent_dropout})


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class SSRUCell(ParallelCell):
    """Simpler simple recurrent unit (SSRU), as in the decoders of Marian and Firefox.

    f  = sigmoid(W_f x + b_f)
    c' = f * c + (1 - f) * (W x + b)
    h  = max(0, c')                    (Kim et al. 2019, "From research to production and back")
    """

    gates = 2

    def move(self, projected, states, dropout_masks=()):
        x_f, x = ops.split(projected, 2, axis=-1)  # -> 2 of (batch, [beam,] units)
        f = ops.sigmoid(x_f)
        c = f * states[0] + (1 - f) * x
        return ops.relu(c), (c,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class SRUCell(ParallelCell):
    """Simple recurrent unit (SRU), whose gates depend on the state element by element.

    f  = sigmoid(W_f x + v_f * c + b_f)
    r  = sigmoid(W_r x + v_r * c + b_r)
    c' = f * c + (1 - f) * (W x + b)
    h  = r * c' + (1 - r) * (W_h x + b_h)      (Lei et al. 2018, eq. 1 to 4, with W_h x instead of
                                               x, whose width may differ)
    """

    gates = 4

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        super().build(inputs_shape, context_shape)
        self.forget_weight, self.reset_weight = (
            self.add_weight(
                shape=(self.units,), initializer=keras.initializers.RandomUniform(-1, 1), name=name
            )
            for name in ("forget_weight", "reset_weight")
        )

    def move(self, projected, states, dropout_masks=()):
        (c,) = states
        # -> 4 of (batch, [beam,] units)
        x_f, x_r, x, highway = ops.split(projected, 4, axis=-1)
        f = ops.sigmoid(x_f + ops.cast(self.forget_weight, c.dtype) * c)
        r = ops.sigmoid(x_r + ops.cast(self.reset_weight, c.dtype) * c)
        c = f * c + (1 - f) * x
        return r * c + (1 - r) * highway, (c,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MinGRUCell(ParallelCell):
    """Minimal gated recurrent unit (minGRU).

    z  = sigmoid(W_z x + b_z)
    h' = (1 - z) * h + z * (W x + b)      (Feng et al. 2024, "Were RNNs all we needed?", 3.1)
    """

    gates = 2

    def move(self, projected, states, dropout_masks=()):
        x_z, x = ops.split(projected, 2, axis=-1)  # -> 2 of (batch, [beam,] units)
        z = ops.sigmoid(x_z)
        h = (1 - z) * states[0] + z * x
        return h, (h,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MinLSTMCell(ParallelCell):
    """Minimal long short-term memory (minLSTM), with two gates that are scaled to sum to 1.

    f, i = sigmoid(W_f x + b_f), sigmoid(W_i x + b_i)
    h'   = f / (f + i) * h + i / (f + i) * (W x + b)      (Feng et al. 2024, section 3.2)
    """

    gates = 3

    def move(self, projected, states, dropout_masks=()):
        x_f, x_i, x = ops.split(projected, 3, axis=-1)  # -> 3 of (batch, [beam,] units)
        # f / (f + i) = sigmoid(log f - log i), which avoids dividing by a small number
        f = ops.sigmoid(ops.log_sigmoid(x_f) - ops.log_sigmoid(x_i))
        h = f * states[0] + (1 - f) * x
        return h, (h,)
