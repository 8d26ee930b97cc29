"""The layer that reads a sequence from left to right, whatever its cell."""

import functools

import keras
from keras import ops

from keras_bahdanau.layers.cells.keras_cell import CELLS, KerasCell
from keras_bahdanau.layers.initializers import ORTHOGONAL
from keras_bahdanau.layers.registry import from_config

STOCK = {  # the kinds of cells for which Keras has a layer: fast on CPU, some on cuDNN
    "simple": keras.layers.SimpleRNN,
    "gru": keras.layers.GRU,
    "gru-reset-before": functools.partial(keras.layers.GRU, reset_after=False),
    "lstm": keras.layers.LSTM,
}


def new_rnn(cell, units, recurrent_dropout=0.0, **kwargs):
    """A layer `(batch, time, input_units) -> (batch, time, units)`, left to right.

    It is Keras' own layer where Keras has one and nothing is dropped between the
    steps. Keras' recurrent dropout draws its masks in inference too, and leaves
    random operations in every export, so with it our own cell is scanned.

    Args:
        cell: A name of `layers.CELLS`, or a Keras cell, of which a copy is taken.
        units: Positive integer. Width of the state.
        recurrent_dropout: Float in [0, 1). Share of the state that a step does not
            see in training: one choice for all steps of a sentence.
        **kwargs: Name and dtype of the layer.

    Raises:
        ValueError: If there is no cell of this name, or a Keras cell has another width.
        TypeError: If `cell` is neither a name nor a Keras cell.
    """
    if isinstance(cell, str) and cell in STOCK and not recurrent_dropout:
        options = {"return_sequences": True, "recurrent_initializer": ORTHOGONAL}
        return STOCK[cell](units, **options, **kwargs)
    dtype = kwargs.get("dtype")
    cell = CELLS.get(cell, units, recurrent_dropout=recurrent_dropout, name="cell", dtype=dtype)
    return ScannedRNN(cell, **kwargs)


def read_up_to(layer, inputs, steps):
    """The output of a layer that `new_rnn` made, of the first `steps` alone.

    Args:
        layer: The layer, built.
        inputs: Float tensor `(batch, time, input_units)`.
        steps: Int32 scalar. What the output holds behind so many steps means nothing.
    """
    scanned = isinstance(layer, ScannedRNN)
    # a stock cell that is built already: its wrapper adds no weights
    cell = layer.cell if scanned else KerasCell(layer.cell, dtype=layer.dtype_policy)
    return cell.sequence(cell.project(inputs), _zeros(cell.state_sizes, inputs), steps=steps)


def state_sizes(layer):
    """The widths of the states of a layer that `new_rnn` made."""
    if isinstance(layer, ScannedRNN):
        return layer.cell.state_sizes
    sizes = layer.cell.state_size
    return tuple(sizes) if isinstance(sizes, list | tuple) else (sizes,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ScannedRNN(keras.layers.Layer):
    """Read a sequence from left to right with one of our cells.

    h_t = f(x_t, h_{t-1}),   h_0 = 0

    The products with the inputs are taken for all steps at once, before the loop.

    Args:
        cell: A `Cell`.

    Call arguments:
        inputs: Float tensor `(batch, time, input_units)`.
        initial_state: List of float tensors `(batch, size)` in place of h_0 = 0.
        training: Python bool. True if the cell drops part of its state.

    Output:
        Float tensor `(batch, time, units)`: the output of the cell at each step.
    """

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        self.cell = cell

    def build(self, inputs_shape):
        self.cell.build(inputs_shape)

    def call(self, inputs, initial_state=None, training=None):
        if initial_state is None:
            initial_state = _zeros(state_sizes(self), inputs)
        dropout_masks = self.cell.dropout_masks(ops.shape(inputs)[0], training)
        # the products of all steps at once: (batch, time, any width)
        return self.cell.sequence(self.cell.project(inputs), tuple(initial_state), dropout_masks)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.cell.output_units)

    def get_config(self):
        return {**super().get_config(), "cell": keras.saving.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "cell": from_config(config["cell"])})


def _zeros(sizes, inputs):
    """h_0 of a row: a tuple of `(batch, size)`."""
    return tuple(ops.zeros((ops.shape(inputs)[0], size), inputs.dtype) for size in sizes)
