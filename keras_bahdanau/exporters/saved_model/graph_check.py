"""Check a SavedModel for parts that TensorFlow Serving's stock CPU image would reject."""

import re
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from keras_bahdanau.exporters.exporter import Finding
from keras_bahdanau.exporters.publishing import newest_version

SERVER = "TensorFlow Serving"
BATCHING = "TensorFlow Serving's batching"
REST = "TensorFlow Serving's REST API"
EXPORT_AGAIN = "Export the translator again."

_JSON_DTYPES = {tf.bool, tf.float32, tf.float64, tf.string}
_JSON_DTYPES |= {tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64}


def check_saved_model(directory):
    """Check a SavedModel, and return a list of `Finding`."""
    version = newest_version(Path(directory))
    if version is None:
        return [
            Finding(
                SERVER,
                "the directory",
                "contains neither saved_model.pb nor a numbered version",
                "Pass the directory that export_saved_model wrote.",
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
                "has no graph with the tag 'serve', which is the only one that a server loads",
                "Save it with tf.saved_model.save.",
            )
        ]
    return [*_variable_findings(version, graphs[0]), *_graph_findings(graphs[0])]


def _variable_findings(version, graph):
    """Yield a `Finding` if a variable can't be read. Reading it verifies its checksum."""
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
        if not name.startswith("__saved_model_")  # these only run when the model is loaded
    }
    if not signatures:
        yield Finding(
            SERVER,
            "the SavedModel",
            "has no signature, so it can't answer requests",
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
            "is not an operation of TensorFlow or tensorflow-text: the model does not load",
            "Rewrite that step with TensorFlow operations.",
        )


def _signature_findings(name, signature):
    """Yield each `Finding` in the inputs and outputs of a signature."""
    for kind, tensors in (("input", signature.inputs), ("output", signature.outputs)):
        for key, tensor in sorted(tensors.items()):
            yield from _tensor_findings(kind, tensor, f"{kind} {key!r} of signature {name!r}")


def _tensor_findings(kind, tensor, subject):
    if not tensor.name or not tensor.dtype:
        yield Finding(
            SERVER,
            subject,
            "is ragged, sparse or unnamed instead of dense: a request can't contain it",
            "Use a padded tensor and its lengths.",
        )
        return
    dtype, shape = tf.as_dtype(tensor.dtype), tf.TensorShape(tensor.tensor_shape)
    if shape.rank == 0 or (shape.rank and shape[0] is not None):
        yield Finding(
            BATCHING,
            subject,
            f"has the shape {tuple(shape)}, but the first axis must be the batch",
            "Change it to (None, ...), with one entry for each row.",
        )
    if kind == "output" and dtype not in _JSON_DTYPES:
        yield Finding(
            REST, subject, f"is {dtype.name}, which JSON does not support", "Cast it to float32."
        )


GUARD = "rows_of_a_request"  # scope of operations that reject requests
_MARK = "_XlaMustCompile"  # marks a function traced with `jit_compile=True`
# The operations that tensorflow-text registers; the server links the same library.
_TEXT = """
CaseFoldUTF8 ConstrainedSequence FastBertNormalize FastWordpieceTokenizeWithOffsets
FindSourceOffsets MaxSpanningTree NormalizeUTF8 NormalizeUTF8WithOffsetsMap PhraseTokenize
RegexSplitWithOffsets RougeL SentenceFragments SentenceFragmentsV2 SentencepieceDetokenizeOp
SentencepieceIdToStringOp SentencepieceOp SentencepieceStringToIdOp SentencepieceTokenizeOp
SentencepieceTokenizeWithOffsetsOp SentencepieceVocabSizeOp SplitMergeTokenizeWithOffsets
TFText>BoiseTagsToOffsets TFText>ByteSplitByOffsets TFText>ByteSplitWithOffsets
TFText>FastSentencepieceDetokenize TFText>FastSentencepieceTokenize
TFText>FastWordpieceDetokenize TFText>NgramsStringJoin TFText>OffsetsToBoiseTags
TFText>PhraseDetokenize TFText>RoundRobinGenerateMasks TFText>RoundRobinTrim
TFText>Utf8Binarize TFText>WhitespaceTokenizeWithOffsetsV2 TokenizerFromLogits
UnicodeScriptTokenizeWithOffsets WhitespaceTokenizeWithOffsets WordpieceTokenizeWithOffsets
"""
# `tf.raw_ops` contains only TensorFlow's operations, even if this process has loaded others.
KNOWN = frozenset(dir(tf.raw_ops)) | frozenset(_TEXT.split())


class Harm(NamedTuple):
    """Why a known operation must not be in a signature, and what to do about it."""

    why: str
    remedy: str


_ON_GPU_ONLY = Harm(
    "only runs on a GPU, and the stock server has none",
    "Trace the export with `use_cudnn=False` on every recurrent layer.",
)
_COMPILED = Harm(
    "needs the XLA compiler, which the server disables: each request would fail",
    "Trace the export without `jit_compile=True`.",
)
_PYTHON = Harm(
    "calls a Python function, and the server has no Python",
    "Rewrite that step with TensorFlow operations.",
)
_RANDOM = Harm(
    "draws random numbers: the same request gets a different answer each time",
    "Trace the export with `training=False`, and search without sampling.",
)
_RAISES = Harm(
    "may raise an error, and one failing row fails all requests in its batch",
    "Return a well-formed answer for every input instead.",
)
_WRITES = Harm(
    "writes to a variable or a table: requests would affect each other",
    "Keep the state in the signature's inputs and outputs.",
)
_FILES = Harm(
    "reads or writes files or the log of the server with each request",
    "Use only the tensors of the request, and read files before the export.",
)
_HARMFUL = {
    "(Cudnn|Nccl).*": _ON_GPU_ONLY,
    "_?Xla.*": _COMPILED,
    "(Eager)?PyFunc(Stateless)?": _PYTHON,
    ".*(Random|Multinomial|TruncatedNormal|CandidateSampler|SeedGenerator).*": _RANDOM,
    "Stateful(StandardNormal|Uniform).*|Rng.*|NonDeterministicInts|StatelessShuffle": _RANDOM,
    "Assert|CheckNumerics(V2)?": _RAISES,
    "Assign(Add|Sub)?(VariableOp)?|(Resource)?CountUpTo|(Resource)?StridedSliceAssign": _WRITES,
    "Resource(Scatter|(Sparse)?Apply).*|(Sparse)?Apply.*": _WRITES,
    "Scatter(Nd)?(Add|Div|Max|Min|Mul|Sub|Update)": _WRITES,
    "LookupTable(Import|Insert|Remove).*": _WRITES,
    "(Read|Write)File|MatchingFiles.*|Print(V2)?|(Save|Restore)(V2|Slices?)?": _FILES,
    "MergeV2Checkpoints|.*(Reader|Record|TextLine|LMDB|Summary.*Writer).*|Write.*Summary": _FILES,
    ".*(Cache|Load|Save|Snapshot|Sql).*Dataset.*": _FILES,
}


def harm_of(operation):
    """Return the `Harm` that an operation does in a signature, or None."""
    harms = (harm for names, harm in _HARMFUL.items() if re.fullmatch(names, operation))
    return next(harms, None)


def all_operations(graph):
    """Return the names of all operations in a `GraphDef` and its functions, except calls."""
    functions = graph.library.function
    nodes = [*graph.node, *(node for function in functions for node in function.node_def)]
    return {node.op for node in nodes} - {function.signature.name for function in functions}


def reached_operations(graph, signature):
    """Return the names of the operations that a request to a signature runs."""
    outputs = [name for tensor in signature.outputs.values() for name in _tensor_names(tensor)]
    waiting = _ancestors(graph.node, outputs)
    uncalled = {function.signature.name: function for function in graph.library.function}
    reached = set()
    while waiting:
        node = waiting.pop()
        if GUARD not in node.name.split("/"):
            reached.add(node.op)
        called = [uncalled.pop(name) for name in calls(node) & uncalled.keys()]
        if any(_MARK in part.attr and part.attr[_MARK].b for part in (node, *called)):
            reached.add(_MARK)
        for function in called:
            waiting.extend(function.node_def)
    return reached


def _tensor_names(tensor):
    """Return the names of the tensors in a `TensorInfo`."""
    encoding = tensor.WhichOneof("encoding")
    if encoding == "coo_sparse":
        return [name for _, name in tensor.coo_sparse.ListFields()]
    parts = tensor.composite_tensor.components
    return [name for part in parts for name in _tensor_names(part)] or [tensor.name]


def _ancestors(nodes, tensors):
    """Return a list of the nodes that these tensors depend on."""
    unseen = {node.name: node for node in nodes}
    waiting, ancestors = list(tensors), []
    while waiting:
        name = waiting.pop().removeprefix("^").split(":")[0]
        if name in unseen:
            ancestors.append(unseen.pop(name))
            waiting.extend(ancestors[-1].input)
    return ancestors


def calls(node):
    """Return the names of the functions that a node may call."""
    values = node.attr.values()
    lists = [function.name for value in values for function in value.list.func]
    return {node.op, *lists, *(value.func.name for value in values)}
