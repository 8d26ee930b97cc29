"""Conversion of encoders and decoders that use the AttentionWrapper of TensorFlow Addons."""

import keras
import numpy as np

from keras_bahdanau.layers import (
    AdditiveScore,
    Attention,
    GeneralScore,
    InputFeedingCell,
    Monotonic,
)
from keras_bahdanau.layers.attention.normalizers import Hardmax, Softmax
from keras_bahdanau.migrate.recurrent_weights import (
    assign,
    cells_of,
    check_whole_state,
    encoder_of,
    fill_cell,
    fill_dense,
    kind_of,
    padded_rows,
)
from keras_bahdanau.migrate.saved_objects import SavedObjects
from keras_bahdanau.models import Decoder, Seq2Seq
from keras_bahdanau.settings import checks

PROBABILITIES = {"softmax": Softmax, "hardmax": Hardmax}
MODES = ("parallel", "recursive", "hard")
BRIDGES = ("identity", "zeros")  # any other value is the path of a dense layer
ACTIVATIONS = (None, "tanh", "relu", "sigmoid")


def from_addons(
    checkpoint,
    *,
    encoder="encoder/lstm_layer",
    source_embedding="encoder/embedding",
    target_embedding="decoder/embedding",
    output="decoder/fc",
    wrapper=None,
    bridge="identity",
    output_attention=True,
    attention_activation=None,
    probability_fn="softmax",
    mode="parallel",
    sigmoid_noise=0.0,
):
    """Return a built `Seq2Seq` with the weights of a `tfa.seq2seq` model (TensorFlow Addons 0.23).

    The encoder must consist of an embedding and one GRU or LSTM, `Bidirectional` or not. The
    decoder must consist of an embedding, an `AttentionWrapper` around cells, and a dense output
    layer. Its attention must be `BahdanauAttention`, `LuongAttention`, `BahdanauMonotonicAttention`
    or `LuongMonotonicAttention`; `normalize` and `scale` are inferred from the weights. The logits
    are the same as those of the old program if the source has no padding, or if the old program
    masks it:

    s_i  = f(s_{i-1}, [y_{i-1}; a_{i-1}])
    a_i  = W [s_i; c_i],   c_i = sum_j alpha_ij h_j,   alpha_i from s_i

    ```python
    model = kb.migrate.from_addons("training_checkpoints")  # from the TFA tutorial
    logits = model((source, target_in))
    ```

    The path of each part consists of attribute names in the program that wrote the checkpoint. For
    example, if the decoder of `tf.train.Checkpoint(encoder=..., decoder=...)` has `self.fc`, the
    path of this layer is "decoder/fc". The default paths are from the TensorFlow Addons tutorial.

    Args:
        checkpoint: Path of a checkpoint, or of a directory to use its latest checkpoint.
        encoder: String. Path of the recurrent layer of the encoder.
        source_embedding: String. Path of the encoder's `Embedding`.
        target_embedding: String. Path of the decoder's `Embedding`.
        output: String. Path of the dense output layer.
        wrapper: String. Path of the `AttentionWrapper`; can be None if there is only one.
        bridge: Initial state of the cell: "identity" for the last state of the encoder; "zeros"; or
            the path of a dense layer with tanh that reads the last states of all directions.
        output_attention: Bool, as in the `AttentionWrapper`.
        attention_activation: Activation of a custom `attention_layer`: None, "tanh", "relu" or
            "sigmoid".
        probability_fn: "softmax" or "hardmax" (`layers.Hardmax`, which has no gradient). Used only
            for attention that is not monotonic.
        mode: "parallel", "recursive" or "hard". Used only for monotonic attention.
        sigmoid_noise: Float, at least 0. Used only for monotonic attention, and only in training,
            whereas Addons adds the noise in inference as well.

    Raises FileNotFoundError if the checkpoint is missing. Raises ValueError if a part is missing or
    its shape does not match the other parts, or if a setting is unknown.
    """
    saved = SavedObjects(checkpoint)
    wrapper = _wrapper_of(saved) if wrapper is None else wrapper
    mechanism = _mechanism_of(saved, wrapper)
    attention = _new_attention(saved, mechanism, probability_fn, mode, sigmoid_noise)
    checks.choice("attention_activation", attention_activation, ACTIVATIONS)
    identity = bridge == "identity"
    reader, values_units = encoder_of(saved, source_embedding, encoder, whole_state=identity)
    cells = cells_of(saved, wrapper)
    kind, units = kind_of(saved, cells[0])
    if identity:
        check_whole_state(reader, encoder, kind, units, len(cells))
    whole = bool(reader.values_units > values_units)
    layer = f"{wrapper}/_attention_layers/0"
    attentional = _new_attentional(saved, layer, attention_activation, values_units, whole)
    cell = InputFeedingCell(
        units,
        attention,
        attentional=attentional,
        output="attentional" if output_attention else "state",
        cell=kind,
        depth=len(cells),
        bridge=bridge if bridge in BRIDGES else "summary",
        name="cell",
    )
    embeddings = saved.matrix(target_embedding, "embeddings")
    decoder = Decoder(
        vocabulary_size=embeddings.shape[0],
        embedding_units=embeddings.shape[1],
        cell=cell,
        readout="plain",
        readout_units=saved.matrix(output, "kernel").shape[0],
    )
    model = Seq2Seq(reader, decoder)
    model.build()
    if bridge not in BRIDGES:
        fill_dense(cell.bridge.projection, saved, bridge)
    _fill_attention(attention, saved, mechanism, values_units)
    _fill_attentional(cell, saved, layer, values_units)
    _fill_cells(cell, saved, cells, embeddings.shape[1])
    assign(decoder.embedding.embeddings, embeddings, f"{target_embedding}/embeddings")
    fill_dense(decoder.output_layer, saved, output)
    return model


def _wrapper_of(saved):
    wrappers = saved.paths_of("_cell", "_attention_mechanisms")
    if len(wrappers) == 1:
        return wrappers[0]
    advice = "For a model from the TensorFlow tutorial, use `from_tutorial`."
    if wrappers:
        advice = f"Set `wrapper` to one of {wrappers}."
    raise saved.missing("one AttentionWrapper", advice)


def _mechanism_of(saved, wrapper):
    path = f"{wrapper}/_attention_mechanisms"
    if f"{path}/1" in saved:
        raise ValueError(
            "An AttentionWrapper must have one attention mechanism. Received: "
            f"wrapper={wrapper!r} with several. Train a new kb.Decoder with `heads`."
        )
    if f"{path}/0" not in saved:
        raise saved.missing(path)
    return f"{path}/0"


def _new_attention(saved, path, probability_fn, mode, sigmoid_noise):
    """Return a new attention of the same kind as the mechanism, inferred from its weights."""
    checks.choice("probability_fn", probability_fn, PROBABILITIES)
    checks.choice("mode", mode, MODES)
    normalizer = PROBABILITIES[probability_fn](name="normalizer")
    if saved.has(path, "attention_score_bias"):
        normalizer = Monotonic(hard=mode == "hard", score_noise=sigmoid_noise)
    if saved.has(path, "attention_v"):
        units = saved.array(path, "attention_v").size
        score = AdditiveScore(units, use_bias=saved.has(path, "attention_b"), name="score")
    else:
        score = GeneralScore(name="score")
    return Attention(score, normalizer=normalizer, name="attention")


def _fill_attention(attention, saved, path, values_units):
    """Set the weights of score and normalizer: v' = g v / |v|, and e_ij = g s_i^T W h_j."""
    score, scale = attention.score, 1.0
    if saved.has(path, "attention_g"):
        scale = saved.array(path, "attention_g")
    keys = saved.matrix(f"{path}/memory_layer", "kernel")
    keys = padded_rows(keys, values_units, score.key_projection.kernel.shape[0])
    where = f"{path}/memory_layer/kernel"
    if saved.has(path, "attention_v"):
        v = saved.array(path, "attention_v")
        if saved.has(path, "attention_b"):  # normalize=True
            v, bias = v / np.linalg.norm(v), saved.array(path, "attention_b")
            assign(score.key_projection.bias, bias, f"{path}/attention_b")
        assign(score.v, np.reshape(scale * v, (-1, 1)), f"{path}/attention_v")
        assign(score.key_projection.kernel, keys, where)
        fill_dense(score.query_projection, saved, f"{path}/query_layer")
    else:
        assign(score.key_projection.kernel, scale * keys, where)
    if saved.has(path, "attention_score_bias"):
        bias = saved.array(path, "attention_score_bias")
        assign(attention.normalizer.r, bias, f"{path}/attention_score_bias")


def _fill_cells(cell, saved, paths, embedding_units):
    lowest, *upper = cell.stack.cells
    inputs, context = slice(embedding_units), slice(embedding_units, None)  # [y_{i-1}; a_{i-1}]
    fill_cell(lowest, saved, paths[0], inputs, context)
    for upper_cell, path in zip(upper, paths[1:], strict=True):
        fill_cell(upper_cell, saved, path)


def _new_attentional(saved, layer, activation, values_units, whole):
    """Return the layer that maps [c_i; s_i] to a_i, or "context" if a_i = c_i."""
    if layer in saved:
        return keras.layers.Dense(
            saved.matrix(layer, "kernel").shape[1],
            activation=activation,
            use_bias=saved.has(layer, "bias"),
            name="attentional",
        )
    if whole:  # selects h_j from the values [h_j; c_j]
        return keras.layers.Dense(values_units, use_bias=False, name="attentional")
    return "context"


def _fill_attentional(cell, saved, path, values_units):
    """Set the weights of the layer, which reads [s_i; c_i] in Addons and [c_i; s_i] here."""
    if cell.attentional is None:
        return
    rows = cell.attentional.kernel.shape[0] - cell.units  # width of the context
    if path not in saved:
        kernel = np.eye(rows + cell.units, values_units, dtype="float32")
        assign(cell.attentional.kernel, kernel, path)
        return
    kernel = saved.matrix(path, "kernel")
    context = padded_rows(kernel[cell.units :], values_units, rows)
    kernel = np.concatenate([context, kernel[: cell.units]])
    fill_dense(cell.attentional, saved, path, kernel)
