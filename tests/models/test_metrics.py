"""Perplexity matches its definition."""

import keras
import numpy as np
import pytest
import reference

from keras_bahdanau.models.metrics import Perplexity

RANDOM = np.random.default_rng(11)
LOGITS = RANDOM.normal(size=(2, 3, 5)).astype("float32")
TARGET = np.array([[4, 1, 3], [2, 0, 0]], "int32")
WEIGHTS = np.array([[1, 1, 1], [1, 0, 0]], "float32")
LOSSES = [reference.token_loss(4, LOGITS[0, 0]), reference.token_loss(1, LOGITS[0, 1])]
LOSSES += [reference.token_loss(3, LOGITS[0, 2]), reference.token_loss(2, LOGITS[1, 0])]


def test_it_is_over_real_tokens(run):
    metric = Perplexity()

    def measure(target, logits, weights):
        metric.reset_state()
        metric.update_state(target, logits, sample_weight=weights)
        return metric.result()

    found = run(measure, TARGET, LOGITS, WEIGHTS)
    np.testing.assert_allclose(found, reference.perplexity(LOSSES), rtol=1e-5)


def test_batches_count_by_their_tokens():
    metric = Perplexity()
    for row in range(2):
        metric.update_state(TARGET[[row]], LOGITS[[row]], sample_weight=WEIGHTS[[row]])
    np.testing.assert_allclose(metric.result(), reference.perplexity(LOSSES), rtol=1e-5)


def test_without_weights_every_token_counts():
    metric = Perplexity()
    metric.update_state(TARGET[:1], LOGITS[:1])
    np.testing.assert_allclose(metric.result(), reference.perplexity(LOSSES[:3]), rtol=1e-5)


@pytest.mark.parametrize("vocabulary", [2, 100])
def test_even_odds_have_the_perplexity_of_the_vocabulary(vocabulary):
    metric = Perplexity()
    metric.update_state(np.ones((1, 2), "int32"), np.zeros((1, 2, vocabulary), "float32"))
    np.testing.assert_allclose(metric.result(), vocabulary, rtol=1e-5)


def test_it_begins_anew():
    metric = Perplexity()
    metric.update_state(TARGET, LOGITS)
    metric.reset_state()
    metric.update_state(TARGET[:1], LOGITS[:1])
    np.testing.assert_allclose(metric.result(), reference.perplexity(LOSSES[:3]), rtol=1e-5)


def test_its_config_round_trips():
    metric = Perplexity(name="subword_perplexity")
    written = keras.saving.serialize_keras_object(metric)
    read = keras.saving.deserialize_keras_object(written)
    assert isinstance(read, Perplexity) and read.get_config() == metric.get_config()
