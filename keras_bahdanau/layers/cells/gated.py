"""Recurrent cells that multiply the state by a matrix: simple RNN, GRU and LSTM."""

import keras
from keras import ops

from keras_bahdanau.layers.cells.cell import ProjectedCell, initializer_config
from keras_bahdanau.layers.initializers import ORTHOGONAL
from keras_bahdanau.settings import checks


class RecurrentCell(ProjectedCell):
    """Base class of cells with a recurrent product U h.

    Subclasses implement `advance`. For arguments, see `GRUCell`.
    """

    recurrent_gates = 1  # number of blocks of U h
    recurrent_bias = False  # whether U h has a bias

    def __init__(
        self,
        units,
        recurrent_dropout=0.0,
        kernel_initializer="glorot_uniform",
        recurrent_initializer=ORTHOGONAL,
        seed=None,
        **kwargs,
    ):
        super().__init__(units, kernel_initializer, **kwargs)
        self.recurrent_dropout = checks.rate(
            "recurrent_dropout", "the dropout rate of the state", recurrent_dropout
        )
        self.recurrent_initializer = initializer_config(recurrent_initializer)
        self.seed = seed
        if recurrent_dropout:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.recurrent_projection = self.projection(
            "recurrent_projection",
            self.recurrent_gates,
            self.recurrent_initializer,
            use_bias=self.recurrent_bias,
        )

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        super().build(inputs_shape, context_shape)
        self.recurrent_projection.build((None, self.units))

    def move(self, projected, states, dropout_masks=()):
        states = self.advance(projected, _dropped(states[0], dropout_masks), states)
        return states[0], states

    def advance(self, projected, h, states):
        """Return the new states, with the output first.

        `projected` is W x + b, plus C c if there is a context. h is the state after dropout.
        """
        raise NotImplementedError

    def dropout_masks(self, batch, training):
        """Return a mask `(batch, units)` in the compute dtype, with mean 1; () without dropout."""
        if not training or not self.recurrent_dropout:
            return ()
        ones = ops.ones((batch, self.units), self.compute_dtype)
        return (keras.random.dropout(ones, self.recurrent_dropout, seed=self.seed_generator),)

    def get_config(self):
        return {
            **super().get_config(),
            "recurrent_dropout": self.recurrent_dropout,
            "recurrent_initializer": self.recurrent_initializer,
            "seed": self.seed,
        }


def _dropped(h, dropout_masks):
    if not dropout_masks:
        return h
    (mask,) = dropout_masks
    if len(h.shape) == 3:  # all hypotheses of a sentence share a mask
        mask = ops.expand_dims(mask, axis=1)  # -> (batch, 1, units)
    return h * mask


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class SimpleCell(RecurrentCell):
    """Simple recurrent cell: h' = tanh(W x + U h + b) (Elman 1990)."""

    def advance(self, projected, h, states):
        return (ops.tanh(projected + self.recurrent_projection(h)),)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GRUCell(RecurrentCell):
    """Gated recurrent unit with the reset gate after the recurrent product, as in Keras and cuDNN.

    z = sigmoid(W_z x + U_z h)
    r = sigmoid(W_r x + U_r h)
    g = tanh(W x + r * (U h + b))
    h' = z * h + (1 - z) * g                  (Cho et al. 2014, with z and 1 - z exchanged)

    Args:
        units: Positive integer. Width of the state.
        recurrent_dropout: Float in [0, 1). Fraction of the state dropped before the recurrent
            product, with one mask per sentence (Gal and Ghahramani 2016). Dropout does not apply
            to the state that is passed to the next step.
        kernel_initializer: Initializer of W, and of C if there is a context.
        recurrent_initializer: Initializer of U.
        seed: Integer for reproducible masks, or None.

    For calls and errors, see `Cell`.
    """

    gates = 3
    recurrent_gates = 3
    recurrent_bias = True

    def advance(self, projected, h, states):
        x_z, x_r, x_g = ops.split(projected, 3, axis=-1)  # -> 3 of (batch, [beam,] units)
        # U_z h, U_r h, U h + b
        u_z, u_r, u_g = ops.split(self.recurrent_projection(h), 3, axis=-1)
        z = ops.sigmoid(x_z + u_z)
        r = ops.sigmoid(x_r + u_r)
        g = ops.tanh(x_g + r * u_g)
        return (z * states[0] + (1 - z) * g,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ResetBeforeGRUCell(RecurrentCell):
    """Gated recurrent unit with the reset gate before the recurrent product, as in the papers.

    z = sigmoid(W_z x + U_z h + C_z c)
    r = sigmoid(W_r x + U_r h + C_r c)
    g = tanh(W x + U (r * h) + C c)
    h' = z * h + (1 - z) * g      (Bahdanau et al. 2015, A.1.1 and A.2.2, z and 1 - z exchanged)
    """

    gates = 3
    recurrent_gates = 2

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.candidate_projection = self.projection(
            "candidate_projection", 1, self.recurrent_initializer, use_bias=False
        )

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        super().build(inputs_shape, context_shape)
        self.candidate_projection.build((None, self.units))

    def advance(self, projected, h, states):
        x_z, x_r, x_g = ops.split(projected, 3, axis=-1)  # -> 3 of (batch, [beam,] units)
        u_z, u_r = ops.split(self.recurrent_projection(h), 2, axis=-1)  # U_z h, U_r h
        z = ops.sigmoid(x_z + u_z)
        r = ops.sigmoid(x_r + u_r)
        g = ops.tanh(x_g + self.candidate_projection(r * h))
        return (z * states[0] + (1 - z) * g,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LSTMCell(RecurrentCell):
    """Long short-term memory with a forget gate whose bias starts at 1.

    i, f, o = sigmoid(W x + U h + b), with one block for each gate
    g  = tanh(W_g x + U_g h + b_g)
    c' = f * c + i * g
    h' = o * tanh(c')                          (Gers et al. 2000; bias: Jozefowicz et al. 2015)

    The arguments are as in `GRUCell`. There are two states, (h, c).
    """

    gates = 4
    recurrent_gates = 4
    state_count = 2

    def advance(self, projected, h, states):
        c = states[1]
        # -> 4 of (batch, [beam,] units)
        i, f, g, o = ops.split(projected + self.recurrent_projection(h), 4, axis=-1)
        # the forget gate's bias of 1 is a constant here instead of an initial value
        c = ops.sigmoid(f + 1) * c + ops.sigmoid(i) * ops.tanh(g)
        return ops.sigmoid(o) * ops.tanh(self.output_memory(c)), c

    def output_memory(self, c):
        return c
