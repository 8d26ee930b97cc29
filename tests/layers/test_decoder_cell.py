"""DecoderCell: one target step against the equations, with and without a beam."""

import extract
import numpy as np
import pytest
import reference
import tensorflow as tf

from keras_bahdanau.layers import BahdanauAttention, DecoderCell, DecoderState, Memory

RANDOM = np.random.default_rng(8)
LENGTHS = (4, 2, 3)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
SUMMARY = RANDOM.normal(size=(3, 6)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
INPUTS = RANDOM.normal(size=(3, 5)).astype("float32")
STATES = RANDOM.normal(size=(2, 3, 7)).astype("float32")
MEMORY = (VALUES, MASK, SUMMARY)


def built(kind="gru", dropout=0.0):
    cell = DecoderCell(7, BahdanauAttention(3, dropout), kind)
    cell.build(INPUTS.shape, memory_shape=Memory(VALUES.shape, None, SUMMARY.shape))
    return extract.randomize(cell)


def state_of(cell):
    """A state in the middle of a sentence, as if another context had gone before."""
    states = tuple(STATES[: cell.cell.state_count])
    return DecoderState(states, np.ones((3, 6), "float32"), np.ones((3, 4), "float32"))


def step(cell):
    return lambda inputs, state, memory: cell(inputs, state, cell.prepare(Memory(*memory)))


def oracle(cell):
    weights = extract.decoder_cell(cell)
    return reference.Decoder(embedding=None, readout=None, output=None, **weights)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_step_attends_then_moves_the_state(run, kind):
    cell = built(kind)
    state = state_of(cell)
    found = run(step(cell), INPUTS, state, MEMORY)
    for row, length in enumerate(LENGTHS):
        states, context, alpha = reference.decoder_step(
            INPUTS[row], [s[row] for s in state.cell], VALUES[row, :length], oracle(cell)
        )
        for new, expected in zip(found.cell, states, strict=True):
            np.testing.assert_allclose(new[row], expected, atol=1e-5)
        np.testing.assert_allclose(found.context[row], context, atol=1e-5)
        np.testing.assert_allclose(found.weights[row, :length], alpha, atol=1e-5)
        assert not found.weights[row, length:].any()


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_the_first_state_comes_from_the_summary_and_has_attended_to_nothing(run, kind):
    cell = built(kind)
    found = run(lambda *memory: cell.first_state(Memory(*memory)), *MEMORY)
    for row in range(3):
        expected = reference.first_state(SUMMARY[row], oracle(cell))
        for state, one in zip(found.cell, expected, strict=True):
            np.testing.assert_allclose(state[row], one, atol=1e-6)
    assert found.context.shape == (3, 6) and not found.context.any()
    assert found.weights.shape == (3, 4) and not found.weights.any()


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_step_keeps_the_structure_of_the_state(run, kind):
    cell = built(kind)

    def two(inputs, *memory):
        memory = cell.prepare(Memory(*memory))
        state = cell.first_state(memory)
        return state, cell(inputs, state, memory)

    before, after = run(two, INPUTS, *MEMORY)
    tf.nest.assert_same_structure(before, after)
    for one, other in zip(tf.nest.flatten(before), tf.nest.flatten(after), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_beam_is_as_good_as_separate_rows(run, kind):
    cell = built(kind)
    inputs = np.stack([INPUTS, -INPUTS], axis=1)
    state = tf.nest.map_structure(lambda leaf: np.stack([leaf, 0.5 * leaf], axis=1), state_of(cell))
    found = run(step(cell), inputs, state, MEMORY)
    for beam in range(2):
        alone = tf.nest.map_structure(lambda leaf, beam=beam: leaf[:, beam], state)
        expected = run(step(cell), inputs[:, beam], alone, MEMORY)
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(one[:, beam], other, atol=1e-6)


def test_attention_is_dropped_in_training_only():
    cell = built(dropout=0.5)
    memory = cell.prepare(Memory(*map(tf.constant, MEMORY)))
    state = cell.first_state(memory)
    inputs = tf.constant(INPUTS)
    plain = cell(inputs, state, memory).weights.numpy()
    np.testing.assert_allclose(plain.sum(axis=-1), 1, atol=1e-6)
    trained = [cell(inputs, state, memory, training=True).weights.numpy() for _ in range(5)]
    assert any((weights[MASK] == 0).any() for weights in trained)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": -1}, "`units`.*must be a positive integer. Received: units=-1"),
        ({"units": 3, "cell": "rnn"}, "`cell` must be one of 'gru', 'lstm'. Received: cell='rnn'"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        DecoderCell(attention=BahdanauAttention(3), **arguments)
