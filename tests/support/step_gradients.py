"""Gradients of a loop over time, as TensorFlow takes them and by `layers.replayed_loop`."""

import contextlib

import numpy as np
import tensorflow as tf
from keras import ops, tree

from keras_bahdanau.layers import replayed_loop
from keras_bahdanau.layers.attention.base import new_memory
from keras_bahdanau.layers.memory import Memory, masked_mean

BATCH, SOURCE_TIME, TARGET_TIME, WIDTH = 3, 5, 4, 32
LENGTHS = BATCH, SOURCE_TIME, TARGET_TIME
RANDOM = np.random.default_rng(76)
VALUES = RANDOM.normal(size=(BATCH, SOURCE_TIME, WIDTH))
INPUTS = RANDOM.normal(size=(BATCH, TARGET_TIME, WIDTH))
MASK = np.arange(SOURCE_TIME) < np.array([[5], [3], [0]])  # a row has nothing real


@contextlib.contextmanager
def counted(replayed=True):
    """The number of loops that are replayed, in a list; none with `replayed=False`."""
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
    """(outputs and gradients of a scalar of them as arrays, products behind the loops)."""
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

    # no length is known, but for XLA
    known = [(None if size in LENGTHS else size for size in x.shape) for x in tensors]
    specs = [tf.TensorSpec(shape, x.dtype) for shape, x in zip(known, tensors, strict=True)]
    with counted(replayed) as counts:
        traced = tf.function(run, None if xla else specs, jit_compile=xla, autograph=False)
        outputs, slopes = traced(*map(tf.constant, tensors))
    wide = tf.nest.map_structure(lambda x: np.asarray(tf.cast(x, tf.float64)), (outputs, slopes))
    return *wide, counts


def assert_close(found, expected, tolerance):
    """Each array equals the expected one, but for so much of its largest element."""
    assert len(found) == len(expected)
    scales = [np.max(np.abs(target), initial=0.0) for target in expected]
    for array, target, scale in zip(found, expected, scales, strict=True):
        assert np.all(np.isfinite(array))
        scale = max(scale, 1e-2 * max(scales))  # some are 0 but for rounding
        np.testing.assert_allclose(array / scale, target / scale, rtol=0, atol=tolerance)


def build(cell):
    """Build a decoder cell for the values above."""
    values, summary = (None, None, WIDTH), (None, WIDTH)
    shape = Memory(values, values[:-1], summary, summary, task=(None, 0))
    cell.build((None, WIDTH), memory_shape=shape)
    return cell


def teacher_forced(cell):
    """A function of values and inputs: the steps of a decoder cell in training."""

    def function(values, inputs):
        values, inputs = ops.cast(values, cell.compute_dtype), ops.cast(inputs, cell.compute_dtype)
        memory = new_memory(values, tf.constant(MASK))
        memory = memory._replace(summary=masked_mean(memory.values, memory.mask))
        prepared = cell.prepare(memory, training=True)
        return cell.teacher_forced(inputs, prepared, True, training=True)

    return function


def seeds_of(layer):
    """A function that gives the seeds of a layer their values of now."""
    states = [
        layer_.seed_generator.state
        for layer_ in layer._flatten_layers()
        if hasattr(layer_, "seed_generator")
    ]
    states += [x.random.state for x in layer._flatten_layers() if hasattr(x, "random")]
    before = [state.numpy() for state in states]

    def reset():
        for state, value in zip(states, before, strict=True):
            state.assign(value)

    return reset
