"""Hard attention as a normalizer: what it draws, how often, and what it says of it."""

import itertools

import keras
import numpy as np
import pytest
import steps
import tensorflow as tf
from reference import softmax

from keras_bahdanau.layers import Hard, MultiHeadAttention
from keras_bahdanau.layers.attention.by_name import ATTENTIONS
from keras_bahdanau.layers.normalizers.normalizer import Drawn

RANDOM = np.random.default_rng(3)
LENGTHS = (5, 3, 1, 0)
SOURCE_TIME, TARGET_TIME = 5, 4
MASK = np.arange(SOURCE_TIME) < np.array(LENGTHS)[:, None]
SCORES = (2 * RANDOM.normal(size=(len(LENGTHS), TARGET_TIME, SOURCE_TIME))).astype("float32")


def alpha_of(scores, mask):
    """Softmax over the real places in float64; zeros where there are none."""
    scores = np.where(mask, scores.astype("float64"), -1e30)
    return np.where(mask, softmax(scores), 0)


def walked(hard, training=None):
    """A function of all scores and the mask: weights and `Drawn` of every step."""

    def function(scores, mask):
        def step(state, scores):
            weights, state = hard.align(scores, mask, state, training=training)
            return (weights, *hard.drawn(state)), state

        return steps.looped(step, hard.initial_state(steps.memory(mask)), scores)

    return function


def one_step(hard, scores, mask):
    """(weights, `Drawn`) of one step of a training."""
    state = hard.initial_state(steps.memory(mask))
    weights, state = hard.align(tf.constant(scores), mask, state, training=True)
    return weights.numpy(), Drawn(*(one.numpy() for one in hard.drawn(state)))


def test_inference_takes_the_first_of_the_most_probable_places(run):
    scores = SCORES.copy()
    scores[0, 0] = [1, 3, 2, 3, 0]
    weights, log_prob, entropy = run(walked(Hard()), scores, MASK)
    for row, length in enumerate(LENGTHS):
        for t in range(TARGET_TIME):
            place = np.argmax(scores[row, t, :length]) if length else -1
            np.testing.assert_array_equal(weights[row, t], np.arange(SOURCE_TIME) == place)
    assert not np.any(log_prob) and not np.any(entropy)


def test_inference_may_take_the_expectation(run):
    weights, *_ = run(walked(Hard(inference="expected")), SCORES, MASK)
    np.testing.assert_allclose(weights, alpha_of(SCORES, MASK[:, None]), atol=1e-6)


def test_inference_draws_nothing():
    hard = Hard()
    before = np.array(hard.random.state)
    walked(hard)(tf.constant(SCORES), MASK)
    np.testing.assert_array_equal(hard.random.state, before)


def test_training_draws_each_place_as_often_as_its_weight_says():
    keras.utils.set_random_seed(0)
    rows, scores = 20_000, np.array([0.3, -9.0, 1.2, 0.0, 2.0], "float32")
    mask = np.array([True, True, True, False, True])
    hard = Hard(expected=0.0)
    weights, _ = one_step(hard, np.tile(scores, (rows, 1)), np.tile(mask, (rows, 1)))
    np.testing.assert_array_equal(np.sort(weights, axis=1), np.tile(np.arange(5) == 4, (rows, 1)))
    alpha = alpha_of(scores, mask)
    deviation = np.sqrt(alpha * (1 - alpha) / rows)
    assert np.all(np.abs(weights.mean(axis=0) - alpha) <= 4 * deviation)


def test_a_sentence_draws_at_all_steps_or_at_none():
    keras.utils.set_random_seed(0)
    rows = 4000
    scores = np.tile(SCORES[:1], (rows, 1, 1))
    found = walked(Hard(expected=0.3), training=True)(scores, np.ones((rows, SOURCE_TIME), bool))
    weights, log_prob, _ = (one.numpy() for one in found)
    drew = weights.max(axis=-1) == 1
    np.testing.assert_array_equal(drew, np.tile(drew[:, :1], TARGET_TIME))
    assert abs(drew[:, 0].mean() - 0.7) < 4 * np.sqrt(0.3 * 0.7 / rows)
    alpha = alpha_of(SCORES[0], np.ones(SOURCE_TIME, bool))
    np.testing.assert_allclose(weights[~drew[:, 0]][0], alpha, atol=1e-6)
    np.testing.assert_array_equal(log_prob != 0, drew)


def test_steps_and_sentences_draw_independently():
    """Every pair of places of two steps comes as often as their product says."""
    keras.utils.set_random_seed(0)
    rows = 20_000
    scores = np.tile(SCORES[:1, :2, :2], (rows, 1, 1))
    weights, *_ = walked(Hard(expected=0.0), training=True)(scores, np.ones((rows, 2), bool))
    alpha = alpha_of(SCORES[0, :2, :2], np.ones(2, bool))
    for one, other in itertools.product(range(2), repeat=2):
        chance = alpha[0, one] * alpha[1, other]
        found = np.mean(weights[:, 0, one] * weights[:, 1, other])
        assert abs(found - chance) <= 4 * np.sqrt(chance * (1 - chance) / rows)


def test_it_tells_the_log_probability_and_the_entropy_of_its_draws():
    keras.utils.set_random_seed(0)
    weights, drawn = one_step(Hard(expected=0.0, entropy=0.5), SCORES[:, 0], MASK)
    alpha = alpha_of(SCORES[:, 0], MASK)
    logs = np.log(np.where(alpha > 0, alpha, 1))
    np.testing.assert_allclose(drawn.log_prob, np.sum(weights * logs, axis=-1), atol=1e-5)
    np.testing.assert_allclose(drawn.entropy, -0.5 * np.sum(alpha * logs, axis=-1), atol=1e-5)
    assert not weights[3].any() and drawn.log_prob[3] == drawn.entropy[3] == 0


def test_further_padding_does_not_change_what_is_drawn():
    def drawn(extra):
        keras.utils.set_random_seed(1)
        wider = ((0, 0), (0, 0), (0, extra))
        scores, mask = np.pad(SCORES, wider, constant_values=50.0), np.pad(MASK, wider[1:])
        return walked(Hard(), training=True)(tf.constant(scores), tf.constant(mask))

    for one, other in zip(drawn(3), drawn(0), strict=True):
        np.testing.assert_allclose(one.numpy()[..., :SOURCE_TIME], other, atol=1e-6)


@pytest.mark.parametrize("expected", [0.0, 0.9])
def test_gradients_are_finite_and_none_comes_from_padding(expected):
    keras.utils.set_random_seed(1)
    hard, scores = Hard(expected=expected), tf.constant(SCORES * [[[1.0]], [[1]], [[1e4]], [[1e4]]])
    with tf.GradientTape() as tape:
        tape.watch(scores)
        weights, log_prob, entropy = walked(hard, training=True)(scores, MASK)
        loss = tf.reduce_sum(weights**2) + tf.reduce_sum(log_prob) + tf.reduce_sum(entropy)
    gradient = tape.gradient(loss, scores).numpy()
    assert np.isfinite(gradient).all() and gradient[0].any()
    assert not gradient[~np.broadcast_to(MASK[:, None], SCORES.shape)].any()


def test_each_row_of_a_beam_is_as_it_is_alone(run):
    hard, rows = Hard(), SCORES.shape[:2]
    state = (np.full(rows, -1, "float32"), Drawn(*np.zeros((2, *rows), "float32")))
    weights, after = run(hard.align, SCORES, MASK[:, None], state)
    alone, *_ = run(walked(hard), SCORES, MASK)
    np.testing.assert_array_equal(weights, alone)
    for one, other in zip(tf.nest.flatten(after), tf.nest.flatten(state), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("inference", ["most-probable", "expected"])
def test_a_step_runs_in_litert(inference):
    hard = Hard(inference=inference)
    state = hard.initial_state(steps.memory(MASK[1:2]))
    args = (SCORES[1:2, 0], MASK[1:2], state)
    expected, _ = hard.align(*tf.nest.map_structure(tf.convert_to_tensor, args))
    found, _ = steps.litert(hard.align, *args)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.slow
def test_a_loop_of_xla_draws_anew_at_each_step_and_has_a_gradient():
    hard = Hard(expected=0.0)

    def step(state, scores):
        state, mask = state
        weights, state = hard.align(scores, mask, state, training=True)
        return weights + tf.expand_dims(hard.drawn(state).log_prob, -1), (state, mask)

    mask = tf.ones((4, 3), "bool")
    state = (hard.initial_state(steps.memory(mask)), mask)
    outputs, (by_scores,) = steps.looped_by_xla(step, state, np.zeros((4, 30, 3), "float32"), [])
    places = np.argmax(outputs, axis=-1)
    np.testing.assert_allclose(np.max(outputs, axis=-1), 1 - np.log(3), atol=1e-5)
    assert all(set(row) == {0, 1, 2} for row in places) and len(np.unique(places, axis=0)) == 4
    assert np.isfinite(by_scores).all() and np.any(by_scores)


def test_heads_draw_apart_and_their_logarithms_add_up():
    keras.utils.set_random_seed(0)
    attention = ATTENTIONS.get("additive", units=4, heads=2, past=2, normalizer="hard")
    heads = attention.attention
    assert attention.draws and isinstance(heads, MultiHeadAttention)
    one, other = (Drawn(*RANDOM.normal(size=(2, 3)).astype("float32")) for _ in range(2))
    states = tuple(
        head.initial_state(steps.memory(MASK))._replace(normalizer=(None, drawn))
        for head, drawn in zip(heads.attentions, (one, other), strict=True)
    )
    found = attention.drawn((states, None, None, None))
    np.testing.assert_allclose(found, np.add(one, other), atol=1e-6)


@pytest.mark.parametrize("kind", ["softmax", "monotonic"])
def test_other_normalizers_draw_nothing(kind):
    attention = ATTENTIONS.get("additive", units=4, heads=2, normalizer=kind)
    assert not attention.draws
    assert attention.drawn(attention.initial_state(steps.memory(MASK))) == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"expected": 1.0}, r"`expected`.* in \[0, 1\). Received: expected=1.0"),
        ({"entropy": -1}, "`entropy`.* at least 0. Received: entropy=-1"),
        ({"inference": "drawn"}, "`inference` must be one of 'most-probable', 'expected'. Rec"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        Hard(**arguments)
