"""GRUCell and LSTMCell: against the equations and against Keras' own cells."""

import extract
import keras
import numpy as np
import pytest

from keras_bahdanau.layers import GRUCell, LSTMCell
from keras_bahdanau.layers.cells import RecurrentCell, new_cell

RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(2, 4)).astype("float32")
STATES = tuple(RANDOM.normal(size=(2, 2, 3)).astype("float32"))
KERAS = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}


def built(kind):
    cell = new_cell(kind, 3)
    cell.build(INPUTS.shape)
    return extract.randomize(cell), STATES[: cell.state_count]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_step_is_that_of_the_equations(run, kind):
    cell, states = built(kind)
    found = run(cell, INPUTS, states)
    assert len(found) == len(states)
    for row in range(2):
        expected = extract.cell(cell)(INPUTS[row], tuple(state[row] for state in states))
        for new, oracle in zip(found, expected, strict=True):
            np.testing.assert_allclose(new[row], oracle, atol=1e-6)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_step_is_that_of_the_keras_cell_with_the_same_weights(run, kind):
    cell, states = built(kind)
    W, U, *biases = extract.cell(cell)
    theirs = KERAS[kind](3)
    theirs.build(INPUTS.shape)
    theirs.set_weights([W, U, np.squeeze(np.stack(biases))])
    _, expected = run(theirs, INPUTS, states)
    for new, other in zip(run(cell, INPUTS, states), expected, strict=True):
        np.testing.assert_allclose(new, other, atol=1e-6)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_projecting_all_inputs_beforehand_changes_nothing(run, kind):
    cell, states = built(kind)
    many = np.stack([INPUTS, -INPUTS], axis=1)

    def hoisted(inputs, states):
        projected = cell.project(inputs)
        return cell.step(projected[:, 1], cell.step(projected[:, 0], states))

    def plain(inputs, states):
        return cell(inputs[:, 1], cell(inputs[:, 0], states))

    found, expected = run(hoisted, many, states), run(plain, many, states)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_beam_axis_is_as_good_as_separate_rows(run, kind):
    cell, states = built(kind)
    beams = run(cell, INPUTS[:, None], tuple(state[:, None] for state in states))
    rows = run(cell, INPUTS, states)
    np.testing.assert_allclose(np.squeeze(beams, axis=2), rows, atol=1e-6)


def test_a_gru_whose_update_gate_is_open_keeps_its_state(run):
    cell, states = built("gru")
    cell.input_projection.bias.assign(np.repeat([100.0, 0.0, 0.0], 3))
    np.testing.assert_allclose(run(cell, INPUTS, states), states, atol=1e-6)


def test_an_lstm_without_weights_forgets_a_quarter(run):
    cell = LSTMCell(3)
    cell.build(INPUTS.shape)
    cell.set_weights([np.zeros_like(weight) for weight in cell.get_weights()])
    _, c = run(cell, INPUTS, STATES)
    np.testing.assert_allclose(c, STATES[1] / (1 + np.exp(-1)), atol=1e-6)


def test_the_number_of_states_is_told():
    assert (GRUCell(3).state_count, LSTMCell(3).state_count) == (1, 2)


@pytest.mark.parametrize("cell", [GRUCell, LSTMCell])
def test_units_must_be_a_positive_integer(cell):
    with pytest.raises(ValueError, match=r"`units`.*positive integer. Received: units=0"):
        cell(0)


def test_the_kind_must_be_known():
    with pytest.raises(ValueError, match="`cell` must be one of 'gru', 'lstm'. Received: cell='x'"):
        new_cell("x", 3)


def test_a_cell_without_a_step_says_so():
    with pytest.raises(NotImplementedError):
        RecurrentCell(3).step(None, None)
