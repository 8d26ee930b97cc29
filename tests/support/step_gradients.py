"""Gradients of a loop over time, computed by TensorFlow and by `layers.replayed_loop`."""

import contextlib

import numpy as np
import tensorflow as tf
from keras import ops, tree
from step_cells import LENGTHS

from keras_bahdanau.layers import replayed_loop


@contextlib.contextmanager
def counted(replayed=True):
    """Yield a list to which each replayed loop adds its number of deferred products.

    With `replayed=False`, no loop is replayed.
    """
    traced, recorded = replayed_loop.StepGraph, replayed_loop.is_recorded
    counts = []

    def trace(*args):
        graph = traced(*args)
        counts.append(len(graph.products))
        return graph

    replayed_loop.StepGraph = trace
    if not replayed:
        replayed_loop.is_recorded = lambda: False
    try:
        yield counts
    finally:
        replayed_loop.StepGraph, replayed_loop.is_recorded = traced, recorded


def gradients(function, tensors, variables=(), replayed=True, xla=False, reset=lambda: None):
    """Return outputs, gradients of a scalar computed from them, and what `counted` yields."""
    reset()

    def run(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            outputs = [x for x in tree.flatten(function(*tensors)) if x.dtype.is_floating]
            wide = [ops.cast(x, "float64" if x.dtype == "float64" else "float32") for x in outputs]
            loss = sum(tf.reduce_sum(x * x * (1 + i)) for i, x in enumerate(wide))
        sources = [*tensors, *(variable.value for variable in variables)]
        zero = tf.UnconnectedGradients.ZERO
        slopes = tape.gradient(loss, sources, unconnected_gradients=zero)
        return outputs, [tf.convert_to_tensor(slope) for slope in slopes]

    # lengths are unknown, except with XLA
    known = [(None if size in LENGTHS else size for size in x.shape) for x in tensors]
    specs = [tf.TensorSpec(shape, x.dtype) for shape, x in zip(known, tensors, strict=True)]
    with counted(replayed) as counts:
        traced = tf.function(run, None if xla else specs, jit_compile=xla, autograph=False)
        outputs, slopes = traced(*map(tf.constant, tensors))
    wide = tf.nest.map_structure(lambda x: np.asarray(tf.cast(x, tf.float64)), (outputs, slopes))
    return *wide, counts
