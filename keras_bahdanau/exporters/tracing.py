"""Graphs of signature functions and their variables, in memory and on disk."""

import contextlib

import tensorflow as tf

from keras_bahdanau.exporters.saved_model.graph_check import GUARD


def traced(pipeline, function, arguments, most_rows=None):
    """Trace `function(pipeline, **arguments)` for the specs of arguments, to `most_rows` rows."""
    specs = {
        name: tf.TensorSpec(spec.shape, spec.dtype, name=name) for name, spec in arguments.items()
    }

    def answer(**tensors):
        if most_rows is not None:
            tensors = _guarded(tensors, arguments, most_rows)
        return function(pipeline, **tensors)

    with portable(pipeline.model):
        graph = tf.function(answer, autograph=False)
        return graph.get_concrete_function(**specs)


def _guarded(tensors, specs, most_rows):
    """Check shapes, and that rows are equal and limited, before a server merges requests."""
    with tf.name_scope(GUARD):
        # it checks the actual tensor, not the promised shape
        tensors = {
            name: tf.ensure_shape(tensor, specs[name].shape) for name, tensor in tensors.items()
        }
        rows = tf.stack([tf.shape(tensor)[0] for tensor in tensors.values()])
        demand = f"All inputs of a request must have as many rows, at most {most_rows}. Received:"
        checked = tf.debugging.Assert(
            tf.reduce_all((rows == rows[0]) & (rows <= most_rows)), [demand, rows]
        )
        with tf.control_dependencies([checked]):
            return {name: tf.identity(tensor) for name, tensor in tensors.items()}


def portable(model):
    """Traces inside the block hold no cuDNN ops, which CPUs and phones can't run."""
    return switched(model, "use_cudnn", False)


def single_row(model):
    """Traces inside the block are for a single row without padding."""
    return switched(model, "stops_early", True)


@contextlib.contextmanager
def switched(model, name, value):
    """Inside the block, layers with an attribute of this name have this value."""
    layers = [layer for layer in model._flatten_layers() if hasattr(layer, name)]
    before = [getattr(layer, name) for layer in layers]
    for layer in layers:
        setattr(layer, name, value)
    try:
        yield
    finally:
        for layer, old in zip(layers, before, strict=True):
            setattr(layer, name, old)


class SearchedOnce:
    """A `Pipeline` whose signatures, except for prefixes, share one graph of its search."""

    def __init__(self, pipeline):
        self._pipeline = pipeline
        self._free = tf.function(
            pipeline.search_features,
            input_signature=[pipeline.source.feature_spec],
            autograph=False,
        )

    def search_features(self, features, prefix=None):
        """The `SearchResult` of `Pipeline.search_features`."""
        if prefix is None:
            return self._free(features)
        return self._pipeline.search_features(features, prefix=prefix)

    def __getattr__(self, name):
        return getattr(self._pipeline, name)


def weights_of(pipeline, resources=()):
    """A `tf.Module` with the variables, without Keras objects, and the resources of graphs."""
    module = tf.Module()
    module.weights = [weight.value for weight in pipeline.model.weights]
    module.resources = list(resources)
    return module


_NO_ROOM = (tf.errors.OutOfRangeError, tf.errors.ResourceExhaustedError)  # TensorFlow's names


def write_graph(module, path, functions):
    """Save the signatures of a graph and their weights; OSError if the disk is full."""
    with whole(path):
        tf.saved_model.save(module, str(path), signatures=functions)


@contextlib.contextmanager
def whole(path):
    """Turn TensorFlow's errors of a full disk, or of too large a file, into OSError."""
    try:
        yield
    except _NO_ROOM as error:
        reason = error.message.rpartition("; ")[2].partition("\n")[0].partition(" [Op:")[0]
        raise OSError(
            f"An export must reach the disk as a whole. Received: path={str(path)!r} ({reason}). "
            "Make room or choose another place, and run it again: nothing is left of it."
        ) from None
