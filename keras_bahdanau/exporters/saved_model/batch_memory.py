"""The memory that a batch can take, from the shapes of a model's graph.

A signature's graph has unknown dimensions. Traced for the largest batch there is, every tensor of
it has a known size, and their sum is a bound: a runtime keeps none longer than its batch lasts, and
most of them a moment.
"""

import collections
import math

import tensorflow as tf

from keras_bahdanau.exporters.saved_model.operations import calls
from keras_bahdanau.exporters.signatures import portable
from keras_bahdanau.text.byte_limit import WORD, byte_limit

_BYTES = 4  # of a number; float32 and int32
_COPIES = 8  # of each word, from the text to the answer
# operations that give a tensor another name or shape, or hand it on
_NOTHING_NEW = frozenset(
    "ExpandDims Identity If PartitionedCall Reshape Squeeze StatefulPartitionedCall "
    "StatelessIf StatelessWhile StopGradient While".split()
)


def largest_batch(pipeline, rows, prefix=False):
    """Bytes that suffice for any batch, beside the loaded model and the request itself.

    Counted is every tensor of the search and of its texts, or of the scoring of given targets if
    that is more: each once, those of a loop's body for one step, lists of a loop with all of its
    steps. To replace unknown words, the text is copied for each position, and some words for each
    token; other strings are not counted. What it takes to read the request is the source's own
    figure.

    Args:
        pipeline: A `Pipeline`.
        rows: Integer, the most rows of a batch.
        prefix: True if a request may hold a prefix.
    """
    longest, options = pipeline.longest(), pipeline.search
    features = pipeline.source.batch_spec(rows, longest)
    request = {
        name: tf.TensorSpec((rows, *spec.shape[1:]), spec.dtype)
        for name, spec in pipeline.source.inputs.items()
    }

    def search(features, request, given):
        begun = {"prefix": given} if prefix else {}
        result = pipeline.search_features(features, time=options.max_length, **begun)
        if options.replace_unknown:
            return result, pipeline.graph_texts(result, **request)
        return result

    copied = 0
    if options.replace_unknown:
        words = longest + options.beam_width * options.max_length
        copied = rows * (longest * byte_limit(longest) + _COPIES * words * WORD)
    target = tf.TensorSpec((rows, options.max_length), tf.int32)
    unknown = max(longest, options.max_length)
    return pipeline.source.reading_bytes(rows, longest) + max(
        copied + graph_bytes(_graph(pipeline.model, search, features, request, target), unknown),
        graph_bytes(_graph(pipeline.model, pipeline.force_features, features, target), unknown),
    )


def _graph(model, function, *specs):
    """The `GraphDef` of a function for tensors of these specs, with the shapes of all tensors."""
    with portable(model):
        traced = tf.function(function, autograph=False).get_concrete_function(*specs)
    return traced.graph.as_graph_def(add_shapes=True)


def graph_bytes(graph, unknown):
    """Bytes of all tensors of a `GraphDef`, a function's once for each of its calls.

    Args:
        graph: A `GraphDef` with shapes.
        unknown: Integer, what an unknown dimension counts as.
    """
    functions = {function.signature.name: function.node_def for function in graph.library.function}

    def size(nodes):
        called = collections.Counter(name for node in nodes for name in calls(node))
        own = sum(_outputs(node, unknown) for node in nodes)
        return own + sum(
            called[name] * size(functions[name]) for name in called.keys() & functions.keys()
        )

    return size(graph.node)


def _outputs(node, unknown):
    """Bytes of the tensors that a node makes."""
    if node.op in _NOTHING_NEW:
        return 0
    shapes = node.attr["_output_shapes"].list.shape
    sizes = ([unknown if axis.size < 0 else axis.size for axis in shape.dim] for shape in shapes)
    return sum(_BYTES * math.prod(one) for one in sizes)
