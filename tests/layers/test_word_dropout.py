"""WordDropout hides whole tokens, only in training."""

import keras
import numpy as np
import pytest

from keras_bahdanau.layers.sublayers import WordDropout

EMBEDDED = np.ones((50, 40, 3), "float32")


def test_whole_tokens_are_hidden_and_the_others_scaled(run):
    layer = WordDropout(0.25, seed=1)
    found = run(lambda embedded: layer(embedded, training=True), EMBEDDED)
    assert set(np.unique(found)) == {0, np.float32(1 / 0.75)}
    np.testing.assert_array_equal(found.min(axis=-1), found.max(axis=-1))
    assert 0.2 < np.mean(found == 0) < 0.3


def test_one_token_a_row_is_hidden_too():
    found = np.asarray(WordDropout(0.5, seed=1)(EMBEDDED[:, 0], training=True))
    np.testing.assert_array_equal(found.min(axis=-1), found.max(axis=-1))
    assert 0.2 < np.mean(found == 0) < 0.8


@pytest.mark.parametrize(("rate", "training"), [(0.5, False), (0.5, None), (0.0, True)])
def test_otherwise_nothing_changes(run, rate, training):
    layer = WordDropout(rate)
    found = run(lambda embedded: layer(embedded, training=training), EMBEDDED)
    np.testing.assert_array_equal(found, EMBEDDED)


def test_without_a_rate_there_is_no_state_to_save():
    assert not WordDropout(0.0).variables


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_it_stands_in_a_functional_model_of_any_policy(policy):
    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, WordDropout(0.5, dtype=policy)(inputs))
    assert model.output.shape == (None, None, 3)
    assert model(EMBEDDED, training=True).dtype == model.output.dtype == policy[6:]


@pytest.mark.parametrize("rate", [1.0, -0.1, "half", True])
def test_the_rate_must_be_a_share(rate):
    with pytest.raises(ValueError, match=r"`rate`.* must be in \[0, 1\). Received: rate="):
        WordDropout(rate)
