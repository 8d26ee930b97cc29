"""Bounds for the memory and work of a graph on any machine, from the shapes of its tensors."""

import functools
import math
import re

import tensorflow as tf

from keras_bahdanau.exporters.saved_model.graph_check import calls

_BYTES = 4  # bytes of a float32 or int32
_LOOPS = {"StatelessWhile", "While"}
# operations that call each of their functions at most once
_CALLS = {
    *("Case", "If", "PartitionedCall"),
    *("StatefulPartitionedCall", "StatelessCase", "StatelessIf"),
}
# operations that rename, reshape or pass on a tensor
_NOTHING_NEW = {
    *("ExpandDims", "Identity", "IdentityN", "Reshape", "Squeeze", "StopGradient"),
    *_LOOPS,
    *_CALLS,
}
_NO_WORK = {*_NOTHING_NEW, "Const", "Placeholder"}
_READ_A_PART = re.compile("(Resource)?Gather.*|(Strided)?Slice|Shape|Size|TensorListGetItem")
# the axes of the second factor that are summed over: (flag, if transposed, if not)
_PRODUCTS = {
    "MatMul": ("transpose_b", slice(1, 2), slice(0, 1)),
    **dict.fromkeys(
        ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"),
        ("adj_y", slice(-1, None), slice(-2, -1)),
    ),
    **dict.fromkeys(("Conv2D", "Conv3D"), ("", None, slice(None, -1))),
    "DepthwiseConv2dNative": ("", None, slice(0, 2)),
}
_STEPS = {"FusedBatchNormV3": 4, "LogSoftmax": 5, "Softmax": 5}
# operations that do more work than the sizes of their tensors suggest
_UNKNOWN = re.compile(
    r"MatMul|Conv(\d[Dd]|$)|Dilation2D|FFT|Pool|Solve|Cholesky|Determinant|Inverse|Svd|Eig|Qr$|"
    "^Lu$|^Matrix(Exponential|Logarithm|SquareRoot)|^Xla"
)


class Unbounded(ValueError):
    """Error: the shapes in a graph give no bound for its work."""


def graph_bytes(graph, unknown):
    """Return the size in bytes of all tensors in a graph.

    The body of a loop counts once, but its lists count for all iterations.
    """
    return _total(graph, unknown, _bytes, lambda *_: 1)


def graph_operations(graph, unknown):
    """Return the maximum number of scalar operations in a graph.

    A matrix product or convolution counts as its multiplications and additions. Any other operation
    counts one for each element of its inputs or of its outputs, whichever are more; for softmax,
    normalization, sorting and Fourier transforms, each element counts several times. Loops run for
    their maximum number of iterations. Raises `Unbounded` if no bound is known.
    """
    return _total(graph, unknown, _operations, _runs)


def _total(graph, unknown, cost, runs):
    """Sum `cost(part, node)` over all nodes.

    A node that calls a function adds the total of the function, times
    `runs(parts, part, node, name)`.
    """
    parts = {None: _Part(graph.node, (), (), unknown)}
    for function in graph.library.function:
        arguments = [argument.name for argument in function.signature.input_arg]
        shapes = function.attr["_input_shapes"].list.shape
        parts[function.signature.name] = _Part(function.node_def, arguments, shapes, unknown)

    @functools.cache
    def total(name):
        part = parts[name]
        return sum(
            cost(part, node)
            + sum(
                runs(parts, part, node, called) * total(called)
                for called in calls(node) & parts.keys()
            )
            for node in part.nodes.values()
        )

    return total(None)


class _Part:
    """The nodes of a graph or of one of its functions, with the shapes of their tensors."""

    def __init__(self, nodes, arguments, shapes, unknown):
        self.nodes = {node.name: node for node in nodes}
        self.arguments = arguments
        made = {name: node.attr["_output_shapes"].list.shape for name, node in self.nodes.items()}
        argument_shapes = {name: [shape] for name, shape in zip(arguments, shapes, strict=True)}
        self._shapes = {
            name: [
                None  # unknown rank
                if shape.unknown_rank
                else tuple(unknown if axis.size < 0 else axis.size for axis in shape.dim)
                for shape in shapes
            ]
            for name, shapes in {**made, **argument_shapes}.items()
        }

    def outputs(self, node):
        """Return the shapes of the tensors that a node outputs."""
        return self._shapes[node.name]

    def inputs(self, node):
        """Return the shapes of the tensors that a node reads."""
        return [self._shapes[name][index] for name, index in _tensors(node)]

    def constant(self, tensor):
        """Return the value of a tensor if it is computed from constants only, else None."""
        name, index = _tensor(tensor)
        waiting, made_of = [name], {}
        while waiting:
            node = self.nodes.get(waiting.pop())
            if node is None or node.op in _LOOPS | _CALLS:
                return None
            before = _tensors(node)
            if not before and node.op != "Const":
                return None
            copied = made_of[node.name] = tf.compat.v1.NodeDef()
            copied.CopyFrom(node)
            copied.input[:] = ["{}:{}".format(*tensor) for tensor in before]
            waiting += [source for source, _ in before if source not in made_of]
        graph = tf.compat.v1.GraphDef(node=made_of.values())
        (value,) = tf.compat.v1.wrap_function(
            lambda: tf.import_graph_def(graph, return_elements=[f"{name}:{index}"]), []
        )()
        return value.numpy()


def _tensors(node):
    """Return a list of the tensors that a node reads: see `_tensor`."""
    return [_tensor(name) for name in node.input if not name.startswith("^")]


def _tensor(name):
    """Return (node, index of its output) for "node", "node:1" or, in functions, "node:output:1"."""
    node, *suffix = name.split(":")
    return node, int(suffix[-1]) if suffix else 0


def _bytes(part, node):
    """Return the size in bytes of the tensors that a node outputs."""
    if node.op in _NOTHING_NEW:
        return 0
    return sum(_BYTES * math.prod(shape or ()) for shape in part.outputs(node))


def _runs(parts, part, node, called):
    """Return the maximum number of times that a node runs the function `called`."""
    if node.op in _CALLS or node.op == called:
        return 1
    if node.op in _LOOPS:
        condition = node.attr["cond"].func.name
        rounds = part.constant(node.input[1]) if _has_limit(parts[condition]) else None
        if rounds is not None:
            return int(rounds) + (called == condition)
    raise Unbounded(
        "Each loop in a model must have `maximum_iterations`, computed from the lengths in the "
        f"batch, so that the model's work is bounded. Received: {node.op} {node.name!r}, which has "
        "none. Pass it to `while_loop`."
    )


def _has_limit(condition):
    """Return True if a loop's condition compares the iteration and its limit."""
    return any(
        node.op == "Less" and list(node.input) == condition.arguments[:2]
        for node in condition.nodes.values()
    )


def _operations(part, node):
    """Return the number of operations in one run of a node, without the functions it calls."""
    if node.op in _NO_WORK:
        return 0
    outputs, inputs = part.outputs(node), part.inputs(node)
    if None in outputs or None in inputs:
        raise Unbounded(
            "Each tensor in a model must have a known number of axes, so that the model's work is "
            "bounded. "
            f"Received: {node.op} {node.name!r}. Set its shape."
        )
    made = sum(map(math.prod, outputs))
    if node.op == "Einsum":
        return 2 * made * _summed(node.attr["equation"].s.decode(), inputs)
    if node.op in _PRODUCTS:
        flag, turned, straight = _PRODUCTS[node.op]
        return 2 * made * math.prod(inputs[1][turned if flag and node.attr[flag].b else straight])
    if _READ_A_PART.fullmatch(node.op):
        return made
    return _steps(node, inputs, outputs) * max(made, *map(math.prod, inputs), 0)


def _summed(equation, inputs):
    """Return the size of the axes that an equation such as "ab,bc->ac" sums over."""
    terms, result = equation.split("->")
    sizes = {}
    for term, shape in zip(terms.split(","), inputs, strict=True):
        before, _, behind = term.partition("...")
        sizes |= dict(zip(before, shape, strict=False))
        sizes |= dict(zip(reversed(behind), reversed(shape), strict=False))
    return math.prod(size for axis, size in sizes.items() if axis not in result)


def _steps(node, inputs, outputs):
    """Return the number of operations of a node for each of its elements."""
    if node.op == "TopKV2":  # a heap of the k best
        return 1 + outputs[0][-1].bit_length()
    if node.op == "RFFT":  # n log n
        return 5 * (inputs[0][-1] - 1).bit_length()
    if node.op == "AddN":
        return len(inputs)
    if node.op in ("AvgPool", "MaxPool"):
        return math.prod(node.attr["ksize"].list.i)
    if _UNKNOWN.search(node.op):
        raise Unbounded(
            "The work of each operation in a model must be known, so that the model's work is "
            "bounded. "
            f"Received: {node.op} {node.name!r}. Rewrite it with matrix products, convolutions or "
            "elementwise operations."
        )
    return _STEPS.get(node.op, 1)
