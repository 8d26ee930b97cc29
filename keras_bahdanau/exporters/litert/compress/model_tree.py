"""Read and change operations, tensors and constants of a .tflite model, a LiteRT `ModelT`."""

from typing import NamedTuple

import numpy as np

_RUNTIME = "min_runtime_version"


class Kind(NamedTuple):
    """A kind of operation: name, version, and the first version of TensorFlow Lite with it."""

    name: str
    version: int
    runtime: str


_TREATED = (
    *("ADD", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"),
    *("GATHER", "WHILE"),
)
ADD = Kind("ADD", 1, "1.5.0")
CAST = Kind("CAST", 6, "2.17.0")  # casts 4-bit numbers
RELU = Kind("RELU", 1, "1.5.0")
SUB = Kind("SUB", 1, "1.6.0")
DEQUANTIZE = Kind("DEQUANTIZE", 5, "2.7.0")  # with one scale for each channel
FILL = Kind("FILL", 1, "1.13.0")
FOUR_BITS = Kind("FULLY_CONNECTED", 12, "2.17.0")  # floats; one scale for each row of the matrix
GATHER = Kind("GATHER", 1, "1.6.0")
MUL = Kind("MUL", 1, "1.5.0")
ROWS_OF_4_BITS = Kind("GATHER", 7, "2.17.0")
ROWS_OF_8_BITS = Kind("GATHER", 2, "1.14.0")


def name_of(tree, operator, schema):
    """Return the name of an operation; "" for operations that are never changed."""
    code = tree.operatorCodes[operator.opcodeIndex]
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    return next((name for name in _TREATED if getattr(schema.BuiltinOperator, name) == number), "")


def operands_of(operator):
    """Return the inputs of an operation, without the omitted ones."""
    return [] if operator.inputs is None else [index for index in operator.inputs if index >= 0]


def constant_of(tree, graph, index):
    """Return the bytes of a constant; b"" for other tensors."""
    data = tree.buffers[graph.tensors[index].buffer].data if index >= 0 else None
    return b"" if data is None else data.tobytes()


def users_of(graph, index):
    """Return the operations that read a tensor, and the graph if the tensor is its output."""
    users = [operator for operator in graph.operators if index in operands_of(operator)]
    return users + [graph] * (index in graph.outputs)


def add_tensor(graph, schema, shape, dtype):
    """Add an empty tensor, and return its index."""
    graph.tensors.append(schema.TensorT(shape=np.array(shape, np.int32), type=dtype, hasRank=True))
    return len(graph.tensors) - 1


def add_operator(tree, graph, schema, kind, inputs, output, position=0):
    """Insert an operation into a graph before the one at `position`."""
    number = getattr(schema.BuiltinOperator, kind.name)
    operator = schema.OperatorT(
        opcodeIndex=_code(tree, schema, number, kind.version),
        inputs=np.array(inputs, np.int32),
        outputs=np.array([output], np.int32),
    )
    options = kind.name.title() + "Options"
    if hasattr(schema.BuiltinOptions, options):
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        operator.builtinOptions = getattr(schema, options + "T")()
    graph.operators.insert(position, operator)
    _require_runtime(tree, kind.runtime)


def raise_version(tree, schema, kind):
    """Raise the version of an operation in the model to the version of a `Kind`, if it is lower."""
    _code(tree, schema, getattr(schema.BuiltinOperator, kind.name), kind.version)
    _require_runtime(tree, kind.runtime)


def _code(tree, schema, number, version):
    """Return the index of an operation, of at least this version, in the model's list."""
    for index, code in enumerate(tree.operatorCodes):
        if max(code.builtinCode, code.deprecatedBuiltinCode) == number:
            code.version = max(code.version, version)
            return index
    code = schema.OperatorCodeT(
        deprecatedBuiltinCode=number, builtinCode=number, version=version
    )  # the old field holds numbers up to 127
    tree.operatorCodes.append(code)
    return len(tree.operatorCodes) - 1


def _require_runtime(tree, runtime):
    """Raise the minimum version of TensorFlow Lite in the metadata, if it is lower."""
    for entry in tree.metadata or []:
        if entry.name == _RUNTIME.encode():
            buffer = tree.buffers[entry.buffer]
            versions = (buffer.data.tobytes().rstrip(b"\0").decode(), runtime)
            latest = max(versions, key=lambda version: [int(part) for part in version.split(".")])
            padded = latest.encode().ljust(len(buffer.data), b"\0")
            buffer.data = np.frombuffer(padded, np.uint8)
