"""The largest batch that a SavedModel answers: the memory and the work that suffice for any.

A signature's graph has unknown dimensions. Traced for the largest batch there is, every tensor of
it has a known size, and every loop a known number of rounds.
"""

import contextlib

import tensorflow as tf

from keras_bahdanau.exporters.saved_model.graph_costs import (
    Unbounded,
    graph_bytes,
    graph_operations,
)
from keras_bahdanau.exporters.tracing import portable
from keras_bahdanau.text.ids import WORD, byte_limit

_COPIES = 8  # of each word, from the text to the answer


def largest_batch(pipeline, rows, prefix=False):
    """Bounds for any batch, beside the loaded model and the request itself.

    Both are those of the search, or of the scoring of given targets if that is more. To replace
    unknown words, the text is copied for each position, and some words for each token; other
    strings are not counted, nor is the work on any. The memory that it takes to read the request
    is the source's own figure.

    Args:
        pipeline: A `Pipeline`.
        rows: Integer, the most rows of a batch.
        prefix: True if a request may hold a prefix.

    Returns:
        Dictionary for the card: `max_batch_bytes`, see `graph_bytes`, and `max_batch_operations`,
        see `graph_operations`, unless a layer of your own has none that is known.
    """
    longest, options = pipeline.longest(), pipeline.search
    search, forced = largest_graphs(pipeline, rows, prefix)
    unknown = max(longest, options.max_length)
    copied = 0
    if options.replace_unknown:
        words = longest + options.beam_width * options.max_length
        copied = rows * (longest * byte_limit(longest) + _COPIES * words * WORD)
    size = max(copied + graph_bytes(search, unknown), graph_bytes(forced, unknown))
    bounds = {"max_batch_bytes": pipeline.source.reading_bytes(rows, longest) + size}
    with contextlib.suppress(Unbounded):
        work = [graph_operations(graph, unknown) for graph in (search, forced)]
        bounds["max_batch_operations"] = max(work)
    return bounds


def largest_graphs(pipeline, rows, prefix=False):
    """The `GraphDef` of the search for the largest batch, and that of the scoring of targets."""
    options = pipeline.search
    features = pipeline.source.batch_spec(rows, pipeline.longest())
    request = {
        name: tf.TensorSpec((rows, *spec.shape[1:]), spec.dtype)
        for name, spec in pipeline.source.inputs.items()
    }
    target = tf.TensorSpec((rows, options.max_length), tf.int32)

    def search(features, request, given):
        begun = {"prefix": given} if prefix else {}
        result = pipeline.search_features(features, time=options.max_length, **begun)
        if options.replace_unknown:
            return result, pipeline.graph_texts(result, pipeline.graph_copies(result, **request))
        return result

    def graph(function, *specs):
        with portable(pipeline.model):
            traced = tf.function(function, autograph=False).get_concrete_function(*specs)
        return traced.graph.as_graph_def(add_shapes=True)

    return graph(search, features, request, target), graph(
        pipeline.force_features, features, target
    )
