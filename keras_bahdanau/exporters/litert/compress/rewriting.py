"""Rewrite a converted model in fewer bytes: without names, and with equal parts stored only once.

The converter gives each tensor a name and a buffer, which take up a third of a file with 300,000
weights. It also repeats the encoder and the search for each signature; here, signatures with equal
loops share one loop. The runtime allocates one block of memory for each subgraph, so a loop is
never shared with a loop inside it. Tensors are renumbered in the order of their use, so that equal
operations become equal tables.
"""

import copy
import itertools

import flatbuffers
import numpy as np

from keras_bahdanau.exporters.litert.compress import four_bits
from keras_bahdanau.exporters.litert.compress.eight_bits import (
    round_tables,
    split_joined_inputs,
    use_float_filters,
)
from keras_bahdanau.exporters.litert.compress.model_tree import (
    FILL,
    add_operator,
    add_tensor,
    constant_of,
    name_of,
    operands_of,
)
from keras_bahdanau.exporters.litert.tflite_file import ALIGNMENT, IDENTIFIER, load_schema

_MOST_SHARED = 2**20  # maximum size in bytes of a vector that may be shared
_LEAST_FILLED = 512  # minimum size in bytes of a constant that is worth replacing by an operation


def rewritten(model, quantization=None):
    """Rewrite a converted model in fewer bytes.

    If `quantization` is None or "float16", the answers of the model stay the same, bit for bit.
    "int8" also rounds large tables, and makes products more precise. "int4" rounds the weights of a
    float model.
    """
    schema = load_schema()
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model))
    if quantization == "int4":
        four_bits.round_weights(tree, schema)
    if quantization in ("int8", "int4"):
        round_tables(tree, schema)
        split_joined_inputs(tree, schema)
        for graph in tree.subgraphs:
            use_float_filters(tree, graph, schema)
    for graph in tree.subgraphs:
        _fill_constants(tree, graph, schema)
    four_bits.join_pairs(tree, schema)
    _forget_names(tree)
    share_loops(tree)
    _forget_empty_buffers(tree)
    builder = _SharingBuilder(len(model))
    builder.Finish(tree.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())


def _fill_constants(tree, graph, schema):
    """Create large constants at run time if all their values are equal, as in new loop states."""
    users = {}
    for operator in graph.operators:
        for index in operands_of(operator):
            users.setdefault(index, set()).add(name_of(tree, operator, schema))
    for index, names in users.items():
        data = constant_of(tree, graph, index) if names == {"WHILE"} else b""
        unit = data[:4]  # one float32 or int32
        tensor = graph.tensors[index]
        wide = tensor.type in (schema.TensorType.FLOAT32, schema.TensorType.INT32)
        if not wide or len(data) < _LEAST_FILLED or data != unit * (len(data) // len(unit)):
            continue
        shape = np.array(tensor.shape, np.int32)
        operands = [
            add_tensor(graph, schema, [len(shape)], schema.TensorType.INT32),
            add_tensor(graph, schema, [], tensor.type),
        ]
        for operand, content in zip(operands, (shape.tobytes(), unit), strict=True):
            graph.tensors[operand].buffer = len(tree.buffers)
            tree.buffers.append(schema.BufferT(data=np.frombuffer(content, np.uint8)))
        tensor.buffer = 0
        add_operator(tree, graph, schema, FILL, operands, index)


def _forget_names(tree):
    """Remove all names of tensors except the inputs and outputs of signatures."""
    public = {signature.subgraphIndex for signature in tree.signatureDefs or []}
    for number, graph in enumerate(tree.subgraphs):
        public_tensors = {*graph.inputs, *graph.outputs} if number in public else set()
        for index, tensor in enumerate(graph.tensors):
            if index not in public_tensors:
                tensor.name = None
            if tensor.quantization is not None and tensor.quantization.scale is None:
                tensor.quantization = None  # an empty table


def _forget_empty_buffers(tree):
    """Make all empty tensors share the first buffer, as the schema requires."""
    holders = [tensor for graph in tree.subgraphs for tensor in graph.tensors]
    holders += tree.metadata or []
    buffers, numbers = tree.buffers[:1], {}
    for holder in holders:
        buffer = tree.buffers[holder.buffer]
        if buffer.data is None or not len(buffer.data):
            holder.buffer = 0
            continue
        if holder.buffer not in numbers:
            numbers[holder.buffer] = len(buffers)
            buffers.append(buffer)
        holder.buffer = numbers[holder.buffer]
    tree.buffers = buffers


class _SharingBuilder(flatbuffers.Builder):
    """A builder that writes equal tables and equal short vectors once, and aligns buffers."""

    def __init__(self, size):
        super().__init__(size)
        self._written = {}
        self._values = None

    def StartObject(self, numfields):
        self._values = [numfields]

    def PrependSlot(self, *value):
        self._values.append((super().PrependSlot, *value))

    def PrependUOffsetTRelativeSlot(self, *value):
        self._values.append((super().PrependUOffsetTRelativeSlot, *value))

    def EndObject(self):
        key = (*self._values,)
        if key not in self._written:
            count, *values = key
            super().StartObject(count)
            for prepend, *value in values:
                prepend(*value)
            self._written[key] = super().EndObject()
        return self._written[key]

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


_TENSORS = (
    "inputs",
    "outputs",
    "intermediates",
)  # fields of operations; graphs have all but the last


def share_loops(tree):
    """Merge equal buffers of a `ModelT`, then equal subgraphs, beginning with inner loops."""
    _share_buffers(tree)
    for number in range(len(tree.subgraphs)):
        _number_by_use(tree, number)
    while True:
        depths = _depths(tree)
        firsts, firsts_of = {}, {}
        for index, graph in enumerate(tree.subgraphs):
            key = (depths[index], _content(graph)) if depths[index] else index
            firsts_of[index] = firsts.setdefault(key, index)
        if len(firsts) == len(tree.subgraphs):
            return
        _keep(tree, sorted(firsts.values()), firsts_of)


def _depths(tree):
    """Return the number of loops around each subgraph.

    It is 0 for the subgraph of a signature, which is never merged.
    """
    depths = [0] * len(tree.subgraphs)
    for _ in tree.subgraphs:  # the deepest nesting that is possible
        for graph, depth in zip(tree.subgraphs, tuple(depths), strict=True):
            for options, name in _references(graph):
                depths[getattr(options, name)] = depth + 1
    return depths


def _references(graph):
    """Yield (options of an operation, name of a field) for each reference to a subgraph."""
    for operator in graph.operators or []:
        options = operator.builtinOptions
        for name in list(vars(options)) if options else ():
            if name.endswith("SubgraphIndex"):  # for example, of the body of a WHILE
                yield options, name


def _share_buffers(tree):
    """Make tensors with equal buffers share the first of these buffers, in all subgraphs."""
    firsts = {}
    firsts_of = [
        firsts.setdefault(b"" if buffer.data is None else buffer.data.tobytes(), index)
        for index, buffer in enumerate(tree.buffers)
    ]
    for graph in tree.subgraphs:
        for tensor in graph.tensors:
            tensor.buffer = firsts_of[tensor.buffer]


def _number_by_use(tree, number):
    """Renumber the used tensors of a subgraph in the order of their use."""
    graph = tree.subgraphs[number]
    operators = graph.operators or []
    used = [index for operator in operators for name in _TENSORS for index in _list(operator, name)]
    order = dict.fromkeys([*graph.inputs, *used, *graph.outputs])
    order.pop(-1, None)  # an omitted operand
    numbers = {index: number for number, index in enumerate(order)} | {-1: -1}
    graph.tensors = [graph.tensors[index] for index in order]
    for holder, name in itertools.product((graph, *operators), _TENSORS):
        if before := _list(holder, name):
            setattr(holder, name, np.array([numbers[index] for index in before], np.int32))
    for signature in tree.signatureDefs or []:
        if signature.subgraphIndex == number:
            for named in (*signature.inputs, *signature.outputs):
                named.tensorIndex = numbers[named.tensorIndex]


def _list(holder, name):
    """Return a vector of the schema as a list; [] if it is missing."""
    vector = getattr(holder, name, None)
    return [] if vector is None else [*vector]


def _content(graph):
    """Return the bytes of a subgraph, without its name."""
    copied = copy.copy(graph)
    copied.name = None
    builder = flatbuffers.Builder()
    builder.Finish(copied.Pack(builder))
    return bytes(builder.Output())


def _keep(tree, remaining, firsts_of):
    """Keep only the `remaining` subgraphs; `firsts_of` maps each subgraph to an equal one there."""
    numbers = {index: number for number, index in enumerate(remaining)}
    new = {index: numbers[first] for index, first in firsts_of.items()}
    for graph in tree.subgraphs:
        for options, name in _references(graph):
            setattr(options, name, new[getattr(options, name)])
    for signature in tree.signatureDefs or []:
        signature.subgraphIndex = new[signature.subgraphIndex]
    tree.subgraphs = [tree.subgraphs[index] for index in remaining]
