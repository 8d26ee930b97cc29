"""The converter's model, written again: smaller, and with convolutions of floats.

The converter gives each tensor between two operations a name and a buffer of its own, and
writes each shape again; no runtime reads the names, and in a model of 300,000 weights this is a
third of the file. The zeros that a loop begins with are constants, too: of a long source, as
many bytes as a matrix.

With 8 bits, the converter lets a convolution round its input at run time, by one scale for all
positions: a far value anywhere makes all others coarse. (A matrix product has a scale for each
row.) Here convolutions keep filters of 8 bits, which are made floats when the model is loaded; so
are large tables that are added to something, such as the places of a grid, which the converter
leaves in 32 bits.
"""

from typing import NamedTuple

import flatbuffers
import numpy as np

from keras_bahdanau.exporters.litert.tflite_file import ALIGNMENT, IDENTIFIER, load_schema

_MOST_SHARED = 4096  # bytes of a vector that is looked up among those written
_LEAST_FILLED = 1024  # bytes of a constant that is worth two operands and an operation
_LEAST_ROUNDED = 16384  # bytes of a table that is worth an operation
_RUNTIME = "min_runtime_version"


class _Kind(NamedTuple):
    """An operation that is put in: its name, version, and TensorFlow Lite's first with it."""

    name: str
    version: int
    runtime: str


_DEQUANTIZE = _Kind("DEQUANTIZE", 5, "2.7.0")  # of a scale for each channel
_FILL = _Kind("FILL", 1, "1.13.0")


def rewritten(model):
    """The bytes of a smaller model.

    It answers the same in floats. In 8 bits its convolutions are closer to those of floats, and
    its tables are rounded.

    Args:
        model: Bytes of a model, as `tf.lite.TFLiteConverter` gives them.
    """
    schema = load_schema()
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model))
    types = {tensor.type for graph in tree.subgraphs for tensor in graph.tensors}
    if schema.TensorType.INT8 in types:
        _round_tables(tree, schema)
    for graph in tree.subgraphs:
        _use_float_filters(tree, graph, schema)
        _fill_constants(tree, graph, schema)
    _forget_names(tree)
    _forget_empty_buffers(tree)
    builder = _SharingBuilder(len(model))
    builder.Finish(tree.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())


def _use_float_filters(tree, graph, schema):
    """Put an operation that makes floats of a filter before each convolution of floats."""
    floats = {}
    types = schema.TensorType
    for operator in list(graph.operators):
        if _name(tree, operator, schema) not in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            continue
        inputs, weights, *rest = operator.inputs
        if (graph.tensors[inputs].type, graph.tensors[weights].type) != (types.FLOAT32, types.INT8):
            continue
        if weights not in floats:
            shape = graph.tensors[weights].shape
            floats[weights] = _add_tensor(graph, schema, shape, types.FLOAT32)
            _add_operator(tree, graph, schema, _DEQUANTIZE, [weights], floats[weights])
        operator.inputs = np.array([inputs, floats[weights], *rest], np.int32)


def _round_tables(tree, schema):
    """Keep large tables of floats that are added, and used for nothing else, in 8 bits.

    Each index of the last axis has a scale of its own.
    """
    uses = {}  # names of the operations that take a buffer
    for graph in tree.subgraphs:
        for operator in graph.operators:
            for index in _operands(operator):
                users = uses.setdefault(graph.tensors[index].buffer, set())
                users.add(_name(tree, operator, schema))
    tables = {}
    for graph in tree.subgraphs:
        for index, tensor in list(enumerate(graph.tensors)):
            buffer, data = tensor.buffer, _data(tree, graph, index)
            is_float = tensor.type == schema.TensorType.FLOAT32
            if not is_float or len(data) < _LEAST_ROUNDED or uses.get(buffer) != {"ADD"}:
                continue
            values = np.frombuffer(data, np.float32).reshape(tensor.shape)
            largest = np.abs(values).max(axis=tuple(range(values.ndim - 1)))
            scales = np.maximum(largest, np.finfo(np.float32).tiny * 127) / np.float32(127)
            if buffer not in tables:
                tables[buffer] = len(tree.buffers)
                numbers = np.rint(values / scales).astype(np.int8)
                tree.buffers.append(schema.BufferT(data=numbers.reshape(-1).view(np.uint8)))
            table = _add_tensor(graph, schema, tensor.shape, schema.TensorType.INT8)
            graph.tensors[table].buffer = tables[buffer]
            graph.tensors[table].quantization = schema.QuantizationParametersT(
                scale=scales,
                zeroPoint=np.zeros(len(scales), np.int64),
                quantizedDimension=values.ndim - 1,
            )
            tensor.buffer = 0
            _add_operator(tree, graph, schema, _DEQUANTIZE, [table], index)


def _fill_constants(tree, graph, schema):
    """Make the large constants of one value, which loops begin with, at run time."""
    users = {}
    for operator in graph.operators:
        for index in _operands(operator):
            users.setdefault(index, set()).add(_name(tree, operator, schema))
    for index, names in users.items():
        data = _data(tree, graph, index) if names == {"WHILE"} else b""
        one = data[:4]  # bytes of a float32 or an int32
        tensor = graph.tensors[index]
        wide = tensor.type in (schema.TensorType.FLOAT32, schema.TensorType.INT32)
        if not wide or len(data) < _LEAST_FILLED or data != one * (len(data) // len(one)):
            continue
        shape = np.array(tensor.shape, np.int32)
        operands = [
            _add_tensor(graph, schema, [len(shape)], schema.TensorType.INT32),
            _add_tensor(graph, schema, [], tensor.type),
        ]
        for operand, content in zip(operands, (shape.tobytes(), one), strict=True):
            graph.tensors[operand].buffer = len(tree.buffers)
            tree.buffers.append(schema.BufferT(data=np.frombuffer(content, np.uint8)))
        tensor.buffer = 0
        _add_operator(tree, graph, schema, _FILL, operands, index)


def _forget_names(tree):
    """Keep the names of what a signature takes and gives, and of no other tensor."""
    public = {signature.subgraphIndex for signature in tree.signatureDefs or []}
    for number, graph in enumerate(tree.subgraphs):
        kept = {*graph.inputs, *graph.outputs} if number in public else set()
        for index, tensor in enumerate(graph.tensors):
            if index not in kept:
                tensor.name = None
            if tensor.quantization is not None and tensor.quantization.scale is None:
                tensor.quantization = None  # a table that says nothing


def _forget_empty_buffers(tree):
    """Let all tensors that hold nothing share the first buffer, as the schema demands it."""
    holders = [tensor for graph in tree.subgraphs for tensor in graph.tensors]
    holders += tree.metadata or []
    kept, places = tree.buffers[:1], {}
    for holder in holders:
        buffer = tree.buffers[holder.buffer]
        if buffer.data is None or not len(buffer.data):
            holder.buffer = 0
            continue
        if holder.buffer not in places:
            places[holder.buffer] = len(kept)
            kept.append(buffer)
        holder.buffer = places[holder.buffer]
    tree.buffers = kept


def _name(tree, operator, schema):
    """The name of an operation, "" of one that is none of those treated here."""
    code = tree.operatorCodes[operator.opcodeIndex]
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    names = ("ADD", "CONV_2D", "DEPTHWISE_CONV_2D", "WHILE")
    return next((name for name in names if getattr(schema.BuiltinOperator, name) == number), "")


def _operands(operator):
    """The tensors that an operation takes; -1 stands for one left out."""
    return [] if operator.inputs is None else [index for index in operator.inputs if index >= 0]


def _data(tree, graph, index):
    """The bytes of a constant; b"" of what is none."""
    data = tree.buffers[graph.tensors[index].buffer].data if index >= 0 else None
    return b"" if data is None else data.tobytes()


def _add_tensor(graph, schema, shape, dtype):
    """The index of a new tensor, which holds nothing yet."""
    graph.tensors.append(schema.TensorT(shape=np.array(shape, np.int32), type=dtype, hasRank=True))
    return len(graph.tensors) - 1


def _add_operator(tree, graph, schema, kind, inputs, output):
    """Put an operation before all others of a graph."""
    number = getattr(schema.BuiltinOperator, kind.name)
    options = kind.name.title() + "Options"
    operator = schema.OperatorT(
        opcodeIndex=_code(tree, schema, number, kind.version),
        inputs=np.array(inputs, np.int32),
        outputs=np.array([output], np.int32),
        builtinOptionsType=getattr(schema.BuiltinOptions, options),
        builtinOptions=getattr(schema, options + "T")(),
    )
    graph.operators.insert(0, operator)
    _require_runtime(tree, kind.runtime)


def _code(tree, schema, number, version):
    """The index of an operation in the model's list, of this version at least."""
    for index, code in enumerate(tree.operatorCodes):
        if max(code.builtinCode, code.deprecatedBuiltinCode) == number:
            code.version = max(code.version, version)
            return index
    code = schema.OperatorCodeT(
        deprecatedBuiltinCode=number, builtinCode=number, version=version
    )  # the old field has the first 127
    tree.operatorCodes.append(code)
    return len(tree.operatorCodes) - 1


def _require_runtime(tree, runtime):
    """Raise the first version of TensorFlow Lite that the model says it runs on."""
    for entry in tree.metadata or []:
        if entry.name == _RUNTIME.encode():
            buffer = tree.buffers[entry.buffer]
            versions = (buffer.data.tobytes().rstrip(b"\0").decode(), runtime)
            latest = max(versions, key=lambda one: [int(part) for part in one.split(".")])
            padded = latest.encode().ljust(len(buffer.data), b"\0")
            buffer.data = np.frombuffer(padded, np.uint8)


class _SharingBuilder(flatbuffers.Builder):
    """A builder that writes equal short vectors once, and aligns what buffers hold."""

    def __init__(self, size):
        super().__init__(size)
        self._written = {}

    def CreateNumpyVector(self, x):
        if x.nbytes > _MOST_SHARED:
            return self._write(x)
        key = (x.dtype, x.tobytes())
        if key not in self._written:
            self._written[key] = self._write(x)
        return self._written[key]

    def _write(self, x):
        if x.dtype == np.uint8:
            self.Prep(ALIGNMENT, x.nbytes)
        return super().CreateNumpyVector(x)
