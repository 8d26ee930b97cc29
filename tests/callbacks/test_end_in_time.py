"""A schedule that ends with the time of a training."""

import pytest

from keras_bahdanau.callbacks import EndInTime
from keras_bahdanau.optimizers import Cosine
from keras_bahdanau.training import Progress


def moved(epoch, seconds, minutes, epochs=100):
    """The last step, of epochs of 10 batches."""
    schedule = Cosine(1.0, last_step=epochs * 10)
    EndInTime(Progress(epoch=epoch, seconds=seconds), schedule, 10, epochs, minutes).move()
    return schedule.last_step


@pytest.mark.parametrize(
    ("epoch", "seconds", "minutes", "epochs"),
    [
        (0, 0.0, 5, 100),  # nothing is known yet
        (1, 60.0, 5, 5),
        (2, 60.0, 5, 10),
        (2, 59.0, 5, 10),  # a part of an epoch does not count
        (4, 400.0, 5, 3),  # it is over
        (1, 1e9, 5, 1),
        (1, 0.001, 5, 100),  # the epochs end before the time
    ],
)
def test_the_last_step_is_where_the_time_ends(epoch, seconds, minutes, epochs):
    assert moved(epoch, seconds, minutes) == epochs * 10


def test_the_warm_up_keeps_its_share_of_the_steps():
    """Or the rate mostly rises where the time ends soon behind the warm-up of all epochs."""
    schedule = Cosine(1.0, last_step=1000, warmup_steps=200)
    progress = Progress(epoch=1, seconds=100.0)
    end = EndInTime(progress, schedule, 10, 100, minutes=5)
    end.move()
    assert (schedule.last_step, schedule.warmup_steps) == (30, 6)
    assert float(schedule(30)) == 0.0
    progress.seconds = 1.0  # it was the machine that was slow
    end.move()
    assert (schedule.last_step, schedule.warmup_steps) == (1000, 200)


def test_the_first_epoch_is_no_measure_of_the_others():
    progress = Progress(step=50)
    progress.add_time(30.0)
    progress.epoch, progress.step = 1, 0
    progress.add_time(40.0)
    assert progress.epochs_in(5) == 4  # of 70 seconds: no other is known
    progress.step = 3
    progress.add_time(15.0)
    progress.epoch, progress.step = 2, 0
    progress.add_time(5.0)
    assert progress.epochs_in(5) == 2 + 10  # of 20 seconds each, in the 210 that are left


def test_an_epoch_that_was_left_unfinished_is_no_measure_of_the_others():
    progress = Progress(epoch=1, seconds=70.0, first_seconds=70.0, epoch_seconds=70.0)
    progress.epoch = 2
    progress.add_time(20.0)
    expected = progress.epochs_in(5)
    progress.step = 98
    progress.add_time(19.0)  # and then it was killed
    assert Progress.loads(progress.dumps()).epochs_in(5) == expected == 2 + 10


def test_the_first_step_is_no_measure_of_an_epoch():
    progress = Progress()
    progress.step = 1
    progress.add_time(54.0)  # it compiles the model
    progress.step = 100
    progress.add_time(5.0)
    progress.epoch, progress.step = 1, 0
    progress.add_time(1.0)
    assert progress.epochs_in(2) == 1 + 10  # of 6 seconds each, in the 60 that are left
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
