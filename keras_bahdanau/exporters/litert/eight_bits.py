"""Filters of convolutions kept in 8 bits beside floats, and large tables put into 8 bits.

With 8 bits, the converter lets a convolution round its input at run time, by one scale for all
positions: a far value anywhere makes all others coarse. (A matrix product has a scale for each
row.) Here convolutions keep filters of 8 bits, which are made floats when the model is loaded; so
are large tables that are added to something, such as the places of a grid, which the converter
leaves in 32 bits.
"""

import numpy as np

from keras_bahdanau.exporters.litert.model_tree import (
    DEQUANTIZE,
    add_operator,
    add_tensor,
    constant_of,
    name_of,
    operands_of,
)

_LEAST_ROUNDED = 16384  # bytes of a table that is worth an operation


def use_float_filters(tree, graph, schema):
    """Put an operation that makes floats of a filter before each convolution of floats."""
    floats = {}
    types = schema.TensorType
    for operator in list(graph.operators):
        if name_of(tree, operator, schema) not in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            continue
        inputs, weights, *rest = operator.inputs
        if (graph.tensors[inputs].type, graph.tensors[weights].type) != (types.FLOAT32, types.INT8):
            continue
        if weights not in floats:
            shape = graph.tensors[weights].shape
            floats[weights] = add_tensor(graph, schema, shape, types.FLOAT32)
            add_operator(tree, graph, schema, DEQUANTIZE, [weights], floats[weights])
        operator.inputs = np.array([inputs, floats[weights], *rest], np.int32)


def round_tables(tree, schema):
    """Keep large tables of floats that are added, and used for nothing else, in 8 bits.

    Each index of the last axis has a scale of its own.
    """
    uses = {}  # names of the operations that take a buffer
    for graph in tree.subgraphs:
        for operator in graph.operators:
            for index in operands_of(operator):
                users = uses.setdefault(graph.tensors[index].buffer, set())
                users.add(name_of(tree, operator, schema))
    tables = {}
    for graph in tree.subgraphs:
        for index, tensor in list(enumerate(graph.tensors)):
            buffer, data = tensor.buffer, constant_of(tree, graph, index)
            is_float = tensor.type == schema.TensorType.FLOAT32
            if not is_float or len(data) < _LEAST_ROUNDED or uses.get(buffer) != {"ADD"}:
                continue
            values = np.frombuffer(data, np.float32).reshape(tensor.shape)
            largest = np.abs(values).max(axis=tuple(range(values.ndim - 1)))
            scales = np.maximum(largest, np.finfo(np.float32).tiny * 127) / np.float32(127)
            key = (buffer, values.shape)
            if key not in tables:
                tables[key] = len(tree.buffers)
                numbers = np.rint(values / scales).astype(np.int8)
                tree.buffers.append(schema.BufferT(data=numbers.reshape(-1).view(np.uint8)))
            table = add_tensor(graph, schema, tensor.shape, schema.TensorType.INT8)
            graph.tensors[table].buffer = tables[key]
            graph.tensors[table].quantization = schema.QuantizationParametersT(
                scale=scales,
                zeroPoint=np.zeros(len(scales), np.int64),
                quantizedDimension=values.ndim - 1,
            )
            tensor.buffer = 0
            add_operator(tree, graph, schema, DEQUANTIZE, [table], index)
