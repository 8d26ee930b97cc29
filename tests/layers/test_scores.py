"""AdditiveScore against the equation."""

import extract
import keras
import numpy as np
import pytest
import reference

from keras_bahdanau.layers import AdditiveScore, BahdanauAttention

RANDOM = np.random.default_rng(1)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
QUERIES = RANDOM.normal(size=(3, 2, 5)).astype("float32")


def built(layer):
    layer.build(QUERIES.shape, VALUES.shape)
    return extract.randomize(layer)


def test_scores_are_those_of_the_equation(run):
    attention = built(BahdanauAttention(7))
    weights = extract.attention(attention)
    expected = [
        [reference.additive_scores(query, values, weights) for query in queries]
        for queries, values in zip(QUERIES, VALUES, strict=True)
    ]
    many = run(attention.score, QUERIES, VALUES)
    np.testing.assert_allclose(many, expected, atol=1e-5)
    one = run(attention.score, QUERIES[:, 1], VALUES)
    np.testing.assert_allclose(one, np.array(expected)[:, 1], atol=1e-5)


def test_keys_projected_once_give_the_same_scores(run):
    score = built(AdditiveScore(7))
    whole = run(score, QUERIES, VALUES)
    parts = run(lambda query, values: score.compare(query, score.project(values)), QUERIES, VALUES)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_scores_are_summed_in_float32(policy):
    score = built(AdditiveScore(7, dtype=policy))
    scores = score(QUERIES, VALUES)
    assert keras.backend.standardize_dtype(scores.dtype) == "float32"
    exact = built(AdditiveScore(7))(QUERIES, VALUES)
    np.testing.assert_allclose(scores, exact, atol=0.1)


@pytest.mark.parametrize("units", [0, -1, 1.5, "4", True, None])
def test_units_must_be_a_positive_integer(units):
    with pytest.raises(ValueError, match=r"`units`.*positive integer. Received: units="):
        AdditiveScore(units)
