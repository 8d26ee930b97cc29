"""A loss that is no number ends a training at the batch that had it."""

import keras
import numpy as np
import pytest
from toy_regression import X, Y, fit, new

from keras_bahdanau.callbacks import Checkpoint, StopAtDivergence
from keras_bahdanau.callbacks.divergence import require_finite
from keras_bahdanau.training import Progress


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_batch_is_named_and_no_checkpoint_is_made_of_it(tmp_path, value):
    path, progress, targets = tmp_path / "checkpoint.weights.h5", Progress(epoch=2), Y.copy()
    targets[3] = value
    callbacks = [StopAtDivergence(progress), Checkpoint(path, progress, save_freq=1)]
    with pytest.raises(FloatingPointError, match="loss=(nan|inf) after batch 4 of epoch 3, with"):
        fit(new(), X, targets, callbacks=callbacks)
    kept = new()
    Checkpoint.restore(path, kept)
    assert progress.step == 3
    assert all(np.isfinite(weights).all() for weights in kept.get_weights())


@pytest.mark.parametrize(("bad", "told"), [(2, 4), (4, 5)])
def test_of_several_batches_at_once_the_last_one_is_named(tmp_path, bad, told):
    progress, model, targets = Progress(), new(), Y[:5].copy()
    model.compile("sgd", "mse", steps_per_execution=2)
    targets[bad] = np.nan
    checkpoint = Checkpoint(tmp_path / "checkpoint.weights.h5", progress)
    with pytest.raises(FloatingPointError, match=f"after batch {told} of epoch 1, with"):
        fit(model, X[:5], targets, callbacks=[StopAtDivergence(progress), checkpoint])


def test_a_training_that_goes_well_goes_on():
    progress = Progress()
    assert len(fit(new(), callbacks=[StopAtDivergence(progress)], epochs=2).epoch) == 2


def test_the_likely_causes_are_named():
    model = new(policy="mixed_float16")
    with pytest.raises(
        FloatingPointError, match=r"learning_rate=0.1\d*, clip_norm=None, precision"
    ):
        fit(model, X, Y * np.inf, callbacks=[StopAtDivergence(Progress())])


def test_of_a_schedule_the_rate_of_the_settings_is_named():
    schedule = keras.optimizers.schedules.CosineDecay(0.0, 10, warmup_target=0.5, warmup_steps=2)
    model = new()
    model.optimizer = keras.optimizers.SGD(schedule)
    with pytest.raises(FloatingPointError, match="learning_rate=0.5, "):
        require_finite({"loss": np.nan}, model, Progress())
