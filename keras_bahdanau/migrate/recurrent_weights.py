"""Recurrent cells of Keras 2, whose gates lie in another order of weights than ours."""

import keras
import numpy as np
from keras import ops

KINDS = {1: "simple", 3: "gru", 4: "lstm"}  # by the number of gates


def kind_of(saved, path):
    """(name of `layers.CELLS`, units) of a cell of Keras, by the shapes of its weights.

    Args:
        saved: `SavedObjects`.
        path: String, the path of the cell.

    Raises:
        ValueError: If there is no such cell.
    """
    units, width = saved.matrix(path, "recurrent_kernel").shape
    kind = KINDS.get(width // units)
    if kind is None or width % units:
        raise ValueError(
            "A cell must be a GRU, an LSTM or a simple one, of 3, 4 or 1 gates. Received: "
            f"recurrent_kernel={path}/recurrent_kernel of shape {(units, width)}. Check which part "
            "of the program each path names."
        )
    # with the reset gate before the product, one bias serves inputs and state
    before = kind == "gru" and saved.has(path, "bias") and saved.array(path, "bias").ndim == 1
    return ("gru-reset-before" if before else kind), units


def cells_of(saved, wrapper):
    """The paths of the wrapped cells: one, or those of `StackedRNNCells`."""
    path = f"{wrapper}/_cell"
    if f"{path}/cells" not in saved:
        return [path]
    cells = []
    while f"{path}/cells/{len(cells)}" in saved:
        cells.append(f"{path}/cells/{len(cells)}")
    kinds = {kind_of(saved, cell) for cell in cells}
    if len(kinds) != 1:
        raise ValueError(
            "Stacked cells must be of one kind and of one width. Received: "
            f"cells={path}/cells of (kind, units) {sorted(kinds)}. Train a new model."
        )
    return cells


def assign(variable, array, path):
    """Set a variable, if the shapes agree.

    Raises:
        ValueError: If they do not.
    """
    if tuple(variable.shape) != np.shape(array):
        raise ValueError(
            f"{path!r} must be of shape {tuple(variable.shape)} to fit the other parts. Received: "
            f"shape={np.shape(array)}. Check which part of the program each path names."
        )
    variable.assign(array)


def fill_keras(cell, saved, path):
    """Set the weights of a Keras cell, or of its layer, to those of a checkpoint."""
    biases = [np.zeros(weight.shape, "float32") for weight in cell.weights[2:]]
    if saved.has(path, "bias"):
        biases = [saved.array(path, "bias")]
    arrays = [saved.matrix(path, "kernel"), saved.matrix(path, "recurrent_kernel"), *biases]
    for weight, array in zip(cell.weights, arrays, strict=True):
        assign(weight, array, f"{path}/{weight.name}")


def fill_cell(cell, saved, path, inputs=None, context=None):
    """Set the weights of a cell of ours to those of a cell of Keras.

    The gates have one order, z r h and i f c o. Keras' kernel of [x; c] is two kernels here, and
    the bias of Keras' forget gate has the 1 that is a constant of `layers.LSTMCell`.

    Args:
        cell: `layers.GRUCell` or another of the cells that `kind_of` names, built.
        saved: `SavedObjects`.
        path: String, the path of the cell of Keras.
        inputs: Slice of the rows of its kernel that read the inputs; all if None.
        context: Slice of those that read the context, or None.
    """
    kernel, recurrent = saved.matrix(path, "kernel"), saved.matrix(path, "recurrent_kernel")
    units = cell.units
    biases = np.zeros((1 + cell.recurrent_bias, cell.gates * units), "float32")
    if saved.has(path, "bias"):
        biases = saved.array(path, "bias").reshape(-1, cell.gates * units)
    if cell.gates == 4:
        biases = biases - np.repeat(np.float32([0, 1, 0, 0]), units)
    rows = slice(None) if inputs is None else inputs
    assign(cell.input_projection.kernel, kernel[rows], f"{path}/kernel")
    assign(cell.input_projection.bias, biases[0], f"{path}/bias")
    if context is not None:
        assign(cell.context_projection.kernel, kernel[context], f"{path}/kernel")
    width = cell.recurrent_gates * units
    assign(cell.recurrent_projection.kernel, recurrent[:, :width], f"{path}/recurrent_kernel")
    if cell.recurrent_bias:
        assign(cell.recurrent_projection.bias, biases[1], f"{path}/bias")
    if width < recurrent.shape[1]:  # the candidate of a GRU that resets before the product
        assign(cell.candidate_projection.kernel, recurrent[:, width:], f"{path}/recurrent_kernel")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class WholeStateLSTMCell(keras.layers.LSTMCell):
    """Keras' LSTM cell that gives its memory c beside its output h: [h; c].

    So the last value of an encoder is the whole state, from which a decoder goes on.

    Args:
        units: Positive integer. Width of h and of c.

    Call arguments:
        inputs: Float tensor `(batch, input_units)`.
        states: List of two float tensors `(batch, units)`, h and c.

    Output:
        Float tensor `(batch, 2 * units)`, and the states.
    """

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.output_size = 2 * units

    def call(self, inputs, states, training=False):
        _, states = super().call(inputs, states, training=training)
        return ops.concatenate(states, axis=-1), states


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class RestartedGRUCell(keras.layers.GRUCell):
    """Keras' GRU cell that begins with zeros at each step.

    h_t = f(x_t, 0), as the decoder of TensorFlow's tutorial of 2019, which calls its GRU without
    the state of the step before.

    Args:
        units: Positive integer. Width of the state.

    Call arguments:
        inputs: Float tensor `(batch, input_units)`.
        states: List of a float tensor `(batch, units)`, whose values are not read.

    Output:
        Float tensor `(batch, units)`, and the states.
    """

    def call(self, inputs, states, training=False):
        nothing = keras.tree.map_structure(ops.zeros_like, states)
        return super().call(inputs, nothing, training=training)
