"""Hard alignments without a decoder: a Markov chain over source positions."""

import extract
import numpy as np
import pytest
import reference
import tensorflow as tf

from keras_bahdanau.layers import HardAlignment
from keras_bahdanau.layers.attention.hard_alignment import LOG_ZERO, gathered, safe_log, skewed

RANDOM = np.random.default_rng(2)
QUERY = RANDOM.normal(size=(1, 3, 4)).astype("float32")
VALUES = RANDOM.normal(size=(1, 6, 5)).astype("float32")
MASK = np.arange(6)[None] < 4


def built(**options):
    layer = HardAlignment("general", **options)
    layer.build((None, 4), (None, None, 5))
    return extract.randomize(layer)


def chain(layer):
    """Yield the prior over real positions at each step, by applying one transition at a time."""
    (W,) = extract.arrays(layer.score)
    before = np.eye(4)[0]
    for query in QUERY[0]:
        scores = np.tile(VALUES[0, :4] @ W @ query, (4, 1))  # (j', j)
        jump = np.arange(4) - np.arange(4)[:, None]
        if layer.order:
            kernel, bias = extract.arrays(layer.jumps)
            lowest = 0 if layer.monotonic else -layer.reach
            scores = scores + (query @ kernel + bias)[np.clip(jump, lowest, layer.reach) - lowest]
        if layer.monotonic:
            scores[jump < 0] = -np.inf
        before = before @ reference.softmax(scores)
        yield before


@pytest.mark.few(2)
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize(
    "options",
    [{}, {"monotonic": True}, {"order": 1, "reach": 2}, {"order": 1, "monotonic": True}],
    ids=["zeroth", "zeroth monotonic", "first", "first monotonic"],
)
def test_the_weights_are_those_of_the_chain(options, training):
    layer = built(**options)
    call = {"return_attention_scores": True, "training": training}
    context, weights = layer(QUERY, VALUES, MASK, **call)
    expected = np.array([*chain(layer)])
    np.testing.assert_allclose(weights[0, :, :4], expected, atol=1e-6)
    np.testing.assert_allclose(context[0], expected @ VALUES[0, :4], atol=1e-5)
    assert not np.any(weights[..., 4:])


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("by_differences", [gathered, skewed])
def test_pairs_have_the_numbers_of_their_differences(by_differences, size):
    numbers = RANDOM.normal(size=(2, 3, 2 * size))
    found = by_differences(numbers)
    assert found.shape == (2, 3, size, size)
    for before, place in np.ndindex(size, size):
        expected = numbers[..., place - before + size - 1]
        np.testing.assert_array_equal(found[..., before, place], expected)


def test_the_logarithm_of_nothing_is_finite_and_has_no_gradient():
    numbers = tf.constant([0.0, 0.5])
    with tf.GradientTape() as tape:
        tape.watch(numbers)
        found = safe_log(numbers)
    np.testing.assert_allclose(found, [LOG_ZERO, np.log(0.5)], rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(found, numbers), [0, 2])


def test_a_token_that_only_one_place_can_have_given_tells_the_place():
    layer = built(order=1)
    state = np.log(np.float32([[0.7, 0.2, 0.1]]))
    found = layer.observe(state, np.float32([[-50.0, -1.0, -50.0]]))
    np.testing.assert_allclose(np.exp(found), [[0, 1, 0]], atol=1e-6)
    found = layer.observe(state, np.log(np.float32([[0.2, 0.2, 0.4]])))
    np.testing.assert_allclose(np.exp(found), [[7 / 11, 2 / 11, 2 / 11]], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "received"),
    [
        ({"order": 2}, "`order` must be one of 0, 1. Received: order=2"),
        ({"reach": 0}, "`reach`, the farthest jump, must be a positive integer"),
        ({"reach": 101}, "at most 100. Received: reach=101"),
        ({"score": "none"}, "Received: score='none'"),
    ],
)
def test_wrong_values_are_refused(options, received):
    with pytest.raises(ValueError, match=received):
        HardAlignment(**options)
