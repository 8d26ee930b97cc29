"""`scan` and its gradient match a Python loop, in a graph and with XLA."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_bahdanau.layers import scan
from keras_bahdanau.layers.recurrence import convertible_loops

RANDOM = np.random.default_rng(6)
INPUTS = RANDOM.normal(size=(2, 5, 3)).astype("float32")
FIRST = RANDOM.normal(size=(2, 3)).astype("float32")
KERNEL = RANDOM.normal(size=(3, 3)).astype("float32")


def step(state, x, kernel=KERNEL):
    """One step of a structure of states that depend on each other; one is an integer."""
    h, (total, count) = state
    h = ops.tanh(ops.matmul(h, kernel) + x)
    state = h, (total + h * x, count + 1)
    return state, state


def first(h):
    return h, (ops.zeros_like(h), ops.zeros(ops.shape(h)[:1], "int32"))


def python_loop(step, state, inputs, template=None):
    states = []
    for t in range(inputs.shape[1]):
        output, state = step(state, inputs[:, t])
        states.append(output)
    return tf.nest.map_structure(lambda *leaves: tf.stack(leaves, axis=1), *states)


def gradients(loop):
    """Return a function of (inputs, h, kernel): a loss of a loop's states, and its gradients."""

    def function(inputs, h, kernel):
        with tf.GradientTape() as tape:
            tape.watch([inputs, h, kernel])
            hs, (totals, _) = loop(
                lambda state, x: step(state, x, kernel), first(h), inputs, first(h)
            )
            loss = tf.reduce_sum(hs**2) + tf.reduce_sum(totals[:, -1] * hs[:, 2])
        return loss, tape.gradient(loss, [inputs, h, kernel])

    return function


def assert_all_close(found, expected, **tolerance):
    pairs = zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, **tolerance)


def test_it_keeps_what_each_step_of_a_loop_shows(run):
    found = run(lambda inputs, h: scan(step, first(h), inputs, first(h)), INPUTS, FIRST)
    h, total, count = FIRST.astype("float64"), np.zeros((2, 3)), np.zeros(2)
    for t in range(5):
        h = np.tanh(h @ KERNEL + INPUTS[:, t])
        total, count = total + h * INPUTS[:, t], count + 1
        expected = h, (total, count)
        assert_all_close(tf.nest.map_structure(lambda s, t=t: s[:, t], found), expected, atol=1e-5)


@pytest.mark.slow
def test_its_gradient_is_that_of_a_loop(run):
    found = run(gradients(scan), INPUTS, FIRST, KERNEL)
    expected = gradients(python_loop)(*map(tf.constant, (INPUTS, FIRST, KERNEL)))
    assert_all_close(found, expected, atol=1e-4)


@pytest.mark.slow
def test_its_gradient_is_that_of_finite_differences():
    inputs, h, kernel = (tf.constant(array, "float64") for array in (INPUTS, FIRST, KERNEL))
    _, found = gradients(scan)(inputs, h, kernel)
    numeric = tf.test.compute_gradient(
        lambda *args: gradients(scan)(*args)[0], [inputs, h, kernel], delta=1e-5
    )[1]
    for one, other in zip(found, numeric, strict=True):
        np.testing.assert_allclose(np.reshape(one, -1), other[0], atol=1e-7)


@pytest.mark.slow
def test_it_has_a_gradient_under_xla_at_every_length():
    compiled = tf.function(gradients(scan), jit_compile=True)
    for time in (5, 3):
        args = [tf.constant(array) for array in (INPUTS[:, :time], FIRST, KERNEL)]
        assert_all_close(compiled(*args), gradients(python_loop)(*args), atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_it_keeps_the_dtypes_of_its_state(dtype):
    inputs, h, kernel = (tf.cast(array, dtype) for array in (INPUTS, FIRST, KERNEL))
    hs, (totals, counts) = scan(lambda state, x: step(state, x, kernel), first(h), inputs, first(h))
    assert (hs.dtype, totals.dtype, counts.dtype) == (dtype, dtype, "int32")


def test_one_step_is_a_loop_too(run):
    found, _ = run(lambda inputs, h: scan(step, first(h), inputs, first(h)), INPUTS[:, :1], FIRST)
    np.testing.assert_allclose(found[:, 0], np.tanh(FIRST @ KERNEL + INPUTS[:, 0]), atol=1e-6)


def test_what_is_shown_need_not_be_carried_and_inputs_may_have_a_structure(run):
    def loop(inputs, h):
        def step(h, x):
            h = h + x["a"] * x["b"]
            return 2 * h, h

        return scan(step, h, {"a": inputs, "b": inputs}, h)

    found = run(loop, INPUTS, FIRST)
    expected = 2 * (FIRST[:, None] + np.cumsum(INPUTS.astype("float64") ** 2, axis=1))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 4])
def test_a_loop_for_a_converter_gives_the_same_with_outputs_of_unknown_shape(width):
    def cumulated(inputs):
        def step(total, x):
            total = total + x
            return (total, 2 * x), total

        zeros = ops.zeros(ops.shape(inputs[:, 0]))
        return scan(step, zeros, inputs, (zeros, zeros), return_state=True)

    spec = tf.TensorSpec((1, None, None), tf.float32)
    inputs = RANDOM.normal(size=(1, 5, width)).astype("float32")
    with convertible_loops():
        graph = tf.function(cumulated, autograph=False).get_concrete_function(spec)
    operations = {node.op for node in graph.graph.as_graph_def().node}
    assert "TensorListReserve" not in operations
    (totals, doubled), last = graph(tf.constant(inputs))
    expected = np.cumsum(inputs, axis=1)
    assert_all_close((totals, doubled, last), (expected, 2 * inputs, expected[:, -1]), atol=1e-6)
