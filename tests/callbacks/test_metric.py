"""A metric of decoded texts inside `fit`."""

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.callbacks import MetricCallback

PAIRS = [("one two", "x"), ("one two", "eins zwei"), ("five", "x y z")]


@pytest.fixture(scope="module")
def translator(toy_translator):
    """A copy, whose weights may be changed."""
    model = type(toy_translator.model).from_config(toy_translator.model.get_config())
    model.build()
    model.compile(optimizer="sgd", loss=kb.losses.TokenCrossentropy())
    model.set_weights(toy_translator.model.get_weights())
    search = kb.SearchOptions(beam_width=2)
    return kb.Translator(toy_translator.source, model, toy_translator.target, search)


@pytest.mark.slow
def test_a_source_counts_once_with_the_nearest_of_its_answers(translator):
    """One word of "x y z" is not met by "fünf": all three are wrong."""
    assert MetricCallback(translator, PAIRS).measure() == 50
    assert MetricCallback(translator, PAIRS, "per").measure() == pytest.approx(100 * 3 / 5)


@pytest.mark.slow
def test_lower_error_rates_are_better_and_their_weights_stay(translator):
    judge = MetricCallback(translator, PAIRS, "ser", restore_best_weights=True)
    judge.set_model(translator.model)
    logs, weights = {}, translator.model.get_weights()
    judge.on_epoch_end(0, logs)
    translator.model.set_weights([np.zeros_like(weight) for weight in weights])
    judge.on_epoch_end(1, logs)
    assert (judge.best, judge.best_epoch, logs) == (50, 0, {"val_ser": 100})
    judge.on_train_end()
    for kept, weight in zip(translator.model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(kept, weight)


def test_a_beam_that_is_too_narrow_is_refused_when_training_begins(translator):
    judge = MetricCallback(translator, PAIRS, "top3")
    judge.set_model(translator.model)
    with pytest.raises(ValueError, match="beam width, 2. Received: nbest=3"):
        judge.on_train_begin()
