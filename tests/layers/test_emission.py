"""The readout of hard attention: a mixture of predictions from all positions."""

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf

from keras_bahdanau.layers import Emission

RANDOM = np.random.default_rng(8)
STATE, EMBEDDED, VALUES = (
    RANDOM.normal(size=shape).astype("float32") for shape in ((2, 4), (2, 3), (2, 5, 6))
)
OUTPUT = tuple(RANDOM.normal(size=shape).astype("float32") for shape in ((7, 8), (7,)))
PRIOR = reference.softmax(RANDOM.normal(size=(2, 5))).astype("float32")


@pytest.fixture(scope="module")
def emission():
    layer = Emission(8)
    layer.build((None, 4), (None, 6), (None, 3))
    return extract.randomize(layer)


def mixture(emission, *dropout_masks, **kwargs):
    keys = emission.project(VALUES)
    sums = emission.sums(STATE, EMBEDDED)
    log_prior = tf.math.log(PRIOR)
    return keys, *emission.mixture(log_prior, sums, keys, OUTPUT, dropout_masks, **kwargs)


def test_the_probability_of_a_token_is_the_mean_of_those_from_all_places(emission):
    _, log_probs, _ = mixture(emission)
    W, b, V = extract.arrays(emission)
    for row in range(2):
        hidden = np.tanh(np.concatenate([STATE[row], EMBEDDED[row]]) @ W + b + VALUES[row] @ V)
        each = reference.softmax(hidden @ OUTPUT[0].T + OUTPUT[1])
        np.testing.assert_allclose(np.exp(log_probs[row]), PRIOR[row] @ each, rtol=1e-5)


@pytest.mark.parametrize("dropped", [False, True])
def test_the_places_of_a_chosen_token_sum_up_to_its_probability(emission, dropped):
    """This requires the dropout masks with which the token was predicted."""
    masks = (np.float32(1.25 * (RANDOM.uniform(size=(2, 8)) > 0.2)),) if dropped else ()
    keys, log_probs, emitted = mixture(emission, *masks, training=dropped)
    for token in range(7):
        found = emission.token_log_likelihoods(np.array([token, token]), emitted, keys, OUTPUT)
        total = np.sum(PRIOR * np.exp(found), axis=1)
        np.testing.assert_allclose(np.log(total), log_probs[:, token], atol=1e-5)


def test_before_the_first_step_a_token_tells_nothing(emission):
    keys = emission.project(VALUES)
    found = emission.token_log_likelihoods(
        np.array([2, 2]), emission.initial_state(keys), keys, OUTPUT
    )
    assert found.shape == (2, 5) and not np.any(found)


def test_a_beam_is_as_good_as_separate_rows(emission):
    keys, expected, emitted = mixture(emission)
    twice = keras.tree.map_structure(lambda one: tf.stack([one, one], axis=1), emitted)
    log_prior = tf.stack([tf.math.log(PRIOR)] * 2, axis=1)
    found, _ = emission.mixture(log_prior, twice.sums, keys, OUTPUT)
    np.testing.assert_allclose(found, tf.stack([expected, expected], axis=1), atol=1e-6)
    tokens = np.array([[1, 4], [6, 0]])
    beam = emission.token_log_likelihoods(tokens, twice, keys, OUTPUT)
    for one in range(2):
        alone = emission.token_log_likelihoods(tokens[:, one], emitted, keys, OUTPUT)
        np.testing.assert_allclose(beam[:, one], alone, atol=1e-6)
