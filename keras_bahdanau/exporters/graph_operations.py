"""Which operations stand in a TensorFlow graph, and which of them a request runs."""

_COMPILED = "_XlaMustCompile"  # the mark of a function traced with `jit_compile=True`


def all_operations(graph):
    """The names of all operations of a `GraphDef` and of its functions.

    A node may also have the name of one of the graph's own functions; these are left out.
    """
    functions = graph.library.function
    nodes = [*graph.node, *(node for function in functions for node in function.node_def)]
    return {node.op for node in nodes} - {function.signature.name for function in functions}


def reached_operations(graph, signature):
    """The names of the operations that a request to a signature runs.

    The saver stands in the same graph, and it must read files and write
    variables: so only what the outputs come from is taken, with the functions
    called on the way. `_XlaMustCompile` is among the names if one of these is compiled.

    Args:
        graph: The `GraphDef`.
        signature: The `SignatureDef`.

    Returns:
        Set of strings.
    """
    outputs = [name for tensor in signature.outputs.values() for name in _tensor_names(tensor)]
    waiting = _ancestors(graph.node, outputs)
    uncalled = {function.signature.name: function for function in graph.library.function}
    reached = set()
    while waiting:
        node = waiting.pop()
        reached.add(node.op)
        called = [uncalled.pop(name) for name in _calls(node) & uncalled.keys()]
        if any(_COMPILED in part.attr and part.attr[_COMPILED].b for part in (node, *called)):
            reached.add(_COMPILED)
        for function in called:
            waiting.extend(function.node_def)
    return reached


def _tensor_names(tensor):
    """The tensors that a `TensorInfo` stands for."""
    encoding = tensor.WhichOneof("encoding")
    if encoding == "coo_sparse":
        return [name for _, name in tensor.coo_sparse.ListFields()]
    parts = tensor.composite_tensor.components
    return [name for part in parts for name in _tensor_names(part)] or [tensor.name]


def _ancestors(nodes, tensors):
    """List of the nodes that these tensors come from."""
    unseen = {node.name: node for node in nodes}
    waiting, found = list(tensors), []
    while waiting:
        name = waiting.pop().removeprefix("^").split(":")[0]
        if name in unseen:
            found.append(unseen.pop(name))
            waiting.extend(found[-1].input)
    return found


def _calls(node):
    """The names that may be of functions that a node calls."""
    values = node.attr.values()
    lists = [function.name for value in values for function in value.list.func]
    return {node.op, *lists, *(value.func.name for value in values)}
