"""Replayed steps give a loop the same gradient as TensorFlow, for each cell, score and option."""

import functools

import keras
import numpy as np
import pytest
import step_cells
import step_gradients
import tensorflow as tf
from keras import ops
from step_cells import (
    DECODER_CELLS,
    INPUTS,
    READERS,
    VALUES,
    WIDTH,
    assert_close,
    new,
    seeds_of,
    teacher_forced,
)
from step_gradients import gradients

from keras_bahdanau import Decoder, Encoder, Seq2Seq
from keras_bahdanau.layers import scan
from keras_bahdanau.layers.names import PARALLEL_CELLS
from keras_bahdanau.layers.readers.reader import ScannedRNN
from keras_bahdanau.layers.recurrence import loops_without_gradient
from keras_bahdanau.models.losses import TokenCrossentropy

KERNEL = 0.3 * np.random.default_rng(7).normal(size=(WIDTH, WIDTH))


def compare(name, policy="float32", **settings):
    """Return the results of `gradients` for a case: with replayed steps, and by TensorFlow."""
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    try:
        cell = step_cells.build(DECODER_CELLS[name]())
        tensors = [VALUES.astype("float32"), INPUTS.astype("float32")]
        function = teacher_forced(cell)
        reset = seeds_of(cell)
        common = {"variables": cell.trainable_variables, "reset": reset}
        found = gradients(function, tensors, **common, **settings)
        expected = gradients(function, tensors, **common, **settings, replayed=False)
    finally:
        keras.config.set_dtype_policy("float32")
    assert not expected[2]
    return found, expected


@pytest.mark.few(1)
@pytest.mark.parametrize("name", DECODER_CELLS)
def test_gradients_are_those_of_tensorflow(name):
    (outputs, slopes, counts), (expected, expected_slopes, _) = compare(name)
    assert_close(outputs, expected, 1e-6)
    assert_close(slopes, expected_slopes, 1e-5)
    assert counts and min(counts) > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [name for name in READERS if name not in PARALLEL_CELLS])
def test_gradients_of_a_reader_are_those_of_tensorflow_in_float64(name):
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy("float64")
    try:
        rnn = ScannedRNN(READERS[name]())
        rnn.build(INPUTS.shape)
        common = {"variables": rnn.trainable_variables, "reset": seeds_of(rnn)}
        function = functools.partial(rnn, training=True)
        outputs, slopes, counts = gradients(function, [INPUTS], **common)
        expected, expected_slopes, _ = gradients(function, [INPUTS], **common, replayed=False)
    finally:
        keras.config.set_dtype_policy("float32")
    assert_close(outputs, expected, 1e-12)
    # layer normalization is computed in float32
    assert_close(slopes, expected_slopes, 1e-5 if name.startswith("layer-norm") else 1e-10)
    assert counts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gru", "dropout of weights", "score dot", "coverage sum"])
def test_gradients_are_those_of_tensorflow_under_xla(name):
    (outputs, slopes, counts), (expected, expected_slopes, _) = compare(name, xla=True)
    assert_close(outputs, expected, 1e-5)
    assert_close(slopes, expected_slopes, 2e-5)
    assert counts


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", ["gru", "cell lstm", "score general"])
def test_half_precision_is_no_further_from_float32_than_tensorflow(name, policy):
    found, expected = compare(name, policy)
    _, exact = compare(name)
    assert found[2]
    for array, own, target in zip(found[1], expected[1], exact[1], strict=True):
        scale = np.max(np.abs(target), initial=1e-9)
        error, own_error = np.max(np.abs(array - target)), np.max(np.abs(own - target))
        assert error <= 1.5 * own_error + 2e-3 * scale


def step_of_arrays(kernel, product=ops.matmul):
    """Return a step that has an integer in its state and captures a kernel."""

    def step(state, x):
        h, count = state
        h = ops.tanh(product(h, kernel) + x)
        return (h, count), (h, count + 1)

    return step


def run_scan(step_of, *tensors, return_state=True, **settings):
    def function(inputs, h, kernel):
        count = ops.zeros(ops.shape(h)[:1], "int32")
        template = ops.zeros_like(h), count
        step, last = step_of(kernel), settings.get("steps")
        steps = None if last is None else tf.constant(last)
        return scan(step, (h, count), inputs, template, steps, return_state=return_state)

    return function


ARRAYS = [INPUTS, VALUES[:, 0], KERNEL]


def test_the_gradient_of_a_scan_reaches_all_that_it_reads():
    function = run_scan(step_of_arrays)
    outputs, slopes, counts = gradients(function, ARRAYS)
    expected, expected_slopes, _ = gradients(function, ARRAYS, replayed=False)
    assert counts == [1]
    assert_close(outputs, expected, 1e-12)
    assert_close(slopes, expected_slopes, 1e-10)
    assert all(np.any(slope) for slope in slopes)


@pytest.mark.slow
def test_a_loop_that_ends_early_has_no_gradient_behind_its_end():
    function = run_scan(step_of_arrays, steps=2)
    _, slopes, counts = gradients(function, ARRAYS)
    _, expected, _ = gradients(function, ARRAYS, replayed=False)
    assert counts == [1]
    assert_close(slopes, expected, 1e-10)
    assert not np.any(slopes[0][:, 2:])


@pytest.mark.slow
def test_the_gradient_is_that_of_finite_differences():
    function = run_scan(step_of_arrays, return_state=False)
    _, slopes, _ = gradients(function, ARRAYS)

    def loss(kernel):
        h, total = ARRAYS[1], 0.0
        for t in range(INPUTS.shape[1]):
            h = np.tanh(h @ kernel + INPUTS[:, t])
            total += np.sum(h * h)
        return total

    for row, column in ((0, 0), (3, 7), (31, 30)):
        moved = np.zeros_like(KERNEL)
        moved[row, column] = 1e-6
        numeric = (loss(KERNEL + moved) - loss(KERNEL - moved)) / 2e-6
        np.testing.assert_allclose(slopes[2][row, column], numeric, rtol=1e-6)


def test_a_replay_has_the_draws_of_its_step():
    def function(inputs, h, kernel):
        def step(h, x):
            noise = tf.random.uniform(tf.shape(h), dtype=h.dtype)
            h = h * noise + ops.matmul(x, kernel)
            return (h, noise), h

        return scan(step, h, inputs, (h, h))

    (hs, noises), slopes, counts = gradients(function, ARRAYS)
    assert counts == [1]
    slope = np.zeros_like(ARRAYS[1])  # for the loss sum h^2 + 2 sum noise^2
    kernel_slope = np.zeros_like(KERNEL)
    for t in reversed(range(INPUTS.shape[1])):
        slope = slope + 2 * hs[:, t]
        kernel_slope += INPUTS[:, t].T @ slope
        slope = slope * noises[:, t]
    assert len(np.unique(noises)) == noises.size
    assert_close(slopes[1:], [slope, kernel_slope], 1e-10)


@pytest.mark.slow
def test_seeds_go_on_after_a_replayed_loop_as_after_any():
    seeds = []
    for replayed in (True, False):
        generator = keras.random.SeedGenerator(5)

        def function(inputs, h, kernel, generator=generator):
            def step(h, x):
                draws = keras.random.normal(ops.shape(h), dtype="float64", seed=generator)
                h = ops.tanh(ops.matmul(h, kernel) + x * draws)
                return h, h

            return scan(step, h, inputs, h)

        outputs, slopes, _ = gradients(function, ARRAYS, replayed=replayed)
        seeds.append((generator.state.numpy(), *outputs, *slopes))
    assert_close(*seeds, 1e-10)
    assert seeds[0][0][1] == INPUTS.shape[1]


def gather(table, h):
    return ops.take(table, ops.cast(ops.argmax(h, axis=-1), "int32"), axis=0)


@pytest.mark.slow
def test_a_table_that_a_step_reads_by_index_gets_its_gradient():
    table = keras.Variable(np.random.default_rng(8).normal(size=(WIDTH, WIDTH)), dtype="float64")

    def step_of(kernel):
        return step_of_arrays(kernel, lambda h, kernel: ops.matmul(h, kernel) + gather(table, h))

    function = run_scan(step_of)
    _, slopes, _ = gradients(function, ARRAYS, [table])
    _, expected, _ = gradients(function, ARRAYS, [table], replayed=False)
    assert_close(slopes, expected, 1e-10)
    assert np.any(slopes[-1])


@pytest.mark.slow
def test_a_step_with_branches_and_a_step_without_products_have_gradients():
    def branching(kernel):
        def product(h, kernel):
            return tf.cond(tf.reduce_sum(h) > 0, lambda: ops.matmul(h, kernel), lambda: 2 * h)

        return step_of_arrays(kernel, lambda h, k: product(h, k) + ops.matmul(h, k))

    for step_of in (branching, lambda kernel: step_of_arrays(kernel, lambda h, k: h * k[0])):
        function = run_scan(step_of)
        _, slopes, _ = gradients(function, ARRAYS)
        _, expected, _ = gradients(function, ARRAYS, replayed=False)
        assert_close(slopes, expected, 1e-10)


@pytest.mark.slow
def test_a_loop_in_a_loop_has_its_gradient():
    def function(inputs, h, kernel):
        def outer(h, x):
            rows, last = scan(
                step_of_arrays(kernel),
                (h, ops.zeros(ops.shape(h)[:1], "int32")),
                inputs * ops.expand_dims(x, axis=1),
                (h, ops.zeros(ops.shape(h)[:1], "int32")),
                return_state=True,
            )
            return ops.sum(rows[0], axis=1), last[0]

        return scan(outer, h, inputs, h)

    _, slopes, _ = gradients(function, ARRAYS)
    _, expected, _ = gradients(function, ARRAYS, replayed=False)
    assert_close(slopes, expected, 1e-9)


def penalty(inputs, h, kernel):
    with tf.GradientTape() as tape:
        tape.watch(kernel)
        loss = tf.reduce_sum(run_scan(step_of_arrays)(inputs, h, kernel)[0][0] ** 2)
    return tape.gradient(loss, kernel)


def test_a_second_derivative_in_a_graph_is_refused():
    with pytest.raises(NotImplementedError, match="must be differentiated only once"):
        gradients(penalty, ARRAYS)


@pytest.mark.slow
def test_an_eager_second_derivative_is_right():
    inputs, h, kernel = map(tf.constant, ARRAYS)
    with tf.GradientTape() as tape:
        tape.watch(kernel)
        slope = penalty(inputs, h, kernel)
        total = tf.reduce_sum(slope**2)
    second = tape.gradient(total, kernel).numpy()
    moved = np.zeros_like(KERNEL)
    moved[3, 7] = 1e-5
    totals = [np.sum(penalty(inputs, h, kernel + sign * moved) ** 2) for sign in (1, -1)]
    np.testing.assert_allclose(second[3, 7], (totals[0] - totals[1]) / 2e-5, rtol=1e-6)


@pytest.mark.slow
def test_a_jacobian_in_a_graph_is_right():
    def jacobian(inputs, h, kernel):
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            (hs, _), _ = run_scan(step_of_arrays)(inputs, h, kernel)
            last = hs[:, -1, 0]
        return tape.jacobian(last, kernel)

    with step_gradients.counted() as counts:
        found = tf.function(jacobian, autograph=False)(*map(tf.constant, ARRAYS))
    assert counts == [1]
    expected = jacobian(*map(tf.constant, ARRAYS))
    assert_close([found.numpy()], [expected.numpy()], 1e-10)


def losses(replayed, policy="float32", epochs=100, **settings):
    """Train a small translator with dropout in its loops; return its losses and its optimizer."""
    source, target = (np.random.default_rng(4).integers(1, 20, (8, 7)) for _ in range(2))
    keras.utils.set_random_seed(2)
    keras.config.set_dtype_policy(policy)
    try:
        decoder = Decoder(20, 16, new(recurrent_dropout=0.2))
        model = Seq2Seq(Encoder(20, 16, 16, recurrent_dropout=0.1), decoder)
    finally:
        keras.config.set_dtype_policy("float32")
    optimizer = keras.optimizers.Adam(3e-3)
    model.compile(optimizer, TokenCrossentropy(), **{"jit_compile": False, **settings})
    with step_gradients.counted(replayed) as counts:
        data = (source, target[:, :-1]), target[:, 1:]
        history = model.fit(*data, batch_size=8, epochs=epochs, shuffle=False, verbose=0)
    # three loops (two encoder directions and the decoder) each time Keras traces the step
    assert bool(counts) == replayed and len(counts) % 3 == 0
    return history.history["loss"], model.optimizer


@pytest.mark.slow
def test_the_losses_of_100_steps_are_those_of_another_order_of_summation():
    found, expected = (losses(replayed)[0] for replayed in (True, False))
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert found[-1] < 0.7 * found[0]


@pytest.mark.slow
def test_the_losses_of_a_training_under_xla_are_those_of_another_order_of_summation():
    compiled, _ = losses(True, epochs=20, jit_compile=True)
    expected, _ = losses(False, epochs=20, jit_compile=True)
    np.testing.assert_allclose(compiled, expected, rtol=1e-3)


@pytest.mark.slow
def test_a_training_in_half_precision_scales_its_loss():
    found, optimizer = losses(True, "mixed_float16", epochs=30)
    assert isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    # steps with non-finite scaled gradients are skipped and halve the scale
    scale, steps = float(optimizer.dynamic_scale), int(optimizer.inner_optimizer.iterations)
    assert 0 < steps <= 30 and scale == 2.0 ** (15 - (30 - steps))
    expected, _ = losses(False, "mixed_float16", epochs=30)
    np.testing.assert_allclose(found, expected, rtol=2e-2)
    assert found[-1] < 0.95 * found[0]


def test_without_a_gradient_the_loop_is_the_plain_one():
    function = run_scan(step_of_arrays)
    with step_gradients.counted() as counts:
        graph = tf.function(function, autograph=False).get_concrete_function(
            *map(tf.constant, ARRAYS)
        )
    assert not counts
    arrays = [op for op in graph.graph.get_operations() if op.type == "TensorListReserve"]
    assert len(arrays) == 3  # for the inputs and two outputs


def test_a_loop_without_gradient_is_the_plain_one():
    def run(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            with loops_without_gradient():
                outputs = run_scan(step_of_arrays)(*tensors)
        return outputs

    with step_gradients.counted() as counts:
        graph = tf.function(run, autograph=False).get_concrete_function(*map(tf.constant, ARRAYS))
    assert not counts
    arrays = [op for op in graph.graph.get_operations() if op.type == "TensorListReserve"]
    assert len(arrays) == 3
