"""Write one version of a SavedModel: the graph, and the other files that a server reads.

TensorFlow Serving replays `assets.extra/tf_serving_warmup_requests`, a TFRecord of
`tensorflow.serving.PredictionLog`, and rejects the version if a request fails. The card contains
bounds for the memory and the work of any batch.
"""

import contextlib

import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.card import card_of
from keras_bahdanau.exporters.saved_model.graph_costs import (
    Unbounded,
    graph_bytes,
    graph_operations,
)
from keras_bahdanau.exporters.saved_model.version_card import BATCH, write_card
from keras_bahdanau.exporters.tracing import (
    SearchedOnce,
    portable,
    traced,
    weights_of,
    whole,
    write_graph,
)
from keras_bahdanau.text.ids import WORD, byte_limit

WARMUP = "assets.extra/tf_serving_warmup_requests"
_BATCHING = """\
# Requests that arrive within `batch_timeout_micros` of each other are answered together.
max_batch_size {{ value: {rows} }}
batch_timeout_micros {{ value: 5000 }}
max_enqueued_batches {{ value: 100 }}
pad_variable_length_inputs: {pads}
"""

# Field numbers in tensorflow_serving/apis: prediction_log.proto, predict.proto, model.proto.
# The messages are encoded by hand, since the package that contains them is meant for clients.
_PREDICT_LOG, _REQUEST = 6, 1
_MODEL_SPEC, _INPUTS = 1, 2
_NAME, _SIGNATURE_NAME = 1, 3
_KEY, _VALUE = 1, 2


def write_version(exporter, pipeline, path):
    """Write a SavedModel with its warm-up requests, its batching settings and its card."""
    served, searched = exporter.served(pipeline), SearchedOnce(pipeline)
    functions = {
        name: traced(searched, function, arguments, most_rows=BATCH)
        for name, (function, arguments) in served.items()
    }
    module = weights_of(pipeline, exporter.resources(pipeline))
    write_graph(module, path, functions)
    (path / WARMUP).parent.mkdir()
    write_warmup(path / WARMUP, path.parent.name, warmup_requests(exporter, pipeline))
    for name, content in exporter.extra_files(pipeline).items():
        (path / "assets.extra" / name).write_bytes(content)
    batching = batching_settings(BATCH, exporter.pads_requests)
    (path / "batching_params.pbtxt").write_text(batching)
    card = {
        **card_of(pipeline),
        "format": exporter.artefact,
        "max_rows": BATCH,
        **pipeline.source.limits(pipeline.longest()),
        "max_target_length": pipeline.search.max_length,
        **largest_batch(exporter.compared(pipeline), BATCH, "prefix" in exporter.signatures),
        "signatures": {name: sorted(arguments) for name, (_, arguments) in served.items()},
        "parity": [],
    }
    write_card(path, card)


def batching_settings(rows, pads):
    """Return the text of `batching_params.pbtxt`; `pads` is True if a server may pad requests."""
    return _BATCHING.format(rows=rows, pads=str(pads).lower())


def warmup_requests(exporter, pipeline):
    """Return a list with one request for each signature."""
    values = exporter.examples(pipeline)
    return [
        (
            name,
            {
                argument: np.asarray(values[argument], spec.dtype.as_numpy_dtype)
                for argument, spec in arguments.items()
            },
        )
        for name, (_, arguments) in exporter.served(pipeline).items()
    ]


def write_warmup(path, name, requests):
    """Write warm-up requests, a list of (signature, {argument: array}), to a TFRecord file."""
    with whole(path), tf.io.TFRecordWriter(str(path)) as writer:
        for signature, arguments in requests:
            writer.write(_prediction_log(name, signature, arguments))


def _prediction_log(name, signature, arguments):
    spec = _field(_NAME, name.encode()) + _field(_SIGNATURE_NAME, signature.encode())
    request = _field(_MODEL_SPEC, spec)
    for key, value in arguments.items():
        tensor = tf.make_tensor_proto(value).SerializeToString()
        request += _field(_INPUTS, _field(_KEY, key.encode()) + _field(_VALUE, tensor))
    return _field(_PREDICT_LOG, _field(_REQUEST, request))


def _field(number, content):
    """Encode a length-delimited field of a protocol buffer message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    digits = b""
    while value > 127:
        digits += bytes([value & 127 | 128])
        value >>= 7
    return digits + bytes([value])


_COPIES = 8  # number of copies of each word in memory, from the text to the answer


def largest_batch(pipeline, rows, prefix=False):
    """Return bounds for any batch: `max_batch_bytes` and, if known, `max_batch_operations`."""
    longest, options = pipeline.longest(), pipeline.search
    search, forced = largest_graphs(pipeline, rows, prefix)
    unknown = max(longest, options.max_length)
    copied = 0
    if options.replace_unknown:
        words = longest + options.beam_width * options.max_length
        copied = rows * (longest * byte_limit(longest) + _COPIES * words * WORD)
    size = max(copied + graph_bytes(search, unknown), graph_bytes(forced, unknown))
    bounds = {"max_batch_bytes": pipeline.source.reading_bytes(rows, longest) + size}
    with contextlib.suppress(Unbounded):
        work = [graph_operations(graph, unknown) for graph in (search, forced)]
        bounds["max_batch_operations"] = max(work)
    return bounds


def largest_graphs(pipeline, rows, prefix=False):
    """Return two `GraphDef`s for the largest batch: the search, and the scoring of targets."""
    options = pipeline.search
    features = pipeline.source.batch_spec(rows, pipeline.longest())
    request = {
        name: tf.TensorSpec((rows, *spec.shape[1:]), spec.dtype)
        for name, spec in pipeline.source.inputs.items()
    }
    target = tf.TensorSpec((rows, options.max_length), tf.int32)

    def search(features, request, target):
        prefixes = {"prefix": target} if prefix else {}
        result = pipeline.search_features(features, time=options.max_length, **prefixes)
        if options.replace_unknown:
            return result, pipeline.graph_texts(result, pipeline.graph_copies(result, **request))
        return result

    def graph(function, *specs):
        with portable(pipeline.model):
            traced = tf.function(function, autograph=False).get_concrete_function(*specs)
        return traced.graph.as_graph_def(add_shapes=True)

    return graph(search, features, request, target), graph(
        pipeline.force_features, features, target
    )
