"""Cells match their equations and Keras' cells, and run in every mode and runtime."""

import extract
import keras
import modes
import numpy as np
import pytest
import steps
import tensorflow as tf
from reference import sigmoid

from keras_bahdanau.layers.cells.gated import LSTMCell, RecurrentCell
from keras_bahdanau.layers.cells.keras_cell import CELLS
from keras_bahdanau.layers.cells.parallel import ParallelCell

RANDOM = np.random.default_rng(3)
UNITS = 3
INPUTS = RANDOM.normal(size=(2, 4)).astype("float32")
CONTEXT = RANDOM.normal(size=(2, 5)).astype("float32")
STATES = tuple(RANDOM.normal(size=(2, 2, UNITS)).astype("float32"))
KERAS = {
    "simple": lambda: keras.layers.SimpleRNNCell(UNITS),
    "gru": lambda: keras.layers.GRUCell(UNITS),
    "gru-reset-before": lambda: keras.layers.GRUCell(UNITS, reset_after=False),
    "lstm": lambda: keras.layers.LSTMCell(UNITS),
}

every_kind = pytest.mark.parametrize("kind", CELLS)


def built(kind, context=True, **kwargs):
    """Return a cell with random weights, and its initial states."""
    cell = CELLS.get(kind, UNITS, **kwargs)
    cell.build(INPUTS.shape, context_shape=CONTEXT.shape if context else None)
    return extract.randomize(cell), STATES[: len(cell.state_sizes)]


def product(layer, x):
    W, *bias = extract.arrays(layer)
    return x @ W + sum(bias)


def normalized(layer, x, *widths):
    """Return the product, with each block normalized separately (Ba et al. 2016)."""
    W, *norms = extract.arrays(layer)
    blocks = np.split(x @ W, np.cumsum(widths)[:-1], axis=-1)
    gains, shifts = norms[::2], norms[1::2]
    return np.concatenate([*map(layer_norm, blocks, gains, shifts)], axis=-1)


def layer_norm(x, gain, shift):
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return gain * (x - x.mean(axis=-1, keepdims=True)) / spread + shift


def simple(cell, x, c, states):
    (h,) = states
    told = product(cell.input_projection, x) + product(cell.context_projection, c)
    return (np.tanh(told + product(cell.recurrent_projection, h)),)


def gru(cell, x, c, states, product=product):
    (h,) = states
    told = product(cell.input_projection, x) + product(cell.context_projection, c)
    x_z, x_r, x_g = np.split(told, 3, axis=-1)
    u_z, u_r, u_g = np.split(product(cell.recurrent_projection, h), 3, axis=-1)
    z, r = sigmoid(x_z + u_z), sigmoid(x_r + u_r)
    return (z * h + (1 - z) * np.tanh(x_g + r * u_g),)


def gru_reset_before(cell, x, c, states):
    """The notation is that of Bahdanau et al. (2015), appendix A.1.1 and A.2.2.

    Their update gate is 1 minus ours, and 1 - sigmoid(a) = sigmoid(-a), so that the weights of z
    change their sign. They omit the biases, which are b here.
    """
    (s,) = states
    (kernel, bias), (kernel_c,) = map(
        extract.arrays, (cell.input_projection, cell.context_projection)
    )
    (kernel_zr,), (U,) = map(extract.arrays, (cell.recurrent_projection, cell.candidate_projection))
    W_z, W_r, W = np.split(kernel, 3, axis=-1)
    b_z, b_r, b = np.split(bias, 3)
    C_z, C_r, C = np.split(kernel_c, 3, axis=-1)
    U_z, U_r = np.split(kernel_zr, 2, axis=-1)
    W_z, U_z, C_z, b_z = -W_z, -U_z, -C_z, -b_z
    z = sigmoid(x @ W_z + s @ U_z + c @ C_z + b_z)
    r = sigmoid(x @ W_r + s @ U_r + c @ C_r + b_r)
    proposed = np.tanh(x @ W + (r * s) @ U + c @ C + b)
    return ((1 - z) * s + z * proposed,)


def lstm(cell, x, c, states, product=product, shown=lambda memory: memory):
    h, memory = states
    told = product(cell.input_projection, x) + product(cell.context_projection, c)
    gates = told + product(cell.recurrent_projection, h)
    i, f, g, o = np.split(gates, 4, axis=-1)
    memory = sigmoid(f + 1) * memory + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(shown(memory)), memory


def layer_norm_gru(cell, x, c, states):
    return gru(cell, x, c, states, lambda *args: normalized(*args, 2 * UNITS, UNITS))


def layer_norm_lstm(cell, x, c, states):
    def shown(memory):
        return layer_norm(memory, *extract.arrays(cell.memory_norm))

    return lstm(cell, x, c, states, lambda *args: normalized(*args, 4 * UNITS), shown)


def heard(cell, x, c):
    """W x + b + C c."""
    return product(cell.input_projection, x) + product(cell.context_projection, c)


def ssru(cell, x, c, states):
    """Return (output, states), since the output isn't a state."""
    x_f, x = np.split(heard(cell, x, c), 2, axis=-1)
    memory = sigmoid(x_f) * states[0] + (1 - sigmoid(x_f)) * x
    return np.maximum(memory, 0), (memory,)


def sru(cell, x, c, states):
    v_f, v_r = np.float64(cell.forget_weight), np.float64(cell.reset_weight)
    x_f, x_r, x, highway = np.split(heard(cell, x, c), 4, axis=-1)
    f, r = sigmoid(x_f + v_f * states[0]), sigmoid(x_r + v_r * states[0])
    memory = f * states[0] + (1 - f) * x
    return r * memory + (1 - r) * highway, (memory,)


def min_gru(cell, x, c, states):
    x_z, x = np.split(heard(cell, x, c), 2, axis=-1)
    return ((1 - sigmoid(x_z)) * states[0] + sigmoid(x_z) * x,)


def min_lstm(cell, x, c, states):
    x_f, x_i, x = np.split(heard(cell, x, c), 3, axis=-1)
    f, i = sigmoid(x_f), sigmoid(x_i)
    return (f / (f + i) * states[0] + i / (f + i) * x,)


EQUATIONS = {
    "simple": simple,
    "gru": gru,
    "gru-reset-before": gru_reset_before,
    "lstm": lstm,
    "layer-norm-gru": layer_norm_gru,
    "layer-norm-lstm": layer_norm_lstm,
    "ssru": ssru,
    "sru": sru,
    "min-gru": min_gru,
    "min-lstm": min_lstm,
}
OUTPUTS_NO_STATE = {"ssru", "sru"}


@pytest.mark.few(3)
@every_kind
def test_a_step_is_that_of_the_equations(run, kind):
    cell, states = built(kind)
    output, found = run(cell, INPUTS, states, CONTEXT)
    expected = EQUATIONS[kind](cell, *map(np.float64, (INPUTS, CONTEXT)), np.float64(states))
    expected_output, expected = expected if kind in OUTPUTS_NO_STATE else (expected[0], expected)
    for new, oracle in zip(found, expected, strict=True):
        np.testing.assert_allclose(new, oracle, atol=1e-6)
    np.testing.assert_allclose(output, expected_output, atol=1e-6)


@pytest.mark.parametrize("kind", KERAS)
def test_a_step_is_that_of_the_keras_cell_with_the_same_weights(run, kind):
    cell, states = built(kind)
    (W, b), (C,) = map(extract.arrays, (cell.input_projection, cell.context_projection))
    U, *recurrent_bias = extract.arrays(cell.recurrent_projection)
    if kind == "gru-reset-before":
        U = np.concatenate([U, *extract.arrays(cell.candidate_projection)], axis=-1)
    if kind == "lstm":
        b += np.repeat([0, 1, 0, 0], UNITS)
    theirs = KERAS[kind]()
    inputs = np.concatenate([INPUTS, CONTEXT], axis=-1)
    theirs.build(inputs.shape)
    theirs.set_weights([np.concatenate([W, C]), U, np.squeeze([b, *recurrent_bias])])
    _, expected = run(theirs, inputs, [*states])
    _, found = run(cell, INPUTS, states, CONTEXT)
    for new, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(new, other, atol=1e-6)


@pytest.mark.few(2)
@every_kind
def test_without_a_context_a_cell_hears_its_inputs_alone(run, kind):
    cell, states = built(kind, context=False)
    deaf, _ = built(kind)
    for layer in (cell, deaf):
        layer.set_weights([np.full(weight.shape, 0.1) for weight in layer.get_weights()])
    deaf.context_projection.set_weights([weight * 0 for weight in deaf.context_projection.weights])
    found, expected = run(cell, INPUTS, states), run(deaf, INPUTS, states, CONTEXT)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert not cell.context_projection.weights


@pytest.mark.few(1)
@every_kind
def test_projecting_all_inputs_beforehand_changes_nothing(run, kind):
    cell, states = built(kind)
    many = np.stack([INPUTS, -INPUTS], axis=1)

    def hoisted(inputs, states, context):
        projected = cell.project(inputs)
        _, states = cell.step(projected[:, 0], states, context)
        return cell.step(projected[:, 1], states, context)[1]

    def plain(inputs, states, context):
        _, states = cell(inputs[:, 0], states, context)
        return cell(inputs[:, 1], states, context)[1]

    found, expected = (run(function, many, states, CONTEXT) for function in (hoisted, plain))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.few(2)
@every_kind
def test_a_beam_axis_is_as_good_as_separate_rows(run, kind):
    cell, states = built(kind)
    beamed = tuple(np.stack([state, -state], axis=1) for state in states)
    twice = [np.stack([array, array], axis=1) for array in (INPUTS, CONTEXT)]
    _, beams = run(cell, twice[0], beamed, twice[1])
    for index, sign in enumerate([1, -1]):
        _, rows = run(cell, INPUTS, tuple(sign * state for state in states), CONTEXT)
        for beam, row in zip(beams, rows, strict=True):
            np.testing.assert_allclose(beam[:, index], row, atol=1e-6)


@pytest.mark.few(3)
@every_kind
def test_every_weight_gets_a_gradient(kind):
    cell, states = built(kind)
    with tf.GradientTape() as tape:
        output, after = cell(INPUTS, states, CONTEXT)
        loss = sum(tf.reduce_sum(tf.sin(3 * state)) for state in (output, *after))
    for weight, gradient in zip(
        cell.weights, tape.gradient(loss, cell.trainable_variables), strict=True
    ):
        assert np.any(gradient), weight.path


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "gru" else pytest.mark.slow) for kind in CELLS],
)
def test_it_trains_in_a_loop_that_xla_compiles(kind):
    cell, states = built(kind, context=False)
    inputs = np.stack([INPUTS, -INPUTS, 2 * INPUTS], axis=1)
    states = tf.nest.map_structure(tf.convert_to_tensor, states)

    def step(states, x):
        return cell.step(cell.project(x), states)

    variables = cell.trainable_variables
    expected = steps.gradients(
        lambda step, states, inputs: steps.unrolled(step, states, inputs),
        step,
        states,
        inputs,
        variables,
    )
    found = steps.looped_by_xla(step, states, tf.constant(inputs), variables)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.few(1)
@every_kind
def test_a_phone_takes_the_same_step_with_built_in_operations(kind):
    cell, states = built(kind)
    inputs = INPUTS[:1], tuple(state[:1] for state in states), CONTEXT[:1]
    found, expected = steps.litert(cell, *inputs), modes.eager(cell, *inputs)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.few(2)
@every_kind
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "bfloat16"])
def test_half_precision_keeps_to_its_dtype(kind, policy):
    cell, states = built(kind, dtype=policy)
    output, after = modes.eager(cell, INPUTS, states, CONTEXT)
    assert {state.dtype.name for state in (output, *after)} == {cell.compute_dtype}
    _, exact = modes.eager(built(kind)[0], INPUTS, states, CONTEXT)
    for half, state in zip(after, exact, strict=True):
        np.testing.assert_allclose(np.float32(half), state, atol=0.1)


@every_kind
def test_its_config_round_trips(kind):
    parallel = issubclass(CELLS[kind], ParallelCell)
    cell = CELLS.get(
        kind,
        UNITS,
        **({} if parallel else {"recurrent_dropout": 0.25, "seed": 7}),
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.01),
        dtype="mixed_bfloat16",
        name="mine",
    )
    copy = type(cell).from_config(cell.get_config())
    assert copy.get_config() == cell.get_config()
    assert copy.input_projection.dtype_policy.name == "mixed_bfloat16"
    assert copy.get_config()["kernel_initializer"]["config"]["stddev"] == 0.01
    assert keras.saving.get_registered_name(type(cell)).startswith("keras_bahdanau>")


def test_a_gru_whose_update_gate_is_open_keeps_its_state(run):
    cell, states = built("gru", context=False)
    cell.input_projection.bias.assign(np.repeat([100.0, 0.0, 0.0], UNITS))
    np.testing.assert_allclose(run(cell, INPUTS, states)[1], states, atol=1e-6)


def test_an_lstm_without_weights_forgets_a_quarter(run):
    cell = LSTMCell(UNITS)
    cell.build(INPUTS.shape)
    cell.set_weights([np.zeros_like(weight) for weight in cell.get_weights()])
    _, (_, c) = run(cell, INPUTS, STATES)
    np.testing.assert_allclose(c, STATES[1] / (1 + np.exp(-1)), atol=1e-6)


def test_products_of_one_shape_do_not_start_alike():
    cell = CELLS.get("simple", UNITS, kernel_initializer=keras.initializers.RandomNormal())
    cell.build(INPUTS.shape, context_shape=INPUTS.shape)
    assert np.any(cell.input_projection.kernel != cell.context_projection.kernel)


def test_the_widths_are_told():
    sizes = {kind: CELLS.get(kind, UNITS).state_sizes for kind in CELLS}
    two = {"lstm", "layer-norm-lstm"}
    assert sizes == {kind: (UNITS, UNITS) if kind in two else (UNITS,) for kind in CELLS}
    assert {CELLS.get(kind, UNITS).output_units for kind in CELLS} == {UNITS}


@every_kind
def test_units_must_be_a_positive_integer(kind):
    with pytest.raises(ValueError, match=r"`units`.*positive integer. Received: units=0"):
        CELLS.get(kind, 0)


def test_the_kind_must_be_known():
    with pytest.raises(ValueError, match="`cell` must be one of 'simple', 'gru'.* cell='x'"):
        CELLS.get("x", UNITS)


@pytest.mark.parametrize("context", [True, False])
def test_a_context_comes_if_and_only_if_the_cell_was_built_for_one(context):
    cell, states = built("gru", context=context)
    with pytest.raises(ValueError, match="`context` must be given if and only if"):
        cell.step(cell.project(INPUTS), states, None if context else CONTEXT)


def test_a_cell_without_equations_says_so():
    with pytest.raises(NotImplementedError):
        RecurrentCell(UNITS).advance(None, None, None)
