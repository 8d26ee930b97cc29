"""The best tokens of a vocabulary, found by blocks, equal those of a full sort."""

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from keras_bahdanau.search.result import top_k_tokens

RANDOM = np.random.default_rng(0)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "vocabulary, count",
    [
        (6, 4),  # sorted as a whole
        (997, 5),  # a prime number, so no blocks
        (2000, 1),
        (2000, 5),
        (6000, 12),
    ],
)
@pytest.mark.parametrize("leading", [(3,), (2, 4)])
def test_they_are_those_of_a_full_sort(run, vocabulary, count, leading):
    log_probs = np.log(RANDOM.dirichlet(np.ones(vocabulary), leading)).astype("float32")
    values, ids = run(
        lambda one: top_k_tokens(tf.ensure_shape(one, (*leading, vocabulary)), count), log_probs
    )
    order = np.argsort(-log_probs, axis=-1, kind="stable")[..., :count]
    assert_array_equal(ids, order)
    assert_allclose(values, np.take_along_axis(log_probs, order, axis=-1))


@pytest.mark.parametrize("vocabulary, unwritten", [(9, [0, 2]), (2000, [0, 1, 2]), (2000, [1999])])
@pytest.mark.parametrize("count", [1, 5])
def test_tokens_that_no_text_has_are_not_taken(run, vocabulary, unwritten, count):
    log_probs = np.log(RANDOM.dirichlet(np.ones(vocabulary), (7,))).astype("float32")
    log_probs[:4, unwritten] = 0.0  # the highest scores

    def best(one):
        return top_k_tokens(tf.ensure_shape(one, (7, vocabulary)), count, unwritten)

    values, ids = run(best, log_probs)
    log_probs[:, unwritten] = -np.inf
    order = np.argsort(-log_probs, axis=-1, kind="stable")[:, :count]
    assert_array_equal(ids, order)
    assert_allclose(values, np.take_along_axis(log_probs, order, axis=-1))


def test_all_of_the_best_may_stand_in_one_block(run):
    log_probs = np.full((1, 2000), -9.0, "float32")
    log_probs[0, [1203, 1201, 1202]] = [-1, -2, -3]
    _, ids = run(lambda one: top_k_tokens(tf.ensure_shape(one, (1, 2000)), 3), log_probs)
    assert ids.tolist() == [[1203, 1201, 1202]]


def test_of_equal_tokens_the_first_is_best(run):
    _, ids = run(
        lambda one: top_k_tokens(tf.ensure_shape(one, (1, 2000)), 1), np.zeros((1, 2000), "f")
    )
    assert ids.tolist() == [[0]]
