"""Conversion of models from TensorFlow's tutorial "Neural machine translation with attention"."""

import numpy as np

from keras_bahdanau.layers import AdditiveScore, Attention, DecoderCell, KerasCell, UnfedCell
from keras_bahdanau.migrate.recurrent_weights import (
    RestartedGRUCell,
    assign,
    encoder_of,
    fill_cell,
    fill_dense,
    fill_keras,
    kind_of,
)
from keras_bahdanau.migrate.saved_objects import SavedObjects
from keras_bahdanau.models import Decoder, Seq2Seq


def from_tutorial(checkpoint, *, encoder="encoder", decoder="decoder", restarts=True):
    """Return a `Seq2Seq` with the weights of the 2019 or 2021 tutorial "nmt_with_attention".

    In the 2019 tutorial, s_i = f(0, [c_i; y_{i-1}]), and c_i comes from additive attention with
    s_{i-1}. The tutorial does not pass the previous state to its GRU, but uses it only as the
    query. For programs that pass the state, use `restarts=False`.

    In the 2021 tutorial, s_i = f(s_{i-1}, y_{i-1}), c_i comes from additive attention with s_i, and
    the output layer reads tanh(W_c [c_i; s_i]).

    The decoder starts from the last state of the encoder. Both tutorials read the padding of
    shorter sources. This package never does, so the logits do not depend on the batch.

    ```python
    model = kb.migrate.from_tutorial("training_checkpoints")
    logits = model((source, target_in))
    ```

    Args:
        checkpoint: Path of a checkpoint written by
            `tf.train.Checkpoint(encoder=..., decoder=...)`, or of a directory to use its latest
            checkpoint.
        encoder: String. Path of the encoder, which has `embedding` and `gru`.
        decoder: String. Path of the decoder, which has `embedding`, `gru`, `attention` and `fc`.
        restarts: Bool. False if a program based on the 2019 tutorial passes the previous state to
            the GRU.

    Raises FileNotFoundError if the checkpoint is missing. Raises ValueError if a part is missing or
    its shape does not match the other parts, and for the 2022 version, which uses Keras'
    `MultiHeadAttention`.
    """
    saved = SavedObjects(checkpoint)
    attention = f"{decoder}/attention"
    if f"{attention}/mha" in saved:
        raise ValueError(
            "The tutorial's attention must be additive, as in its 2019 and 2021 versions. "
            "Received: "
            f"checkpoint={str(checkpoint)!r} with the multi-head attention of 2022. Train a new "
            "model, such as that of kb.presets.small."
        )
    old = f"{attention}/V" in saved
    reader, values_units = encoder_of(saved, f"{encoder}/embedding", f"{encoder}/gru")
    kind, units = _gru(saved, f"{decoder}/gru/cell")
    width = saved.matrix(f"{attention}/W1", "kernel").shape[1]
    score = AdditiveScore(width, use_bias=old, name="score")
    common = {"attention": Attention(score, name="attention"), "bridge": "identity", "name": "cell"}
    if old:
        restarted = RestartedGRUCell(units, reset_after=kind == "gru")
        cell = DecoderCell(units, cell=restarted if restarts else kind, **common)
    else:
        cell = UnfedCell(units, cell=kind, **common)
    embeddings = saved.matrix(f"{decoder}/embedding", "embeddings")
    model = Seq2Seq(
        reader,
        Decoder(
            vocabulary_size=embeddings.shape[0],
            embedding_units=embeddings.shape[1],
            cell=cell,
            readout="plain" if old else "attentional",
            readout_units=saved.matrix(f"{decoder}/fc", "kernel").shape[0],
        ),
    )
    model.build()
    fill = _fill_2019 if old else _fill_2021
    fill(model.decoder, saved, decoder, values_units)
    assign(model.decoder.embedding.embeddings, embeddings, f"{decoder}/embedding/embeddings")
    fill_dense(model.decoder.output_layer, saved, f"{decoder}/fc")
    return model


def _gru(saved, path):
    kind, units = kind_of(saved, path)
    if not kind.startswith("gru"):
        raise ValueError(
            f"The tutorial's decoder must have a GRU. Received: kind={kind!r} at {path}. For an "
            "AttentionWrapper, use `from_addons`."
        )
    return kind, units


def _fill_2019(decoder, saved, path, values_units):
    """Set the weights from three dense layers with biases and a GRU that reads [c_i; y_{i-1}]."""
    score, attention = decoder.cell.attention.score, f"{path}/attention"
    # v^T tanh(W_1 s + b_1 + W_2 h + b_2); the bias after v cancels in the softmax
    assign(score.query_projection.kernel, saved.matrix(f"{attention}/W1", "kernel"), attention)
    assign(score.key_projection.kernel, saved.matrix(f"{attention}/W2", "kernel"), attention)
    biases = [saved.array(f"{attention}/{name}", "bias") for name in ("W1", "W2")]
    assign(score.key_projection.bias, sum(biases), f"{attention}/W2/bias")
    assign(score.v, saved.matrix(f"{attention}/V", "kernel"), f"{attention}/V/kernel")
    gru, (cell,) = f"{path}/gru/cell", decoder.cell.stack.cells
    if not isinstance(cell, KerasCell):
        fill_cell(cell, saved, gru, slice(values_units, None), slice(values_units))
        return
    fill_keras(cell.cell, saved, gru)
    # in this package, the inputs are [y_{i-1}; c_i]
    kernel = np.roll(saved.matrix(gru, "kernel"), -values_units, axis=0)
    assign(cell.cell.kernel, kernel, f"{gru}/kernel")


def _fill_2021(decoder, saved, path, values_units):
    """Set the weights from two dense layers before Keras' AdditiveAttention, and one after it."""
    score, attention = decoder.cell.attention.score, f"{path}/attention"
    fill_dense(score.query_projection, saved, f"{attention}/W1")
    fill_dense(score.key_projection, saved, f"{attention}/W2")
    v = saved.array(f"{attention}/attention", "scale")
    assign(score.v, np.reshape(v, (-1, 1)), f"{attention}/attention/scale")
    fill_cell(decoder.cell.stack.cells[0], saved, f"{path}/gru/cell")
    fill_dense(decoder.readout.projection, saved, f"{path}/Wc")
