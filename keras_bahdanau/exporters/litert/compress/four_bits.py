"""Store the matrices of products and large tables in 4 bits, and all other weights in 8 bits.

W = diag(s) N,   N = round(diag(s)^-1 W) in -7 ... 7

where s_i is max_j |W_ij| / 7, times the factor between 0.5 and 1 that minimizes the squared error
of the row, as in `optimizers.rounded_weights`. Each row of the input is rounded to 8 bits at run
time. The converter does not support this precision: it leaves floats, which are rounded here.

A large lookup table is treated as such a matrix: one operation looks up rows of N, and another one
looks up their scales.
"""

import numpy as np

from keras_bahdanau.exporters.litert.compress.model_tree import (
    CAST,
    DEQUANTIZE,
    FOUR_BITS,
    GATHER,
    MUL,
    ROWS_OF_4_BITS,
    ROWS_OF_8_BITS,
    add_operator,
    add_tensor,
    constant_of,
    name_of,
    raise_version,
)
from keras_bahdanau.optimizers.rounded_weights import LEAST, LEVELS, PARTS, has_4_bits

_CHANNELS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3}  # the axis of a filter's channels
# the position of the weight among the inputs of each operation
_PLACES = {"FULLY_CONNECTED": 1, "GATHER": 0} | dict.fromkeys(_CHANNELS, 1)


def round_weights(tree, schema):
    """Round the large weights of a float model.

    A 4-bit number takes a whole byte until `join_pairs` is called.
    """
    uses = {}  # (index of a graph, index of a weight) -> list of (operation, name)
    for number, graph in enumerate(tree.subgraphs):
        for operator in graph.operators:
            name = name_of(tree, operator, schema)
            for position, index in enumerate(
                operator.inputs if operator.inputs is not None else ()
            ):
                if index >= 0 and _is_large(tree, graph, index, schema):
                    use = name if position == _PLACES.get(name) else ""  # "": such as a bias
                    uses.setdefault((number, index), []).append((operator, use))
    small_tables = {
        tree.subgraphs[number].tensors[index].buffer
        for (number, index), users in uses.items()
        for operator, name in users
        if name == "GATHER"
        and (
            operator.builtinOptions.axis
            or not has_4_bits(tree.subgraphs[number].tensors[index].shape)
        )
    }
    rounded = {}  # (buffer, axis of the scales, quantization) -> (new buffer, scales)
    for (number, index), users in uses.items():
        graph, names = tree.subgraphs[number], {name for _, name in users}
        tensor = graph.tensors[index]
        if names <= {"FULLY_CONNECTED", "GATHER"}:
            settings = () if tensor.buffer in small_tables else (0, "int4")
            _round(tree, tensor, rounded, schema, *settings)
            for operator, name in users:
                treat = _multiply
                if name == "GATHER":
                    treat = _look_up if tensor.type == schema.TensorType.INT8 else _look_up_halves
                treat(tree, graph, operator, tensor, schema)
            if names == {"GATHER"} and tensor.type == schema.TensorType.INT4:
                tensor.quantization = None  # another operation looks up its scales
        elif len(names) == 1 and names <= {*_CHANNELS}:
            filters = add_tensor(graph, schema, tensor.shape, tensor.type)
            graph.tensors[filters].buffer, tensor.buffer = tensor.buffer, 0
            _round(tree, graph.tensors[filters], rounded, schema, _CHANNELS[names.pop()])
            add_operator(tree, graph, schema, DEQUANTIZE, [filters], index)


def join_pairs(tree, schema):
    """Pack two 4-bit numbers into each byte: the first one into the lower half."""
    joined = set()
    for graph in tree.subgraphs:
        for tensor in graph.tensors:
            is_constant = tree.buffers[tensor.buffer].data is not None
            is_new = is_constant and tensor.buffer not in joined
            if tensor.type == schema.TensorType.INT4 and is_new:
                joined.add(tensor.buffer)
                buffer = tree.buffers[tensor.buffer]
                halves = buffer.data & 15
                halves = np.append(halves, np.zeros(len(halves) % 2, np.uint8))
                buffer.data = halves[::2] | halves[1::2] << 4


def _is_large(tree, graph, index, schema):
    """Return True for a constant that has enough floats to be worth rounding."""
    is_float = graph.tensors[index].type == schema.TensorType.FLOAT32
    return is_float and len(constant_of(tree, graph, index)) >= LEAST * 4


def _round(tree, tensor, rounded, schema, axis=None, quantization="int8"):
    """Replace the floats of a constant with rounded numbers and their scales."""
    key, levels = (tensor.buffer, axis, quantization), LEVELS[quantization]
    if key not in rounded:
        content = tree.buffers[tensor.buffer].data.tobytes()
        values = np.frombuffer(content, np.float32).reshape(tensor.shape)
        scales = _scales(values, axis, quantization)
        rounded[key] = len(tree.buffers), scales.reshape(-1)
        numbers = np.clip(np.rint(values / scales), -levels, levels).astype(np.int8)
        tree.buffers.append(schema.BufferT(data=numbers.reshape(-1).view(np.uint8)))
    tensor.type = getattr(schema.TensorType, quantization.upper())
    tensor.buffer, scales = rounded[key]
    tensor.quantization = schema.QuantizationParametersT(
        scale=scales, zeroPoint=np.zeros(len(scales), np.int64), quantizedDimension=axis or 0
    )


def _scales(values, axis, quantization):
    """Return one scale for all values, or a scale for each index of an axis; keep all axes."""
    axes = None if axis is None else tuple({*range(values.ndim)} - {axis})
    levels = LEVELS[quantization]
    largest = np.abs(values).max(axis=axes, keepdims=True)
    widest = np.where(largest > 0, largest, 1) / np.float32(levels)
    if quantization == "int8":
        return widest
    tried = [widest * np.float32(part) for part in PARTS]
    errors = [
        np.square(np.clip(np.rint(values / scale), -levels, levels) * scale - values).sum(
            axis=axes, keepdims=True
        )
        for scale in tried
    ]
    return np.take_along_axis(np.stack(tried), np.argmin(errors, axis=0)[np.newaxis], axis=0)[0]


def _multiply(tree, graph, operator, matrix, schema):
    """Make a product round its input at run time, as the converter does."""
    operator.builtinOptions.asymmetricQuantizeInputs = True
    raise_version(tree, schema, FOUR_BITS)


def _look_up(tree, graph, operator, table, schema):
    """Make an operation look up rows of an 8-bit table, and add one that dequantizes them."""
    (rows,) = operator.outputs
    numbers = add_tensor(graph, schema, graph.tensors[rows].shape, schema.TensorType.INT8)
    graph.tensors[numbers].quantization = table.quantization
    operator.outputs = np.array([numbers], np.int32)
    raise_version(tree, schema, ROWS_OF_8_BITS)
    position = graph.operators.index(operator) + 1
    add_operator(tree, graph, schema, DEQUANTIZE, [numbers], rows, position)


def _look_up_halves(tree, graph, operator, table, schema):
    """Make an operation look up rows of a 4-bit table, and add others that dequantize them."""
    (rows,), (_, indices) = operator.outputs, operator.inputs
    types, shape = schema.TensorType, graph.tensors[rows].shape
    scales = table.quantization.scale
    tree.buffers.append(schema.BufferT(data=scales.view(np.uint8)))

    def new(shape, dtype, buffer=0):
        index = add_tensor(graph, schema, shape, dtype)
        graph.tensors[index].buffer = buffer
        return index

    scales = new((len(scales), 1), types.FLOAT32, len(tree.buffers) - 1)
    numbers, floats = new(shape, types.INT4), new(shape, types.FLOAT32)
    factors = new((*shape[:-1], 1), types.FLOAT32)
    operator.inputs = np.array([new(table.shape, types.INT4, table.buffer), indices], np.int32)
    operator.outputs = np.array([numbers], np.int32)
    raise_version(tree, schema, ROWS_OF_4_BITS)
    after = graph.operators.index(operator) + 1
    for kind, inputs, output in (  # in reverse order: each is inserted at the same position
        (MUL, [floats, factors], rows),
        (GATHER, [scales, indices], factors),
        (CAST, [numbers], floats),
    ):
        add_operator(tree, graph, schema, kind, inputs, output, after)
    cast = graph.operators[after].builtinOptions
    cast.inDataType, cast.outDataType = types.INT4, types.FLOAT32
