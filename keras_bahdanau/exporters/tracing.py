"""Trace signature functions to graphs, and save the graphs with their variables."""

import contextlib

import tensorflow as tf

from keras_bahdanau.exporters.saved_model.graph_check import GUARD


def traced(pipeline, function, arguments, most_rows=None):
    """Trace `function(pipeline, **arguments)` for specs of its arguments.

    If `most_rows` is given, the graph rejects requests of more rows.
    """
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
    """Check that the tensors have their declared shapes, and as many rows as each other.

    The number of rows must be at most `most_rows`. The check runs before a server merges requests.
    """
    with tf.name_scope(GUARD):
        # `ensure_shape` checks the actual tensor, not only its static shape
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
    """Keep cuDNN ops, which CPUs and phones can't run, out of traces inside the block."""
    return switched(model, "use_cudnn", False)


def single_row(model):
    """Make traces inside the block expect a single row without padding."""
    return switched(model, "stops_early", True)


@contextlib.contextmanager
def switched(model, name, value):
    """Set the attribute `name` of all layers that have it to `value` inside the block."""
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
    """A `Pipeline` whose signatures share one graph of the search, except those with a prefix."""

    def __init__(self, pipeline):
        self._pipeline = pipeline
        self._free = tf.function(
            pipeline.search_features,
            input_signature=[pipeline.source.feature_spec],
            autograph=False,
        )

    def search_features(self, features, prefix=None):
        """Return the `SearchResult` of `Pipeline.search_features`."""
        if prefix is None:
            return self._free(features)
        return self._pipeline.search_features(features, prefix=prefix)

    def __getattr__(self, name):
        return getattr(self._pipeline, name)


def weights_of(pipeline, resources=()):
    """Return a `tf.Module` with the variables (no Keras objects) and the resources of graphs."""
    module = tf.Module()
    module.weights = [weight.value for weight in pipeline.model.weights]
    module.resources = list(resources)
    return module


_NO_ROOM = (tf.errors.OutOfRangeError, tf.errors.ResourceExhaustedError)  # for a full disk


def write_graph(module, path, functions):
    """Save signatures with their weights as a SavedModel. Raises OSError if the disk is full."""
    with whole(path):
        tf.saved_model.save(module, str(path), signatures=functions)


@contextlib.contextmanager
def whole(path):
    """Turn TensorFlow's errors for a full disk or for too large a file into OSError."""
    try:
        yield
    except _NO_ROOM as error:
        reason = error.message.rpartition("; ")[2].partition("\n")[0].partition(" [Op:")[0]
        raise OSError(
            f"An export must be written completely. Received: path={str(path)!r} ({reason}). Free "
            "some space or choose another directory, and run it again: nothing was kept."
        ) from None
