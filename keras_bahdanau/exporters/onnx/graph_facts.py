"""Read the operations, inputs and outputs of an ONNX model, without the package onnx."""

import collections
from typing import Any, NamedTuple

from keras_bahdanau.exporters.onnx.onnx_file import fields_of, text_in
from keras_bahdanau.files.integrity import Damage

DTYPES = {  # `TensorProto.DataType`
    **{1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64"},
    **{8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64"},
    **{14: "complex64", 15: "complex128", 16: "bfloat16"},
}
_DEEPEST = 20  # maximum nesting of graphs

# field numbers in onnx.proto
_MODEL = {1: "ir_version", 2: "producer", 7: "graph", 8: "opset", 25: "function"}
_OPSET_DOMAIN, _OPSET_VERSION = 1, 2
_GRAPH = {1: "node", 5: "initializer", 11: "input", 12: "output"}
_FUNCTION_NODE = 7
_OPERATION, _ATTRIBUTE, _DOMAIN = 4, 5, 7  # in a node
_TENSORS, _GRAPHS = {5, 10}, {6, 11}  # in an attribute
_EXTERNAL_DATA, _LOCATION = 13, 14  # in a tensor
_NAME, _TYPE = 1, 2  # in an input or output


class TensorFact(NamedTuple):
    """Name, dtype and shape of an input or output."""

    name: str
    dtype: str  # NumPy's name; "" for types other than tensors
    shape: tuple  # integers, or the names of axes of any length ("" if unnamed)

    def __str__(self):
        axes = ", ".join(str(axis) if axis != "" else "?" for axis in self.shape)
        return f"{self.name} {self.dtype} ({axes})"


class GraphFacts(NamedTuple):
    """Versions, operations, inputs and outputs of a model."""

    ir_version: int
    opsets: dict  # domain ("" for ONNX itself) -> version of its operations
    operations: collections.Counter  # of (domain, operation), in all graphs
    inputs: list  # of `TensorFact`
    outputs: list
    external: bool  # True if a tensor is in another file

    def lines(self):
        """Yield lines of text that describe the model."""
        kinds = collections.Counter()
        for (domain, name), count in self.operations.items():
            kinds[f"{domain}.{name}" if domain else name] += count
        versions = ", ".join(
            f"{domain or 'ONNX'} {version}" for domain, version in sorted(self.opsets.items())
        )
        yield f"opset {versions}; IR version {self.ir_version}"
        yield "operations: " + ", ".join(f"{name} {kinds[name]:,}" for name in sorted(kinds))
        for kind, tensors in (("input", self.inputs), ("output", self.outputs)):
            yield from (f"{kind} {tensor}" for tensor in tensors)


def read_facts(model):
    """Return the `GraphFacts` for a model's bytes. Raises `Damage` if it is not an ONNX model."""
    reader = _Reader(model)
    facts: dict[str, Any] = {"ir_version": 0, "graph": None}
    opsets, functions = {}, []
    for _, number, value in fields_of(model):
        field = _MODEL.get(number)
        if field == "opset":
            entry = {key: part for _, key, part in reader.fields(value)}
            domain = text_in(model, entry.get(_OPSET_DOMAIN, (0, 0)))
            opsets["" if domain == "ai.onnx" else domain] = entry.get(_OPSET_VERSION, 0)
        elif field == "function":
            functions.append(value)
        elif field:
            facts[field] = value
    if facts["graph"] is None or not opsets:
        raise Damage("it is not an ONNX file: it has no graph, or no opset version")
    for span in functions:
        reader.read_function(span)
    inputs, outputs = reader.read_graph(facts["graph"])
    return GraphFacts(
        facts["ir_version"], opsets, reader.operations, inputs, outputs, reader.external
    )


class _Reader:
    """Reads the graphs of a model and counts their operations."""

    def __init__(self, content):
        self.content, self.operations, self.external = content, collections.Counter(), False

    def fields(self, span):
        if not isinstance(span, tuple):
            raise Damage("it is not a valid ONNX message")
        return fields_of(self.content, *span)

    def read_graph(self, span, depth=0):
        """Return (inputs, outputs), two lists of `TensorFact`, and count the operations."""
        if depth > _DEEPEST:
            raise Damage("its graphs are nested too deeply")
        tensors = {"input": [], "output": []}
        initialized = set()
        for _, number, value in self.fields(span):
            field = _GRAPH.get(number)
            if field == "node":
                self._read_node(value, depth)
            elif field == "initializer":
                initialized.add(self._read_tensor(value))
            elif field:
                tensors[field].append(self._read_value(value))
        inputs = [tensor for tensor in tensors["input"] if tensor.name not in initialized]
        return inputs, tensors["output"]

    def read_function(self, span):
        for _, number, value in self.fields(span):
            if number == _FUNCTION_NODE:
                self._read_node(value, 0)

    def _read_node(self, span, depth):
        operation, domain = "", ""
        for _, number, value in self.fields(span):
            if number == _OPERATION:
                operation = text_in(self.content, value)
            elif number == _DOMAIN:
                domain = text_in(self.content, value)
            elif number == _ATTRIBUTE:
                self._read_attribute(value, depth)
        self.operations["" if domain == "ai.onnx" else domain, operation] += 1

    def _read_attribute(self, span, depth):
        for _, number, value in self.fields(span):
            if number in _GRAPHS and isinstance(value, tuple):
                self.read_graph(value, depth + 1)
            elif number in _TENSORS and isinstance(value, tuple):
                self._read_tensor(value)

    def _read_tensor(self, span):
        """Return the name of a tensor, and record whether its data is in an external file."""
        name = ""
        for _, number, value in self.fields(span):
            if number == 8:
                name = text_in(self.content, value)
            elif number == _EXTERNAL_DATA or number == _LOCATION and value == 1:
                self.external = True
        return name

    def _read_value(self, span):
        """Return the `TensorFact` of an input or output."""
        name, dtype, shape = "", "", []
        for _, number, value in self.fields(span):
            if number == _NAME:
                name = text_in(self.content, value)
            elif number == _TYPE:
                dtype, shape = self._read_type(value)
        return TensorFact(name, dtype, tuple(shape))

    def _read_type(self, span):
        """Return (name of the dtype, list of axes) of a tensor type; ("", []) for other types."""
        dtype, shape = "", []
        for _, number, tensor in self.fields(span):
            if number != 1:
                continue
            for _, field, value in self.fields(tensor):
                if field == 1:
                    dtype = DTYPES.get(value, str(value))
                elif field == 2:
                    shape = [self._read_axis(axis) for _, _, axis in self.fields(value)]
        return dtype, shape

    def _read_axis(self, span):
        axis = ""
        for _, number, value in self.fields(span):
            if number == 1:
                axis = value
            elif number == 2:
                axis = text_in(self.content, value)
        return axis
