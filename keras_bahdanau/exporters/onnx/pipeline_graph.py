"""Convert a `Pipeline` to an ONNX model with one graph, and pack it with its files.

The inputs of the graph are the tensors of `Source.feature_inputs`, such as `source` int32
`(batch, source_time)` and `source_length` int32 `(batch,)`. A file with prefixes has two more:
`prefix` int32 `(batch, prefix_time)`, without end token, and `prefix_length` int32 `(batch,)`, the
number of ids that count, 0 for an unconstrained text. The outputs are the hypotheses, best first,
`(batch, beam, ...)`. Any input values give a well-formed answer; an empty batch gives an empty
answer.
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
_OUTPUTS = {  # names in `served_signatures` that some sources use for inputs
    "lengths": "target_lengths",
    "source_length": "alignment_length",
}
_STEPS = ("ids", "alignment", "token_log_probs", "token_entropies")  # fields over time


def onnx_bytes(exporter, pipeline, around):
    """Return the bytes of the whole file for an `OnnxExporter`; `around` is for temporary files."""
    pipeline = exporter.searching(pipeline)
    with tempfile.TemporaryDirectory(dir=around) as directory:
        saved_model = Path(directory, "saved_model")
        write_graph(weights_of(pipeline), saved_model, {SIGNATURE: _traced(exporter, pipeline)})
        model = convert(saved_model, SIGNATURE, axes=_axes(pipeline))
        if exporter.quantization == "int8":
            model = quantized(model, directory)
    return packed(model, *_files_and_card(exporter, pipeline))


def _traced(exporter, pipeline):
    """Trace the function that computes all outputs."""
    inputs, function = pipeline.source.feature_inputs, decode_ids_nbest
    if "prefix" in exporter.signatures:
        inputs, function = {**inputs, "prefix": IDS, "prefix_length": LENGTH}, decode_ids_prefix

    def answer(pipeline, **tensors):
        rows = tf.shape(tensors[next(iter(pipeline.source.feature_inputs))])[0]
        for name, tensor in tensors.items():
            if len(tensor.shape) == 1:  # one length per row: a wrong number raises an error
                tensor = tf.reshape(tensor, [rows])
            tensors[name] = _filled(tensor, rows)
        fields = function(pipeline, aligned=True, **tensors)
        return {_OUTPUTS.get(name, name): tensor[:rows] for name, tensor in fields.items()}

    return traced(_NeverEmpty(pipeline), answer, inputs)


def _filled(tensor, rows):
    """Add a row of zeros to a tensor without rows: runtimes fail on convolutions of no rows."""
    missing = tf.maximum(1 - rows, 0)
    shape = tf.concat([[missing], tf.shape(tensor)[1:]], axis=0)
    return tf.concat([tensor, tf.zeros(shape, tensor.dtype)], axis=0)


class _NeverEmpty:
    """A `Pipeline` that returns at least one target position: old runtimes can't sum empty axes."""

    def __init__(self, pipeline):
        self._pipeline = pipeline

    def search_features(self, features, prefix=None):
        """Return the result of `Pipeline.search_features` with at least one target position."""
        result = self._pipeline.search_features(features, prefix=prefix)
        missing = tf.maximum(1 - tf.shape(result.ids)[2], 0)

        def padded(steps):  # (batch, beam, target_time, ...)
            behind = [[0, 0]] * (len(steps.shape) - 3)
            return tf.pad(steps, [[0, 0], [0, 0], [0, missing], *behind])

        return result._replace(**{name: padded(getattr(result, name)) for name in _STEPS})

    def __getattr__(self, name):
        return getattr(self._pipeline, name)


def _axes(pipeline):
    """Return the axes of inputs and outputs: names, and the number of hypotheses."""
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
