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

SIGNATURE = "translate"
QUANTIZATIONS = (None, "int8")


def export_litert(
    translator, path, quantization=None, max_source_length=64, max_target_length=64
):
    """Writes a file that phones run, with built-in operations only.

    Its signature `translate` takes one sentence, `source` int32
    `(1, max_source_length)`, right-padded with 0, and gives what
    `signatures.translate_ids` says. The SentencePiece models and a card
    (`card.json`) are packed behind the model, as a zip archive that
    `zipfile` and the LiteRT metadata tools read.

    Args:
        translator: A `Translator`.
        path: Path of the file, which must not exist.
        quantization: None for float32, or "int8" for weights of 8 bits and
            activations in float32 (dynamic range).
        max_source_length: Positive integer. Most source tokens, the end token included.
        max_target_length: Positive integer. Most target tokens, the end token included.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ValueError: If `quantization` is unknown or a length is not positive.
    """
    path = Path(path)
    _check(path, quantization, max_source_length, max_target_length)
    model = _convert(translator, quantization, max_source_length, max_target_length)
    card = {
        "signature": SIGNATURE,
        "max_source_length": max_source_length,
        "max_target_length": max_target_length,
        "quantization": quantization or "float32",
        "search": dataclasses.asdict(translator.search),
        "joint_vocabulary": translator.tokenizer.joint,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".unfinished-{os.getpid()}-{path.name}")
    try:
        unfinished.write_bytes(model + _archive(translator.tokenizer, card))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _convert(translator, quantization, source_time, target_time):
    """The bytes of the converted model."""
    source = tf.TensorSpec((1, source_time), tf.int32, name="source")
    module = tf.Module()
    module.weights = [weight.value for weight in translator.model.weights]
    with signatures.portable(translator.model), tempfile.TemporaryDirectory() as directory:
        function = tf.function(
            lambda source: signatures.translate_ids(translator, source, target_time),
            input_signature=[source],
        ).get_concrete_function()
        # a SavedModel on the way: only from there the file gets its signature's name
        tf.saved_model.save(module, directory, signatures={SIGNATURE: function})
        return _converted(directory, quantization)


def _converted(directory, quantization):
    converter = tf.lite.TFLiteConverter.from_saved_model(directory, signature_keys=[SIGNATURE])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantization == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter.convert()


def _archive(tokenizer, card):
    """A zip archive with the vocabularies and the card, to stand behind the model."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
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
