"""Learning rate schedules, computed by hand."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.optimizers import Cosine, InverseSquareRoot


def test_it_rises_evenly_and_falls_with_the_square_root():
    schedule = InverseSquareRoot(0.8, warmup_steps=4)
    rates = [float(schedule(step)) for step in (0, 1, 3, 15, 63)]  # 1st, 2nd, 4th, 16th, 64th step
    np.testing.assert_allclose(rates, [0.2, 0.4, 0.8, 0.4, 0.2], rtol=1e-6)


def test_it_is_that_of_the_transformer():
    width, warmup = 512, 4000
    schedule = InverseSquareRoot((width * warmup) ** -0.5, warmup)
    for step in (1, 100, 4000, 50000):
        expected = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        np.testing.assert_allclose(float(schedule(step - 1)), expected, rtol=1e-5)


def test_an_optimizer_follows_it_and_is_saved_with_it():
    optimizer = keras.optimizers.SGD(InverseSquareRoot(1.0, warmup_steps=2))
    weight = keras.Variable([0.0])
    optimizer.build([weight])
    seen = [0.0]
    for _ in range(3):
        optimizer.apply([np.array([-1.0], "float32")])
        seen.append(float(weight.value[0]))
    np.testing.assert_allclose(np.diff(seen), [0.5, 1.0, np.sqrt(2 / 3)], rtol=1e-6)
    written = keras.optimizers.serialize(optimizer)
    assert keras.optimizers.deserialize(written).get_config() == optimizer.get_config()


@pytest.mark.parametrize(
    ("setting", "value"),
    [("learning_rate", 0.0), ("learning_rate", "1"), ("warmup_steps", 0), ("warmup_steps", 1.5)],
)
def test_settings_are_checked(setting, value):
    with pytest.raises(ValueError, match=f"Received: {setting}={value!r}"):
        InverseSquareRoot(**{"learning_rate": 1.0, setting: value})


def cosine(step, height, warmup, last):
    """Compute the schedule in plain NumPy."""
    if step < warmup:
        return height * step / warmup
    return height * (1 + np.cos(np.pi * min(1, (step - warmup) / (last - warmup)))) / 2


def test_the_cosine_rises_and_falls_to_zero_at_its_last_step():
    schedule = Cosine(0.3, last_step=50, warmup_steps=10)
    steps = [0, 1, 9, 10, 11, 30, 49, 50, 1000]
    expected = [cosine(step, 0.3, 10, 50) for step in steps]
    np.testing.assert_allclose([schedule(step) for step in steps], expected, atol=1e-7)


def test_the_last_step_moves_in_a_compiled_step():
    schedule = Cosine(1.0, last_step=1000)
    optimizer = keras.optimizers.SGD(schedule)
    weight = keras.Variable([0.0])
    optimizer.build([weight])
    step = tf.function(lambda: optimizer.apply([tf.constant([-1.0])]))
    step()
    schedule.last_step = 2
    step()
    np.testing.assert_allclose(weight.numpy(), [1.0 + cosine(1, 1.0, 0, 2)], atol=1e-6)
    # Only the iteration: a checkpoint does not contain the end of the schedule.
    assert len(optimizer.variables) == 1


def test_the_warm_up_moves_too():
    schedule = Cosine(0.3, last_step=1000, warmup_steps=200)
    schedule.last_step, schedule.warmup_steps = 50, 10
    steps = [0, 5, 10, 30, 50]
    expected = [cosine(step, 0.3, 10, 50) for step in steps]
    np.testing.assert_allclose([schedule(step) for step in steps], expected, atol=1e-7)
    schedule.warmup_steps = 0
    assert float(schedule(0)) == pytest.approx(0.3)


def test_a_cosine_is_saved_with_its_last_step():
    schedule = Cosine(0.3, last_step=50, warmup_steps=10)
    schedule.last_step = 40
    again = Cosine.from_config(schedule.get_config())
    assert again.get_config() == {"learning_rate": 0.3, "last_step": 40, "warmup_steps": 10}
    assert float(again(40)) == 0.0
