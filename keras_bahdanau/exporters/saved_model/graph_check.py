"""Check a SavedModel for what TensorFlow Serving would refuse."""

from pathlib import Path

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from keras_bahdanau.exporters.exporter import Finding
from keras_bahdanau.exporters.publishing import newest_version
from keras_bahdanau.exporters.saved_model.operations import (
    KNOWN,
    all_operations,
    harm_of,
    reached_operations,
)

SERVER = "TensorFlow Serving"
BATCHING = "TensorFlow Serving's batching"
REST = "TensorFlow Serving's REST API"
EXPORT_AGAIN = "Export the translator again."

_JSON_DTYPES = {tf.bool, tf.float32, tf.float64, tf.string}
_JSON_DTYPES |= {tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64}


def check_saved_model(directory):
    """The findings in a SavedModel: a list of `Finding`.

    Args:
        directory: Path of one version, or of the directory that holds the versions.
    """
    version = newest_version(Path(directory))
    if version is None:
        return [
            Finding(
                SERVER,
                "the directory",
                "holds neither saved_model.pb nor a numbered version",
                "Give the directory that export_saved_model wrote.",
            )
        ]
    try:
        model = SavedModel.FromString((version / "saved_model.pb").read_bytes())
    except DecodeError:
        return [Finding(SERVER, "saved_model.pb", "is damaged or cut off", EXPORT_AGAIN)]
    graphs = [graph for graph in model.meta_graphs if set(graph.meta_info_def.tags) == {"serve"}]
    if not graphs:
        return [
            Finding(
                SERVER,
                "the SavedModel",
                "has no graph with the tag 'serve', the only one that is loaded",
                "Save it with tf.saved_model.save.",
            )
        ]
    return [*_variable_findings(version, graphs[0]), *_graph_findings(graphs[0])]


def _variable_findings(version, graph):
    """Read each value, since the checkpoint has checksums."""
    if not any(node.op == "VarHandleOp" for node in graph.graph_def.node):
        return
    try:
        values = tf.train.load_checkpoint(version / "variables" / "variables")
        for name in values.get_variable_to_shape_map():
            values.get_tensor(name)
    except (tf.errors.OpError, IndexError, RuntimeError, ValueError):
        yield Finding(SERVER, "variables/", "is missing, damaged or cut off", EXPORT_AGAIN)


def _graph_findings(graph):
    signatures = {
        name: signature
        for name, signature in graph.signature_def.items()
        if not name.startswith("__saved_model_")  # those run at the start, for no request
    }
    if not signatures:
        yield Finding(
            SERVER,
            "the SavedModel",
            "has no signature: no request can be sent to it",
            "Save it with `signatures`.",
        )
    harmful = set()
    for name, signature in sorted(signatures.items()):
        yield from _signature_findings(name, signature)
        for operation in sorted(reached_operations(graph.graph_def, signature)):
            if harm := harm_of(operation):
                harmful.add(operation)
                yield Finding(SERVER, f"{operation} in signature {name!r}", *harm)
    for operation in sorted(all_operations(graph.graph_def) - KNOWN - harmful):
        yield Finding(
            SERVER,
            operation,
            "is no operation of TensorFlow or tensorflow-text: the model does not load",
            "Write that step with TensorFlow operations.",
        )


def _signature_findings(name, signature):
    """Findings in the inputs and outputs."""
    for kind, tensors in (("input", signature.inputs), ("output", signature.outputs)):
        for key, tensor in sorted(tensors.items()):
            yield from _tensor_findings(kind, tensor, f"{kind} {key!r} of signature {name!r}")


def _tensor_findings(kind, tensor, what):
    if not tensor.name or not tensor.dtype:
        yield Finding(
            SERVER,
            what,
            "is not one dense tensor, but ragged, sparse or unnamed: no request can carry it",
            "Use a padded tensor and its lengths.",
        )
        return
    dtype, shape = tf.as_dtype(tensor.dtype), tf.TensorShape(tensor.tensor_shape)
    if shape.rank == 0 or (shape.rank and shape[0] is not None):
        yield Finding(
            BATCHING,
            what,
            f"has the shape {tuple(shape)}, whose first axis is not the batch",
            "Make it (None, ...), one entry for each row.",
        )
    if kind == "output" and dtype not in _JSON_DTYPES:
        yield Finding(REST, what, f"is {dtype.name}, which JSON can't carry", "Cast it to float32.")
