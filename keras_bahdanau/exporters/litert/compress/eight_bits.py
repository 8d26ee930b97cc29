"""Store convolution filters and large tables in 8 bits, but compute with floats.

With 8-bit filters, the converter would make a convolution round its input at run time, with one
scale for all positions: a single outlier makes all other values coarse. So the filters are
dequantized when the model is loaded. The same holds for large tables that are only added, which the
converter would leave in 32 bits.

A matrix product also rounds each row of its input, in 255 equal steps from its minimum to its
maximum. In concatenated vectors, such as [s; c; y], the vector with the widest range determines the
steps for all of them. So each vector gets a separate product here, and so do its positive and its
negative values:

W [s; c; y] = W_s max(s, 0) + W_s min(s, 0) + W_c max(c, 0) + ...
"""

import copy

import numpy as np

from keras_bahdanau.exporters.litert.compress.model_tree import (
    ADD,
    DEQUANTIZE,
    RELU,
    SUB,
    add_operator,
    add_tensor,
    constant_of,
    name_of,
    operands_of,
    users_of,
)

_LEAST_ROUNDED = 16384  # minimum size in bytes of a table that is worth an operation


def use_float_filters(tree, graph, schema):
    """Insert a dequantization of the filter before each float convolution."""
    floats = {}
    types = schema.TensorType
    for operator in list(graph.operators):
        if name_of(tree, operator, schema) not in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            continue
        inputs, weights, *bias = operator.inputs
        if (graph.tensors[inputs].type, graph.tensors[weights].type) != (types.FLOAT32, types.INT8):
            continue
        if weights not in floats:
            shape = graph.tensors[weights].shape
            floats[weights] = add_tensor(graph, schema, shape, types.FLOAT32)
            add_operator(tree, graph, schema, DEQUANTIZE, [weights], floats[weights])
        operator.inputs = np.array([inputs, floats[weights], *bias], np.int32)


def round_tables(tree, schema):
    """Round large tables that are only added to 8 bits, with a scale for each last index."""
    uses = {}  # buffer -> names of the operations that read it
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


def split_joined_inputs(tree, schema):
    """Split all products with a concatenated input: see the docstring of the module."""
    columns = {}  # (buffer of a matrix, widths of the parts) -> buffers of its columns
    for graph in tree.subgraphs:
        halves = {}  # part -> its positive and its negative values
        for product in list(graph.operators):
            parts = _parts_of(tree, graph, product, schema)
            if parts:
                factors = _factors(tree, graph, product.inputs[1], parts, columns, schema)
                _split(tree, graph, product, parts, factors, halves, schema)


def _parts_of(tree, graph, product, schema):
    """Return the vectors that are concatenated to a product's input; [] if there are none."""
    if name_of(tree, product, schema) != "FULLY_CONNECTED":
        return []
    joined, matrix = (graph.tensors[index] for index in product.inputs[:2])
    rounded = schema.TensorType.INT8, schema.TensorType.INT4
    if joined.type != schema.TensorType.FLOAT32 or matrix.type not in rounded:
        return []
    if product.builtinOptions.fusedActivationFunction != schema.ActivationFunctionType.NONE:
        return []
    if len(users_of(graph, product.inputs[1])) > 1:
        return []
    makers = [maker for maker in graph.operators if product.inputs[0] in maker.outputs]
    if not makers or name_of(tree, makers[0], schema) != "CONCATENATION":
        return []
    is_last = makers[0].builtinOptions.axis in (-1, len(joined.shape) - 1)
    return list(makers[0].inputs) if is_last else []


def _factors(tree, graph, matrix, parts, columns, schema):
    """Return the tensors that hold a matrix's columns for each part.

    The first of them replaces the tensor of the matrix.
    """
    whole = graph.tensors[matrix]
    widths = [int(graph.tensors[part].shape[-1]) for part in parts]
    key = (whole.buffer, *widths)
    if key not in columns:
        numbers = np.frombuffer(constant_of(tree, graph, matrix), np.int8).reshape(whole.shape)
        columns[key] = []
        for some in np.split(numbers, np.cumsum(widths)[:-1], axis=1):
            columns[key].append(len(tree.buffers))
            content = np.ascontiguousarray(some).reshape(-1).view(np.uint8)
            tree.buffers.append(schema.BufferT(data=content))
    factors = [matrix]
    for _ in widths[1:]:
        graph.tensors.append(copy.copy(whole))
        factors.append(len(graph.tensors) - 1)
    for factor, width, buffer in zip(factors, widths, columns[key], strict=True):
        graph.tensors[factor].shape = np.array([whole.shape[0], width], np.int32)
        graph.tensors[factor].buffer = buffer
    return factors


def _split(tree, graph, product, parts, factors, halves, schema):
    """Replace a product by the sum of the products of its parts.

    `halves` are the positive and negative values of parts, shared with earlier products.
    """
    joined, _, *bias = product.inputs
    (result,) = product.outputs
    floats = schema.TensorType.FLOAT32
    position = graph.operators.index(product)
    behind, graph.operators = graph.operators[position + 1 :], graph.operators[:position]

    def add(kind, inputs, template, output=None):
        if output is None:
            output = add_tensor(graph, schema, graph.tensors[template].shape, floats)
        add_operator(tree, graph, schema, kind, inputs, output, len(graph.operators))
        return output

    terms = []
    for part, factor in zip(parts, factors, strict=True):
        if part not in halves:
            positive = add(RELU, [part], template=part)
            halves[part] = positive, add(SUB, [part, positive], template=part)
        for half in halves[part]:
            terms.append(add_tensor(graph, schema, graph.tensors[result].shape, floats))
            term = copy.copy(product)
            term.inputs, term.outputs = _numbers(half, factor, *bias), _numbers(terms[-1])
            graph.operators.append(term)
            bias = [-1] * len(bias)  # only the first term adds the bias
    total, *middle, last = terms
    for term in middle:
        total = add(ADD, [total, term], template=result)
    add(ADD, [total, last], template=result, output=result)
    graph.operators += behind
    if not users_of(graph, joined):
        graph.operators = [
            operator for operator in graph.operators if joined not in operator.outputs
        ]


def _numbers(*indices):
    return np.array(indices, np.int32)
