"""Conversion of a `Translator` to a LiteRT model, and what is packed behind it."""

import dataclasses
import tempfile

import tensorflow as tf

from keras_bahdanau.exporters import signatures
from keras_bahdanau.exporters.card import card_of
from keras_bahdanau.exporters.litert import metadata
from keras_bahdanau.exporters.litert.descriptions import describe
from keras_bahdanau.exporters.litert.tflite_file import (
    SOURCE,
    TARGET,
    add_metadata,
    load_schema,
    pack,
    read_metadata,
)


def packed(translator, model, precision, max_source_length, max_target_length):
    """The bytes of the whole file: the model with its metadata, vocabularies and card.

    Args:
        translator: A `Translator`.
        model: Bytes of the converted model.
        precision: String, the name of the dtype of the weights.
        max_source_length: Integer, most source tokens.
        max_target_length: Integer, most target tokens.
    """
    tokenizer = translator.tokenizer
    files = {SOURCE: tokenizer.source_model}
    if not tokenizer.joint:
        files[TARGET] = tokenizer.target_model
    card = {
        **card_of(translator),
        "min_runtime_version": read_metadata(model)["min_runtime_version"].rstrip(b"\0").decode(),
        "max_source_length": max_source_length,
        "max_target_length": max_target_length,
        "quantization": precision,
        "joint_vocabulary": tokenizer.joint,
        "parity": [],
    }
    described = describe(load_schema().Model.GetRootAs(model), card, list(files))
    return pack(add_metadata(model, metadata.ENTRY, metadata.to_bytes(described)), files, card)


def convert(translator, quantization, source_time, target_time):
    """The bytes of the converted model: four signatures over one set of weights.

    Args:
        translator: A `Translator`.
        quantization: None, "float16" or "int8", as in `export_litert`.
        source_time: Integer, most source tokens.
        target_time: Integer, most target tokens.
    """
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
