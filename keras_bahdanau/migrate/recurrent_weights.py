"""Conversion of the weights of Keras 2 layers: recurrent cells, encoders and dense layers."""

import keras
import numpy as np
from keras import ops

from keras_bahdanau.models import Encoder

KINDS = {1: "simple", 3: "gru", 4: "lstm"}  # kind for each number of gates


def kind_of(saved, path):
    """Return (name in `layers.CELLS`, units) of a Keras cell, from the shapes of its weights."""
    units, width = saved.matrix(path, "recurrent_kernel").shape
    kind = KINDS.get(width // units)
    if kind is None or width % units:
        raise ValueError(
            "A cell must be a GRU, an LSTM or a simple RNN, with 3, 4 or 1 gates. Received: "
            f"recurrent_kernel={path}/recurrent_kernel of shape {(units, width)}. Check which part "
            "of the program each path names."
        )
    # a GRU with the reset gate before the recurrent product has only one bias
    before = kind == "gru" and saved.has(path, "bias") and saved.array(path, "bias").ndim == 1
    return ("gru-reset-before" if before else kind), units


def cells_of(saved, wrapper):
    """Return the paths of the wrapped cells: a single path, or those of `StackedRNNCells`."""
    path = f"{wrapper}/_cell"
    if f"{path}/cells" not in saved:
        return [path]
    cells = []
    while f"{path}/cells/{len(cells)}" in saved:
        cells.append(f"{path}/cells/{len(cells)}")
    kinds = {kind_of(saved, cell) for cell in cells}
    if len(kinds) != 1:
        raise ValueError(
            "Stacked cells must have the same kind and width. Received: "
            f"cells={path}/cells with (kind, units) {sorted(kinds)}. Train a new model."
        )
    return cells


def assign(variable, array, path):
    """Set a variable; raise ValueError if the shapes differ."""
    if tuple(variable.shape) != np.shape(array):
        raise ValueError(
            f"{path!r} must have shape {tuple(variable.shape)} to fit the other parts. Received: "
            f"shape={np.shape(array)}. Check which part of the program each path names."
        )
    variable.assign(array)


def fill_keras(cell, saved, path):
    """Set the weights of a Keras cell, or of a layer with this cell, from a checkpoint."""
    biases = [np.zeros(weight.shape, "float32") for weight in cell.weights[2:]]
    if saved.has(path, "bias"):
        biases = [saved.array(path, "bias")]
    arrays = [saved.matrix(path, "kernel"), saved.matrix(path, "recurrent_kernel"), *biases]
    for weight, array in zip(cell.weights, arrays, strict=True):
        assign(weight, array, f"{path}/{weight.name}")


def fill_cell(cell, saved, path, inputs=None, context=None):
    """Set the weights of a cell of this package from a Keras cell.

    Both kinds of cell order the gates as z r h and i f c o. `inputs` and `context` are slices of
    the rows of Keras' kernel for [x; c]: `inputs` is None for all rows, and `context` is None for
    no context. Keras adds 1 to the bias of the forget gate; this 1 is subtracted here.
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
    if width < recurrent.shape[1]:  # the last columns belong to the candidate of a GRU
        assign(cell.candidate_projection.kernel, recurrent[:, width:], f"{path}/recurrent_kernel")


def encoder_of(saved, embedding, recurrent, whole_state=False):
    """Return (built `Encoder`, width of h_j) for an embedding and a GRU or LSTM.

    The recurrent layer may be `Bidirectional`. With `whole_state`, the values of an LSTM are
    [h_j; c_j], and the last of them is the initial state of the decoder.
    """
    embeddings = saved.matrix(embedding, "embeddings")
    both = f"{recurrent}/backward_layer" in saved
    paths = [f"{recurrent}/forward_layer/cell", f"{recurrent}/backward_layer/cell"]
    paths = paths if both else [f"{recurrent}/cell"]
    kind, units = kind_of(saved, paths[0])
    whole_lstm = whole_state and kind == "lstm"
    if whole_lstm and both:
        raise ValueError(
            "A decoder can start from the state of an LSTM only if it has one direction. Received: "
            f"bridge='identity', encoder={recurrent!r}, which has two. Set `bridge` to 'zeros', or "
            "to the path of a dense layer."
        )
    encoder = Encoder(
        vocabulary_size=embeddings.shape[0],
        embedding_units=embeddings.shape[1],
        units=2 * units if whole_lstm else units,
        cell=WholeStateLSTMCell(units) if whole_lstm else kind,
        kind="bidirectional" if both else "unidirectional",
        summary="last",
    )
    encoder.build()
    assign(encoder.front_end.embedding.embeddings, embeddings, f"{embedding}/embeddings")
    reader = encoder.readers[0]
    layers = [reader.forward_layer, *([reader.backward_layer] if both else [])]
    for layer, path in zip(layers, paths, strict=True):
        cell = layer.cell.cell if whole_lstm else layer.cell
        fill_keras(cell, saved, path)
    return encoder, units * len(paths)


def check_whole_state(reader, encoder, kind, units, depth):
    """Raise ValueError unless the encoder's last state is as wide as all cell states together."""
    width = depth * units * (2 if kind == "lstm" else 1)
    if reader.values_units != width:
        raise ValueError(
            "A decoder that starts from the last state of the encoder must have states of the same "
            f"total width, {reader.values_units}. Received: bridge='identity', encoder={encoder!r}"
            f", cell={kind!r}, units={units}, depth={depth}. Set `bridge` to 'zeros', or to the "
            "path of a dense layer."
        )


def fill_dense(layer, saved, path, kernel=None):
    """Set the weights of a dense layer, from `kernel` if it is given; a missing bias becomes 0."""
    kernel = saved.matrix(path, "kernel") if kernel is None else kernel
    assign(layer.kernel, kernel, f"{path}/kernel")
    if layer.use_bias:
        bias = saved.array(path, "bias") if saved.has(path, "bias") else np.zeros(layer.units)
        assign(layer.bias, bias, f"{path}/bias")
    elif saved.has(path, "bias"):
        raise ValueError(
            f"{path!r} must be a layer without a bias. Received: bias={path}/bias. Check which "
            "part of the program each path names."
        )


def padded_rows(kernel, units, rows):
    """Append zero rows to a kernel that has `units` rows; `assign` rejects any other kernel."""
    more = rows - units if len(kernel) == units else 0
    return np.concatenate([kernel, np.zeros((more, kernel.shape[1]), "float32")])


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class WholeStateLSTMCell(keras.layers.LSTMCell):
    """Keras' LSTM cell with output [h; c], `(batch, 2 * units)`, the decoder's initial state."""

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.output_size = 2 * units

    def call(self, inputs, states, training=False):
        _, states = super().call(inputs, states, training=training)
        return ops.concatenate(states, axis=-1), states


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class RestartedGRUCell(keras.layers.GRUCell):
    """Keras' GRU cell restarted at each step, h_t = f(x_t, 0), as in TensorFlow's 2019 tutorial."""

    def call(self, inputs, states, training=False):
        zeros = keras.tree.map_structure(ops.zeros_like, states)
        return super().call(inputs, zeros, training=training)
