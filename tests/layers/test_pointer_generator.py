"""Copying matches the equations of the paper."""

import extract
import numpy as np
import pytest
import reference
import tensorflow as tf
from numpy.testing import assert_allclose

from keras_bahdanau.layers import PointerGenerator
from keras_bahdanau.layers.distribution import Copying, log_mixture

RANDOM = np.random.default_rng(3)
BATCH, STEPS, PLACES, VOCABULARY = 2, 3, 5, 7
LOGITS = RANDOM.normal(size=(BATCH, STEPS, VOCABULARY)).astype("float32")
GENERATION = RANDOM.uniform(size=(BATCH, STEPS)).astype("float32")
WEIGHTS = RANDOM.dirichlet(np.ones(PLACES), (BATCH, STEPS)).astype("float32")
SYMBOLS = np.array([[4, 2, 4, 6, 3], [5, -1, 3, 5, -1]], "int32")  # repeated and unknown symbols


def by_hand(logits, generation, weights, symbols):
    """Return p(w) of one step, summed over positions."""
    copied = np.zeros(len(logits))
    for symbol, weight in zip(symbols, weights, strict=True):
        if symbol >= 0:
            copied[symbol] += (1 - generation) * np.float64(weight)
    return copied + (1 - copied.sum()) * reference.softmax(np.float64(logits))


def all_by_hand(logits, generation, weights, symbols):
    rows = [
        [by_hand(*step, row[-1]) for step in zip(*row[:-1], strict=True)]
        for row in zip(logits, generation, weights, symbols, strict=True)
    ]
    return np.array(rows)


def mixed(logits, *copying):
    return log_mixture(logits, Copying(*copying))


def test_the_gate_is_the_sigmoid_of_context_state_and_embedding(run):
    state, context, embedded = (RANDOM.normal(size=(2, 4, width)) for width in (3, 6, 5))
    layer = PointerGenerator()
    layer.build(state.shape, context.shape, embedded.shape)
    kernel, bias = extract.arrays(extract.randomize(layer))
    expected = context @ kernel[:6] + state @ kernel[6:9] + embedded @ kernel[9:] + bias
    inputs = (np.float32(one) for one in (state, context, embedded))
    assert_allclose(run(layer, *inputs), reference.sigmoid(expected)[..., 0], atol=1e-6)


def test_each_probability_is_that_of_the_definition(run):
    found = np.exp(run(mixed, LOGITS, GENERATION, WEIGHTS, SYMBOLS))
    expected = all_by_hand(LOGITS, GENERATION, WEIGHTS, SYMBOLS)
    assert_allclose(found, expected, rtol=1e-5)
    assert_allclose(found.sum(axis=-1), 1, atol=1e-6)


def test_one_step_equals_its_place_among_all_steps(run):
    found = run(mixed, LOGITS[:, 1], GENERATION[:, 1], WEIGHTS[:, 1], SYMBOLS)
    whole = run(mixed, LOGITS, GENERATION, WEIGHTS, SYMBOLS)
    assert_allclose(found, whole[:, 1], atol=1e-6)


def test_where_the_target_has_every_token_it_is_the_papers_equation(run):
    row, symbols = slice(0, 1), SYMBOLS[0]
    found = np.exp(run(mixed, LOGITS[row], GENERATION[row], WEIGHTS[row], SYMBOLS[row]))[0]
    for step in range(STEPS):
        generation = np.float64(GENERATION[0, step])
        attended = [WEIGHTS[0, step][symbols == token].sum() for token in range(VOCABULARY)]
        expected = generation * reference.softmax(np.float64(LOGITS[0, step]))
        assert_allclose(found[step], expected + (1 - generation) * np.array(attended), rtol=1e-5)


def test_weight_that_is_left_out_is_generated(run):
    half = 0.5 * WEIGHTS
    found = np.exp(run(mixed, LOGITS, 0 * GENERATION, half, SYMBOLS))
    assert_allclose(found[0, :, 5], 0.5 * reference.softmax(LOGITS)[0, :, 5], rtol=1e-5)
    assert_allclose(found.sum(axis=-1), 1, atol=1e-6)


def test_a_source_with_nothing_real_leaves_what_is_generated(run):
    nothing = np.full_like(SYMBOLS, -1)
    for weights in (0 * WEIGHTS, WEIGHTS):
        found = run(mixed, LOGITS, GENERATION, weights, nothing)
        assert_allclose(found, reference.log_softmax(np.float64(LOGITS)), atol=1e-5)


def test_further_padding_changes_nothing(run):
    weights = np.pad(WEIGHTS, ((0, 0), (0, 0), (0, 4)))
    symbols = np.pad(SYMBOLS, ((0, 0), (0, 4)), constant_values=-1)
    plain = run(mixed, LOGITS, GENERATION, WEIGHTS, SYMBOLS)
    assert_allclose(run(mixed, LOGITS, GENERATION, weights, symbols), plain, atol=1e-6)


def test_what_is_very_improbable_keeps_its_order(run):
    logits = np.array([[0.0, -200.0, -300.0]], "float32")
    weights, symbols = np.array([[1.0]], "float32"), np.array([[0]], "int32")
    found = run(mixed, logits, np.array([0.5], "float32"), weights, symbols)
    assert_allclose(found, [[0, np.log(0.5) - 200, np.log(0.5) - 300]], rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("generation", [0.0, 1e-30, 1.0])
def test_the_extremes_are_finite_and_so_are_their_gradients(generation, scale):
    place = np.eye(PLACES, dtype="float32")[[[0, 1, 4]] * BATCH]
    inputs = [scale * LOGITS, np.full_like(GENERATION, generation), place]
    inputs = [*map(tf.convert_to_tensor, inputs)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        found = mixed(*inputs, SYMBOLS)
        loss = tf.reduce_sum(tf.gather(found, [[1, 2, 3]] * BATCH, batch_dims=2))
    assert np.isfinite(found).all() and np.max(found) < 1e-6
    assert all(np.isfinite(gradient).all() for gradient in tape.gradient(loss, inputs))
    if generation == 0:
        assert_allclose(found[0, 0, 4], 0, atol=1e-6)
    if generation == 1:
        assert_allclose(found, tf.nn.log_softmax(inputs[0]), atol=1e-6)


def test_its_gradient_is_that_of_the_definition():
    """Finite differences of 1e-6 in float64 give the slope, here for weights that sum to 0.9."""
    inputs = [tf.convert_to_tensor(one) for one in (LOGITS, GENERATION, 0.9 * WEIGHTS)]
    factors = RANDOM.normal(size=LOGITS.shape)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_sum(np.float32(factors) * mixed(*inputs, SYMBOLS))
    for number, gradient in enumerate(tape.gradient(loss, inputs)):
        arrays = [np.float64(one) for one in inputs]
        for place in list(np.ndindex(*gradient.shape))[::5]:
            losses = []
            for step in (1e-6, -1e-6):
                moved = [one.copy() for one in arrays]
                moved[number][place] += step
                losses.append(np.sum(factors * np.log(all_by_hand(*moved, SYMBOLS))))
            slope = (losses[0] - losses[1]) / 2e-6
            assert_allclose(gradient[place], slope, rtol=1e-3, atol=1e-4)
