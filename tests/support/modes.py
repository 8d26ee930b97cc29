"""The ways in which a function of tensors runs; each gives arrays back."""

import numpy as np
import pytest
import tensorflow as tf

EAGER_FIRST = ["eager", pytest.param("graph", marks=pytest.mark.slow)]
GRAPH_FIRST = [pytest.param("eager", marks=pytest.mark.slow), "graph"]
# for a test of which the other one would run
graph_is_slow = pytest.mark.parametrize("run", EAGER_FIRST, indirect=True)
eager_is_slow = pytest.mark.parametrize("run", GRAPH_FIRST, indirect=True)


def eager(function, *args):
    return _arrays(function(*_tensors(args)))


def graph(function, *args):
    """In a `tf.function` that knows neither the batch nor any length."""
    return graphs()(function, *args)


def graphs():
    """`graph` that traces each function once for each kind of arguments."""
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
        shape[-1] = tensor.shape[-1]  # the width of a vector
    return tf.TensorSpec(shape, tensor.dtype)


def _tensors(args):
    return tf.nest.map_structure(tf.convert_to_tensor, args)


def _arrays(outputs):
    return tf.nest.map_structure(np.asarray, outputs)
