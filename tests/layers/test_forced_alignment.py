"""Attention with given weights."""

import json

import keras
import numpy as np
import pytest

from keras_bahdanau.layers import ForcedAlignment, Memory, ProjectedMemory

RANDOM = np.random.default_rng(23)
LENGTHS = (3, 2, 0)
VALUES = RANDOM.normal(size=(3, 3, 4)).astype("float32")
MASK = np.arange(3) < np.array(LENGTHS)[:, None]
GIVEN = RANDOM.uniform(size=(3, 2, 3)).astype("float32")
QUERY = np.zeros((3, 5), "float32")


def steps(beam=()):
    """Return a function of (values, mask, given): contexts and weights of three steps."""

    def function(values, mask, given):
        attention = ForcedAlignment()
        memory = Memory(values, mask, summary=(), last=(), task=())
        prepared = ProjectedMemory(memory, attention.prepare(memory), alignment=given)
        state, found = attention.initial_state(memory), []
        if beam:
            state = keras.ops.repeat(state[:, None], *beam, axis=1)
        for _ in range(3):
            query = np.zeros((3, *beam, 5), "float32")
            context, weights, _, state = attention.attend(query, prepared, state)
            found.append((context, weights))
        return found

    return function


def test_each_step_uses_its_row_and_the_last_one_stays(run):
    for step, (context, weights) in enumerate(run(steps(), VALUES, MASK, GIVEN)):
        for row, length in enumerate(LENGTHS):
            expected = np.where(MASK[row], GIVEN[row, min(step, 1)], 0)
            np.testing.assert_allclose(weights[row], expected, atol=1e-6)
            expected = GIVEN[row, min(step, 1), :length] @ VALUES[row, :length]
            np.testing.assert_allclose(context[row], expected, atol=1e-5)


def test_a_beam_uses_the_same_row(run):
    alone = run(steps(), VALUES, MASK, GIVEN)
    for one, beam in zip(alone, run(steps(beam=(2,)), VALUES, MASK, GIVEN), strict=True):
        for expected, found in zip(one, beam, strict=True):
            for n in range(2):
                np.testing.assert_allclose(found[:, n], expected, atol=1e-6)


def test_without_an_alignment_it_says_what_is_missing():
    with pytest.raises(ValueError, match="Received: no alignment. Pass weights"):
        ForcedAlignment()(QUERY, VALUES, mask=MASK)


def test_its_config_round_trips_through_json_and_it_is_registered():
    layer = ForcedAlignment(name="mine", dtype="mixed_bfloat16")
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    copy = keras.saving.deserialize_keras_object(config)
    assert isinstance(copy, ForcedAlignment) and copy.get_config() == layer.get_config()
    assert config["registered_name"] == "keras_bahdanau>ForcedAlignment"
