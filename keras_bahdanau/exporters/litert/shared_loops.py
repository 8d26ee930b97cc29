"""Equal constants and equal loops of a .tflite model, kept once.

The converter writes the encoder and the search anew for each signature. A loop is a subgraph for
its condition and one for its body; where those of two signatures are the same, both run the first.
The runtime gives each subgraph one piece of memory, so a loop never shares with one within it.
What is around the loops stays in each signature. There tensors are numbered in the order of their
use, so that equal operations are equal tables, which `rewriting` writes once.
"""

import copy
import itertools

import flatbuffers
import numpy as np

_TENSORS = ("inputs", "outputs", "intermediates")  # of an operation, and of a graph but the last


def share_loops(tree):
    """Merge the equal buffers of a `ModelT`, then its equal subgraphs, until no two are equal.

    One that holds a loop equals another one only after their loops have been merged.
    """
    _share_buffers(tree)
    for place in range(len(tree.subgraphs)):
        _number_by_use(tree, place)
    while True:
        depths = _depths(tree)
        firsts, place = {}, {}
        for index, graph in enumerate(tree.subgraphs):
            key = (depths[index], _content(graph)) if depths[index] else index
            place[index] = firsts.setdefault(key, index)
        if len(firsts) == len(tree.subgraphs):
            return
        _keep(tree, sorted(firsts.values()), place)


def _depths(tree):
    """Number of loops around each subgraph: 0 of a signature's own, which is never merged."""
    depths = [0] * len(tree.subgraphs)
    for _ in tree.subgraphs:  # as often as loops may stand within each other
        for graph, depth in zip(tree.subgraphs, tuple(depths), strict=True):
            for options, name in _references(graph):
                depths[getattr(options, name)] = depth + 1
    return depths


def _references(graph):
    """Yield (options of an operation, name of the field) for each number of a subgraph."""
    for operator in graph.operators or []:
        options = operator.builtinOptions
        for name in list(vars(options)) if options else ():
            if name.endswith("SubgraphIndex"):  # such as the condition and body of a WHILE
                yield options, name


def _share_buffers(tree):
    """Let the tensors of all subgraphs whose buffers hold the same have the first of those."""
    firsts = {}
    place = [
        firsts.setdefault(b"" if buffer.data is None else buffer.data.tobytes(), index)
        for index, buffer in enumerate(tree.buffers)
    ]
    for graph in tree.subgraphs:
        for tensor in graph.tensors:
            tensor.buffer = place[tensor.buffer]


def _number_by_use(tree, place):
    """Number the tensors of a subgraph as they are used, and leave out those that are not."""
    graph = tree.subgraphs[place]
    operators = graph.operators or []
    used = [index for one in operators for name in _TENSORS for index in _list(one, name)]
    order = dict.fromkeys([*graph.inputs, *used, *graph.outputs])
    order.pop(-1, None)  # an operand that is left out
    numbers = {index: number for number, index in enumerate(order)} | {-1: -1}
    graph.tensors = [graph.tensors[index] for index in order]
    for holder, name in itertools.product((graph, *operators), _TENSORS):
        if before := _list(holder, name):
            setattr(holder, name, np.array([numbers[index] for index in before], np.int32))
    for signature in tree.signatureDefs or []:
        if signature.subgraphIndex == place:
            for named in (*signature.inputs, *signature.outputs):
                named.tensorIndex = numbers[named.tensorIndex]


def _list(holder, name):
    """A vector of the schema as a list, which is empty where there is none."""
    given = getattr(holder, name, None)
    return [] if given is None else [*given]


def _content(graph):
    """The bytes of a subgraph, but for its name."""
    same = copy.copy(graph)
    same.name = None
    builder = flatbuffers.Builder()
    builder.Finish(same.Pack(builder))
    return bytes(builder.Output())


def _keep(tree, kept, place):
    """Leave out the subgraphs that are not kept; `place` has the equal one of each."""
    numbers = {index: number for number, index in enumerate(kept)}
    new = {index: numbers[first] for index, first in place.items()}
    for graph in tree.subgraphs:
        for options, name in _references(graph):
            setattr(options, name, new[getattr(options, name)])
    for signature in tree.signatureDefs or []:
        signature.subgraphIndex = new[signature.subgraphIndex]
    tree.subgraphs = [tree.subgraphs[index] for index in kept]
