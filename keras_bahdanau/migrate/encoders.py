"""The embedding and the recurrent layer of an encoder, and the decoder's first state."""

import numpy as np

from keras_bahdanau.migrate.recurrent_weights import (
    WholeStateLSTMCell,
    assign,
    fill_keras,
    kind_of,
)
from keras_bahdanau.models import Encoder


def encoder_of(saved, embedding, recurrent, whole_state=False):
    """The `Encoder` of an embedding and a GRU or LSTM, of one direction or `Bidirectional`.

    Args:
        saved: `SavedObjects`.
        embedding: String, the path of a `tf.keras.layers.Embedding`.
        recurrent: String, the path of the recurrent layer.
        whole_state: Bool. True if the decoder begins with the state of the recurrent layer. The
            values of an LSTM then are [h_j; c_j], since its state has c, too.

    Returns:
        Pair of the encoder, built, and the width of h_j in its values.

    Raises:
        ValueError: If a part is missing, or the state of an LSTM of two directions is wanted.
    """
    embeddings = saved.matrix(embedding, "embeddings")
    both = f"{recurrent}/backward_layer" in saved
    paths = [f"{recurrent}/forward_layer/cell", f"{recurrent}/backward_layer/cell"]
    paths = paths if both else [f"{recurrent}/cell"]
    kind, units = kind_of(saved, paths[0])
    with_memory = whole_state and kind == "lstm"
    if with_memory and both:
        raise ValueError(
            "A decoder can begin with the state of an LSTM of one direction. Received: "
            f"bridge='identity', encoder={recurrent!r}, which has two. Give 'zeros', or the path "
            "of a dense layer."
        )
    encoder = Encoder(
        vocabulary_size=embeddings.shape[0],
        embedding_units=embeddings.shape[1],
        units=2 * units if with_memory else units,
        cell=WholeStateLSTMCell(units) if with_memory else kind,
        kind="bidirectional" if both else "unidirectional",
        summary="last",
    )
    encoder.build()
    assign(encoder.front_end.embedding.embeddings, embeddings, f"{embedding}/embeddings")
    reader = encoder.readers[0]
    layers = [reader.forward_layer, *([reader.backward_layer] if both else [])]
    for layer, path in zip(layers, paths, strict=True):
        cell = layer.cell.cell if with_memory else layer.cell
        fill_keras(cell, saved, path)
    return encoder, units * len(paths)


def check_whole_state(reader, encoder, kind, units, depth):
    """Raise ValueError if the last state of an encoder is not as wide as those of the cells."""
    width = depth * units * (2 if kind == "lstm" else 1)
    if reader.values_units != width:
        raise ValueError(
            "A decoder that begins with the last state of the encoder must have states as wide, "
            f"{reader.values_units} together. Received: bridge='identity', encoder={encoder!r}, "
            f"cell={kind!r}, units={units}, depth={depth}. Give 'zeros', or the path of a dense "
            "layer."
        )


def fill_dense(layer, saved, path, kernel=None):
    """Set the weights of a dense layer to those of a checkpoint, no bias being one of zeros.

    Args:
        layer: `keras.layers.Dense`, built.
        saved: `SavedObjects`.
        path: String, the path of the layer.
        kernel: Array in place of the layer's kernel, such as one whose rows were moved.
    """
    assign(
        layer.kernel, saved.matrix(path, "kernel") if kernel is None else kernel, f"{path}/kernel"
    )
    if layer.use_bias:
        bias = saved.array(path, "bias") if saved.has(path, "bias") else None
        assign(layer.bias, np.zeros(layer.units) if bias is None else bias, f"{path}/bias")
    elif saved.has(path, "bias"):
        raise ValueError(
            f"{path!r} must be a layer without bias. Received: bias={path}/bias. Check which "
            "part of the program each path names."
        )


def padded_rows(kernel, units, rows):
    """A kernel of `units` inputs with zeros below, up to a number of rows: inputs it does not read.

    One of other inputs stays as it is, for `assign` to refuse.
    """
    more = rows - units if len(kernel) == units else 0
    return np.concatenate([kernel, np.zeros((more, kernel.shape[1]), "float32")])
