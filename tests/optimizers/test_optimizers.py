"""The moving average of the weights, which an optimizer maintains."""

import keras
import numpy as np
import pytest
from toy_regression import Record, X, Y, assert_equal, fit, new

from keras_bahdanau.optimizers import averaged_weights


def average(history, momentum=0.9):
    """Return the moving average of recorded weights, starting with the first."""
    found = history[0]
    for before, weights in enumerate(history[1:], 1):
        share = min(momentum, before / (before + 9))
        found = [share * a + (1 - share) * w for a, w in zip(found, weights, strict=True)]
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", [None, "mixed_float16"])
def test_the_average_is_in_place_for_as_long_as_the_block_lasts(policy):
    model, record = new(policy=policy), Record()
    fit(model, callbacks=[record])
    with averaged_weights(model):
        for found, expected in zip(model.get_weights(), average(record.weights), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)
    assert_equal(model.get_weights(), record.weights[-1])


def test_the_trained_weights_come_back_after_an_error_too():
    model = new()
    fit(model)
    trained = model.get_weights()
    with pytest.raises(RuntimeError), averaged_weights(model):
        raise RuntimeError
    assert_equal(model.get_weights(), trained)


def test_fits_one_after_the_other_equal_one_long_fit():
    whole, pieces = new(), new()
    fit(whole, epochs=2)
    fit(pieces)
    with averaged_weights(pieces):
        pieces.evaluate(X, Y, verbose=0)
    fit(pieces)
    assert_equal(pieces.get_weights(), whole.get_weights())


@pytest.mark.few(1)
@pytest.mark.parametrize("trained", [True, False])
def test_another_optimizer_or_an_untrained_model_is_left_alone(trained):
    model = new(keras.optimizers.Adam() if trained else None)
    if trained:
        fit(model)
    before = model.get_weights()
    with averaged_weights(model):
        assert_equal(model.get_weights(), before)
    assert_equal(model.get_weights(), before)


def test_the_optimizer_is_saved_and_loaded_without_custom_objects(tmp_path):
    model = new()
    fit(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    with averaged_weights(model), averaged_weights(loaded):
        assert_equal(loaded.get_weights(), model.get_weights())
