"""A `Translator` as a LiteRT (TFLite) file: ids in, ids out, the vocabulary inside."""

import dataclasses
import io
import json
import os
import tempfile
import zipfile
from pathlib import Path

import tensorflow as tf

from keras_bahdanau.exporters import signatures
from keras_bahdanau.exporters.check import require_clean
from keras_bahdanau.exporters.parity import EDGE_CASES, litert_parity, require

QUANTIZATIONS = (None, "float16", "int8")


def export_litert(
    translator,
    path,
    quantization=None,
    max_source_length=64,
    max_target_length=64,
    sentences=None,
    allow_differences=False,
    say=lambda line: None,
):
    """Writes a file that phones run, with built-in operations only.

    Its signatures `translate` and `translate_greedy` take one sentence,
    `source` int32 `(1, max_source_length)`, right-padded with 0, and give what
    `signatures.translate_ids` says; `encode` and `decode_step` are for hosts
    that drive the loop themselves. All shapes are fixed. The SentencePiece models and a card
    (`card.json`) are packed behind the model, as a zip archive that
    `zipfile` and the LiteRT metadata tools read.

    Args:
        translator: A `Translator`.
        path: Path of the file, which must not exist.
        quantization: None for float32, "float16" for weights of 16 bits, or
            "int8" for weights of 8 bits and activations in float32 (dynamic range).
        max_source_length: Positive integer. Most source tokens, the end token included.
        max_target_length: Positive integer. Most target tokens, the end token included.
        sentences: List of strings to compare on, beside the built-in edge cases.
        allow_differences: Whether a float32 file may be written that does not
            answer as Keras does; a quantized one is compared, and may differ.
        say: Function of one string: where the comparison is told.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ValueError: If `quantization` is unknown or a length is not positive; if
            the file would be refused by a phone, or answers differently and
            `allow_differences` is False.
    """
    path = Path(path)
    _check(path, quantization, max_source_length, max_target_length)
    model = _convert(translator, quantization, max_source_length, max_target_length)
    card = {
        "max_source_length": max_source_length,
        "max_target_length": max_target_length,
        "quantization": quantization or "float32",
        "search": dataclasses.asdict(translator.search),
        "joint_vocabulary": translator.tokenizer.joint,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".unfinished-{os.getpid()}-{path.name}")
    try:
        unfinished.write_bytes(_packed(model, translator.tokenizer, card))
        require_clean(unfinished)
        parity = litert_parity(translator, unfinished, [*EDGE_CASES, *(sentences or [])])
        say(str(parity))
        require(parity, allow_differences)
        card["parity"] = dataclasses.asdict(parity)
        unfinished.write_bytes(_packed(model, translator.tokenizer, card))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _convert(translator, quantization, source_time, target_time):
    """The bytes of the converted model: four signatures over one set of weights."""
    with tempfile.TemporaryDirectory() as directory:
        # a SavedModel on the way: only from there the file gets its signatures' names
        functions = _functions(translator, source_time, target_time)
        tf.saved_model.save(signatures.weights_of(translator), directory, signatures=functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            directory, signature_keys=list(functions)
        )
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        if quantization:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        # one scale a matrix: then the lookup and the product of a tied embedding share its bytes
        converter._experimental_disable_per_channel_quantization_for_dense_layers = True
        if quantization == "float16":
            converter.target_spec.supported_types = [tf.float16]
        return converter.convert()


def _functions(translator, source_time, target_time):
    """The traced signatures, by name."""
    source = {"source": tf.TensorSpec((1, source_time), tf.int32)}
    greedy = dataclasses.replace(translator.search, beam_width=1)

    def searched(options):
        return lambda translator, source: signatures.translate_ids(
            translator, source, target_time, options
        )

    encode = signatures.traced(translator, signatures.encode, source)
    step = {"tokens": tf.TensorSpec((1,), tf.int32)} | {
        name: tf.TensorSpec(tensor.shape, tensor.dtype)
        for name, tensor in encode.structured_outputs.items()
    }
    return {
        "translate": signatures.traced(translator, searched(translator.search), source),
        "translate_greedy": signatures.traced(translator, searched(greedy), source),
        "encode": encode,
        "decode_step": signatures.traced(translator, signatures.decode_step, step),
    }


def _packed(model, tokenizer, card):
    """The bytes of the model with a zip archive of vocabularies and card behind it."""
    buffer = io.BytesIO()
    buffer.write(model)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", json.dumps(card, indent=1))
        archive.writestr("source.spm", tokenizer.source_model)
        if not tokenizer.joint:
            archive.writestr("target.spm", tokenizer.target_model)
    return buffer.getvalue()


def _check(path, quantization, max_source_length, max_target_length):
    if path.exists():
        raise FileExistsError(
            f"The output of an export must not exist yet. Received: path={str(path)!r}. "
            "Choose another name, or remove it."
        )
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            f"`quantization` must be one of {', '.join(map(repr, QUANTIZATIONS))}. "
            f"Received: quantization={quantization!r}"
        )
    for name, value in (
        ("max_source_length", max_source_length),
        ("max_target_length", max_target_length),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={value!r}")
