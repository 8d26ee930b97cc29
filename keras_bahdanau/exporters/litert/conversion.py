"""Convert a `Pipeline` to a LiteRT model, and pack it with its files."""

import dataclasses
import tempfile

import tensorflow as tf

from keras_bahdanau.exporters.card import TARGET, card_of, sha256, vocabulary_files
from keras_bahdanau.exporters.litert import device_signatures, metadata
from keras_bahdanau.exporters.litert.compress.rewriting import rewritten
from keras_bahdanau.exporters.litert.descriptions import describe
from keras_bahdanau.exporters.litert.tflite_file import (
    add_metadata,
    load_schema,
    pack,
    read_metadata,
)
from keras_bahdanau.exporters.tracing import single_row, traced, weights_of, write_graph
from keras_bahdanau.text.vocabulary import drop_composition, drop_normalization


def packed(pipeline, model, precision, signatures_beside, max_source_length, max_target_length):
    """Return the bytes of the whole file: the model with its metadata, vocabularies and card."""
    files, vocabularies = vocabulary_files(pipeline)
    if TARGET in files and "prefix" not in signatures_beside:  # the file never reads target text
        files[TARGET] = drop_normalization(files[TARGET])
    if TARGET in files and pipeline.source.subwords is not None:  # it never writes source text
        files[vocabularies["source"]] = drop_composition(files[vocabularies["source"]])
    card = {
        **card_of(pipeline),
        "vocabulary_sha256": {side: sha256(files[name]) for side, name in vocabularies.items()},
        "min_runtime_version": read_metadata(model)["min_runtime_version"].rstrip(b"\0").decode(),
        "max_source_length": max_source_length,
        "max_target_length": max_target_length,
        "quantization": precision,
        "parity": [],
    }
    described = describe(load_schema().Model.GetRootAs(model), card, pipeline.source.descriptions)
    return pack(
        add_metadata(model, metadata.ENTRY, metadata.encode_metadata(described)), files, card
    )


def convert(pipeline, quantization, signatures_beside, source_time, target_time, around):
    """Return the bytes of the converted model: all signatures share one set of weights."""
    with single_row(pipeline.model):
        functions = _functions(pipeline, signatures_beside, source_time, target_time)
    return converted(weights_of(pipeline), functions, quantization, around)


def converted(weights, functions, quantization, around):
    """Convert signatures, a dictionary of concrete functions, to the bytes of a LiteRT model."""
    with tempfile.TemporaryDirectory(dir=around) as directory:
        # via a SavedModel: otherwise the file lacks the names of the signatures
        write_graph(weights, directory, functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            directory, signature_keys=list(functions)
        )
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        # without it, each step slices and concatenates the outputs of all steps
        converter._experimental_enable_dynamic_update_slice = True
        if quantization not in (None, "int4"):
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        # one scale per matrix, so that lookup and product of a tied embedding share its bytes
        converter._experimental_disable_per_channel_quantization_for_dense_layers = True
        if quantization == "float16":
            converter.target_spec.supported_types = [tf.float16]
        return rewritten(converter.convert(), quantization)


def _functions(pipeline, signatures, source_time, target_time):
    """Return the traced signatures, by name."""
    source, verb, options = pipeline.source, pipeline.verb, pipeline.search
    features = source.named(source.batch_spec(1, source_time))
    greedy = dataclasses.replace(options, beam_width=1)
    prefix = {
        "prefix": tf.TensorSpec((1, min(target_time, options.max_length)), tf.int32),
        "prefix_length": tf.TensorSpec((1,), tf.int32),
    }

    def best(pipeline, **features):
        return device_signatures.decode_on_device(pipeline, target_time, **features)

    def all_hypotheses(pipeline, **inputs):
        return device_signatures.decode_nbest_on_device(pipeline, target_time, **inputs)

    functions = {verb: traced(pipeline, best, features)}
    if "greedy" in signatures:
        functions[f"{verb}_greedy"] = traced(pipeline.searching(greedy), best, features)
    if "nbest" in signatures:
        functions[f"{verb}_nbest"] = traced(pipeline, all_hypotheses, features)
    if "prefix" in signatures:
        inputs = {**features, **prefix}
        functions[f"{verb}_prefix"] = traced(pipeline, all_hypotheses, inputs)
    if "steps" in signatures:
        functions |= _steps(pipeline, features)
    return functions


def _steps(pipeline, features):
    """Return the signatures for hosts that choose each token themselves."""
    encode = traced(pipeline, device_signatures.encode, features)
    step = {"tokens": tf.TensorSpec((1,), tf.int32)} | {
        name: tf.TensorSpec(tensor.shape, tensor.dtype)
        for name, tensor in encode.structured_outputs.items()
    }
    decode_step = traced(pipeline, device_signatures.decode_step, step)
    return {"encode": encode, "decode_step": decode_step}
