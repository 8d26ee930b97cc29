"""Recurrent cells in two parts: what the inputs give, and what the state adds.

A decoder knows the teacher's tokens beforehand, so `project` (the products
with the inputs) runs once for all steps, and only `step` (the products with
the state) stays in the loop. `keras.layers.GRUCell` does both in one call.
"""

import keras
from keras import ops

from keras_bahdanau.layers import checks


class RecurrentCell(keras.layers.Layer):
    """Base of the cells: `gates` blocks of `units` from the input, and from the state.

    Subclasses set `gates` and `state_count` and write `step`.

    Args:
        units: Positive integer. Width of each state.

    Call arguments:
        inputs: Float tensor `(..., input_units)`.
        states: Tuple of `state_count` float tensors `(..., units)`.

    Output:
        The new states; the first is what the cell says to the world.
    """

    gates = 1
    state_count = 1
    recurrent_bias = False

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the state", units)
        width = self.gates * units
        self.input_projection = keras.layers.Dense(
            width, dtype=self.dtype_policy, name="input_projection"
        )
        self.recurrent_projection = keras.layers.Dense(
            width,
            use_bias=self.recurrent_bias,
            kernel_initializer="orthogonal",
            dtype=self.dtype_policy,
            name="recurrent_projection",
        )

    def build(self, inputs_shape, states_shape=None):
        self.input_projection.build(inputs_shape)
        self.recurrent_projection.build((None, self.units))

    def project(self, inputs):
        """W x + b: `(..., input_units)` -> `(..., gates * units)`."""
        return self.input_projection(inputs)

    def step(self, projected, states):
        """New states from a projected input and the old states."""
        raise NotImplementedError

    def call(self, inputs, states):
        return self.step(self.project(inputs), states)

    def compute_output_shape(self, inputs_shape, states_shape):
        return tuple(states_shape)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GRUCell(RecurrentCell):
    """Gated recurrent unit, reset after the recurrent product, as Keras and cuDNN have it.

    z = sigmoid(W_z x + U_z h)
    r = sigmoid(W_r x + U_r h)
    g = tanh(W x + r * (U h + b))
    h' = z * h + (1 - z) * g                  (Cho et al. 2014, with z and 1 - z exchanged)

    Arguments and output: see `RecurrentCell`; one state.
    """

    gates = 3
    recurrent_bias = True

    def step(self, projected, states):
        (h,) = states
        x_z, x_r, x_g = ops.split(projected, 3, axis=-1)
        u_z, u_r, u_g = ops.split(self.recurrent_projection(h), 3, axis=-1)
        z = ops.sigmoid(x_z + u_z)
        r = ops.sigmoid(x_r + u_r)
        g = ops.tanh(x_g + r * u_g)
        return (z * h + (1 - z) * g,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LSTMCell(RecurrentCell):
    """Long short-term memory with a forget gate whose bias starts at 1.

    i, f, o = sigmoid(W x + U h + b), each its own block
    g  = tanh(W_g x + U_g h + b_g)
    c' = f * c + i * g
    h' = o * tanh(c')                          (Gers et al. 2000; bias: Jozefowicz et al. 2015)

    Arguments and output: see `RecurrentCell`; two states, (h, c).
    """

    gates = 4
    state_count = 2

    def step(self, projected, states):
        h, c = states
        i, f, g, o = ops.split(projected + self.recurrent_projection(h), 4, axis=-1)
        # the forget gate's 1 is a constant here, not an initial value: the same family of cells
        c = ops.sigmoid(f + 1) * c + ops.sigmoid(i) * ops.tanh(g)
        return ops.sigmoid(o) * ops.tanh(c), c


CELLS = {"gru": GRUCell, "lstm": LSTMCell}


def new_cell(kind, units, **kwargs):
    """The cell called "gru" or "lstm"."""
    return CELLS[checks.choice("cell", kind, CELLS)](units, **kwargs)
