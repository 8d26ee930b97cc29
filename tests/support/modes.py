"""Run a function of tensors eagerly, as a graph or with XLA; each returns arrays."""

import numpy as np
import pytest
import tensorflow as tf

EAGER_FIRST = ["eager", pytest.param("graph", marks=pytest.mark.slow)]
GRAPH_FIRST = [pytest.param("eager", marks=pytest.mark.slow), "graph"]
# marks that select the mode that is slow
graph_is_slow = pytest.mark.parametrize("run", EAGER_FIRST, indirect=True)
eager_is_slow = pytest.mark.parametrize("run", GRAPH_FIRST, indirect=True)


def eager(function, *args):
    return _arrays(function(*_tensors(args)))


def graph(function, *args):
    """Call a function as a `tf.function` in which the batch size and all lengths are unknown."""
    return graphs()(function, *args)


def graphs():
    """Return a function like `graph` that traces each function once per signature."""
    traced = {}

    def run(function, *args):
        args = _tensors(args)
        signature = tf.nest.map_structure(_spec, args)
        key = function, str(signature)
        if key not in traced:
            traced[key] = tf.function(function, input_signature=signature, autograph=False)
        return _arrays(traced[key](*args))

    return run


def xla(function, *args):
    return _arrays(tf.function(function, jit_compile=True, autograph=False)(*_tensors(args)))


def _spec(tensor):
    shape = [None] * len(tensor.shape)
    if tensor.dtype.is_floating and len(shape) > 1:
        shape[-1] = tensor.shape[-1]  # the width of vectors is known
    return tf.TensorSpec(shape, tensor.dtype)


def _tensors(args):
    return tf.nest.map_structure(tf.convert_to_tensor, args)


def _arrays(outputs):
    return tf.nest.map_structure(np.asarray, outputs)
