"""Training ends at the first batch without a finite loss, or when its time is over."""

import keras
import numpy as np
import pytest
from toy_regression import X, Y, fit, new

from keras_bahdanau.callbacks import Checkpoint, EndInTime, StopAtDivergence
from keras_bahdanau.callbacks.stopping import require_finite
from keras_bahdanau.optimizers import Cosine
from keras_bahdanau.training import Progress


@pytest.mark.few(1)
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


@pytest.mark.few(1)
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


@pytest.mark.slow
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


def moved(epoch, seconds, minutes, epochs=100):
    """Return the last step of a schedule, with 10 batches per epoch."""
    schedule = Cosine(1.0, last_step=epochs * 10)
    EndInTime(Progress(epoch=epoch, seconds=seconds), schedule, 10, epochs, minutes).move()
    return schedule.last_step


@pytest.mark.parametrize(
    ("epoch", "seconds", "minutes", "epochs"),
    [
        (0, 0.0, 5, 100),  # nothing is known yet
        (1, 60.0, 5, 5),
        (2, 60.0, 5, 10),
        (2, 59.0, 5, 10),  # only whole epochs count
        (4, 400.0, 5, 3),  # already over
        (1, 1e9, 5, 1),
        (1, 0.001, 5, 100),  # the epochs end before the time is up
    ],
)
def test_the_last_step_is_where_the_time_ends(epoch, seconds, minutes, epochs):
    assert moved(epoch, seconds, minutes) == epochs * 10


def test_the_warm_up_keeps_its_share_of_the_steps():
    """Otherwise the rate would mostly rise if the time ends soon after the warm-up."""
    schedule = Cosine(1.0, last_step=1000, warmup_steps=200)
    progress = Progress(epoch=1, seconds=100.0)
    end = EndInTime(progress, schedule, 10, 100, minutes=5)
    end.move()
    assert (schedule.last_step, schedule.warmup_steps) == (30, 6)
    assert float(schedule(30)) == 0.0
    progress.seconds = 1.0  # only the machine had been slow
    end.move()
    assert (schedule.last_step, schedule.warmup_steps) == (1000, 200)


def test_the_first_epoch_is_no_measure_of_the_others():
    progress = Progress(step=50)
    progress.add_time(30.0)
    progress.epoch, progress.step = 1, 0
    progress.add_time(40.0)
    assert progress.epochs_in(5) == 4  # of 70 seconds, the only time known
    progress.step = 3
    progress.add_time(15.0)
    progress.epoch, progress.step = 2, 0
    progress.add_time(5.0)
    assert progress.epochs_in(5) == 2 + 10  # of 20 seconds each, in the remaining 210 seconds


def test_an_epoch_that_was_left_unfinished_is_no_measure_of_the_others():
    progress = Progress(epoch=1, seconds=70.0, first_seconds=70.0, epoch_seconds=70.0)
    progress.epoch = 2
    progress.add_time(20.0)
    expected = progress.epochs_in(5)
    progress.step = 98
    progress.add_time(19.0)  # then the run was killed
    assert Progress.loads(progress.dumps()).epochs_in(5) == expected == 2 + 10


def test_the_first_step_is_no_measure_of_an_epoch():
    progress = Progress()
    progress.step = 1
    progress.add_time(54.0)  # includes compiling the model
    progress.step = 100
    progress.add_time(5.0)
    progress.epoch, progress.step = 1, 0
    progress.add_time(1.0)
    assert progress.epochs_in(2) == 1 + 10  # of 6 seconds each, in the remaining 60 seconds
    assert progress.end(54, 9, minutes=2) is None
    assert "another one would end after the 1 minutes" in progress.end(54, 9, minutes=1)


def test_the_training_ends_where_the_schedule_does():
    for seconds in (1.0, 29.9, 30.0, 41.0, 100.0):
        progress = Progress(epoch=1, seconds=seconds)
        last = progress.epochs_in(5)
        ends = []
        for epoch in range(1, last + 1):
            one = Progress(epoch=epoch, seconds=seconds * epoch)
            ends.append(one.end(1000, 1000, minutes=5) is not None)
        assert ends == [False] * (last - 1) + [True]
