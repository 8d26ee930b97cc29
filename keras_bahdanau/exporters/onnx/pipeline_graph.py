"""The one graph of a `Pipeline` as an ONNX model, and the files that are packed after it.

Inputs: the tensors of `Source.feature_inputs`, such as `source` int32 `(batch, source_time)` and
`source_length` int32 `(batch,)`; of a file with prefixes also `prefix` int32 `(batch, prefix_time)`
without end token, of which `prefix_length` int32 `(batch,)` count, 0 for a free text. Outputs: the
hypotheses, best first, `(batch, beam, ...)`. Any numbers give a well-formed answer; an empty
batch gives an empty one.
"""

import tempfile
from pathlib import Path

import tensorflow as tf

from keras_bahdanau.exporters.card import card_of, vocabulary_files
from keras_bahdanau.exporters.onnx.onnx_conversion import OPSET, convert, packed, quantized
from keras_bahdanau.exporters.saved_model.served_signatures import (
    IDS,
    LENGTH,
    decode_ids_nbest,
    decode_ids_prefix,
)
from keras_bahdanau.exporters.tracing import traced, weights_of, write_graph

SIGNATURE = "serving_default"
_OUTPUTS = {  # names of `served_signatures` that inputs of some sources also have
    "lengths": "target_lengths",
    "source_length": "alignment_length",
}
_STEPS = ("ids", "alignment", "token_log_probs", "token_entropies")  # fields of a result


def onnx_bytes(exporter, pipeline, around):
    """The bytes of the whole file, by an `OnnxExporter`; drafts go into the directory `around`."""
    pipeline = exporter.searching(pipeline)
    with tempfile.TemporaryDirectory(dir=around) as directory:
        saved_model = Path(directory, "saved_model")
        write_graph(weights_of(pipeline), saved_model, {SIGNATURE: _traced(exporter, pipeline)})
        model = convert(saved_model, SIGNATURE, axes=_axes(pipeline))
        if exporter.quantization == "int8":
            model = quantized(model, directory)
    return packed(model, *_files_and_card(exporter, pipeline))


def _traced(exporter, pipeline):
    """The traced function of all outputs."""
    inputs, function = pipeline.source.feature_inputs, decode_ids_nbest
    if "prefix" in exporter.signatures:
        inputs, function = {**inputs, "prefix": IDS, "prefix_length": LENGTH}, decode_ids_prefix

    def answer(pipeline, **tensors):
        rows = tf.shape(tensors[next(iter(pipeline.source.feature_inputs))])[0]
        for name, tensor in tensors.items():
            if len(tensor.shape) == 1:  # one length per row: fewer are an error
                tensor = tf.reshape(tensor, [rows])
            tensors[name] = _filled(tensor, rows)
        fields = function(pipeline, aligned=True, **tensors)
        return {_OUTPUTS.get(name, name): tensor[:rows] for name, tensor in fields.items()}

    return traced(_NeverEmpty(pipeline), answer, inputs)


def _filled(tensor, rows):
    """A tensor with a row of zeros if it is empty: runtimes fail on convolutions of no rows."""
    missing = tf.maximum(1 - rows, 0)
    shape = tf.concat([[missing], tf.shape(tensor)[1:]], axis=0)
    return tf.concat([tensor, tf.zeros(shape, tensor.dtype)], axis=0)


class _NeverEmpty:
    """A `Pipeline` whose texts have at least one token: old runtimes can't sum an empty axis."""

    def __init__(self, pipeline):
        self._pipeline = pipeline

    def search_features(self, features, prefix=None):
        """The `SearchResult` of `Pipeline.search_features`, with at least one target position."""
        result = self._pipeline.search_features(features, prefix=prefix)
        missing = tf.maximum(1 - tf.shape(result.ids)[2], 0)

        def padded(steps):  # (batch, beam, target_time, ...)
            behind = [[0, 0]] * (len(steps.shape) - 3)
            return tf.pad(steps, [[0, 0], [0, 0], [0, missing], *behind])

        return result._replace(**{name: padded(getattr(result, name)) for name in _STEPS})

    def __getattr__(self, name):
        return getattr(self._pipeline, name)


def _axes(pipeline):
    """Names of the axes of inputs and outputs; of the hypotheses their number."""
    lists = ("batch", pipeline.search.beam_width)
    tokens = (*lists, "target_time")
    token_fields = ("ids", "token_log_probs", "token_entropies", "token_words", "copied_from")
    axes = {
        **dict.fromkeys(("target_lengths", "scores", "confidences", "finished"), lists),
        **dict.fromkeys(token_fields, tokens),
        "alignment": (*tokens, "alignment_time"),
        **dict.fromkeys(("alignment_length", "prefix_length", "truncated"), ("batch",)),
        "prefix": ("batch", "prefix_time"),
    }
    for name, spec in pipeline.source.feature_inputs.items():
        unknown = iter(("batch", "source_time"))
        axes[name] = tuple(
            next(unknown) if size is None else "" for size in tf.TensorShape(spec.shape)
        )
    return axes


def _files_and_card(exporter, pipeline):
    files, _ = vocabulary_files(pipeline)
    card = {
        **card_of(pipeline),
        "format": "ONNX",
        "opset": OPSET,
        "quantization": exporter.precision,
        **pipeline.source.limits(pipeline.longest()),
        "max_target_length": pipeline.search.max_length,
        "signatures": {SIGNATURE: sorted(pipeline.source.feature_inputs)},
        "parity": [],
    }
    return files, card
