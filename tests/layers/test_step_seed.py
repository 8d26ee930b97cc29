"""Random numbers in a loop over time differ at each step and each time that the loop runs."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_bahdanau.layers.recurrence import LoopDraws, StepDropout, StepSeedGenerator


def draws_of(generator, steps, draws=1):
    """Return the numbers in [0, 1) that a loop draws, `(steps, draws, 8)`."""
    loop, numbers = LoopDraws(), []
    for t in range(steps):
        with loop.at(ops.convert_to_tensor(t, "int32")):
            numbers.append([keras.random.uniform((8,), seed=generator) for _ in range(draws)])
    loop.end(steps)
    return np.asarray(numbers)


def test_each_step_and_each_draw_of_a_step_gets_numbers_of_its_own():
    numbers = draws_of(StepSeedGenerator(7), steps=3, draws=2).reshape(-1, 8)
    assert len(np.unique(numbers, axis=0)) == 6


def test_a_loop_draws_what_as_many_draws_outside_of_one_give():
    generator = StepSeedGenerator(7)
    expected = [keras.random.uniform((8,), seed=generator) for _ in range(5)]
    generator = StepSeedGenerator(7)
    found = [draws_of(generator, steps=3)[:, 0], draws_of(generator, steps=2)[:, 0]]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    np.testing.assert_array_equal(generator.state, [7, 5])


def test_a_step_that_fails_leaves_no_loop_open():
    with pytest.raises(RuntimeError, match="no"), LoopDraws().at(ops.zeros((), "int32")):
        raise RuntimeError("no")
    generator = StepSeedGenerator(7)
    keras.random.uniform((8,), seed=generator)
    np.testing.assert_array_equal(generator.state, [7, 1])


def test_dropout_keeps_the_mean_in_training_and_everything_in_inference():
    dropout = StepDropout(0.25)
    ones = np.ones((100, 100), "float32")
    np.testing.assert_array_equal(dropout(ones), ones)
    np.testing.assert_array_equal(StepDropout(0.0)(ones, training=True), ones)
    found = np.asarray(dropout(ones, training=True))
    np.testing.assert_allclose(np.unique(found), [0, 4 / 3], rtol=1e-6)
    np.testing.assert_allclose(found.mean(), 1, atol=0.05)


def test_the_config_of_dropout_round_trips():
    config = json.loads(json.dumps(StepDropout(0.25, name="d").get_config()))
    assert StepDropout.from_config(config).get_config() == config


def test_the_rate_must_be_in_range():
    with pytest.raises(ValueError, match=r"`rate`.* must be in \[0, 1\). Received: rate=1"):
        StepDropout(1)
