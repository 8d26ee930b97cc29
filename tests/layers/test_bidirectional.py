"""BidirectionalRNN reads each row from both of its ends, without padding."""

import json

import extract
import keras
import modes
import numpy as np
import pytest
import reference

from keras_bahdanau.layers.readers.recurrent import BidirectionalRNN, reverse_by_length

LENGTHS = np.array([4, 1, 3, 0], "int32")
MASK = np.arange(4) < LENGTHS[:, None]
INPUTS = np.random.default_rng(7).normal(size=(4, 4, 3)).astype("float32")


def built(cell, **kwargs):
    rnn = BidirectionalRNN(5, cell, **kwargs)
    rnn.build(INPUTS.shape)
    return extract.randomize(rnn)


def test_the_real_part_is_turned_around_and_padding_stays(run):
    rows = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 0, 0]])[..., None] * [1.0, 10.0]
    found = run(reverse_by_length, rows, np.array([3, 2, 0, 1], "int32"))
    expected = [[3, 2, 1], [5, 4, 6], [7, 8, 9], [1, 0, 0]]
    np.testing.assert_array_equal(found[..., 0], expected)
    np.testing.assert_array_equal(found[..., 1], 10 * np.array(expected))


@pytest.mark.few(1)
@modes.eager_is_slow
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_each_row_is_read_as_if_it_were_alone(run, cell):
    rnn = built(cell)
    found = run(rnn, INPUTS, LENGTHS)
    forward, backward = (
        extract.keras_cell(rnn.forward_layer),
        extract.keras_cell(rnn.backward_layer),
    )
    for row, length in enumerate(LENGTHS):
        if length:
            expected = reference.bidirectional(INPUTS[row, :length], forward, backward)
            np.testing.assert_allclose(found[row, :length], expected, atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("cell", ["gru", "gru-reset-before", "layer-norm-lstm"])
def test_padding_means_nothing(run, cell):
    rnn = built(cell)
    wide = np.pad(np.where(MASK[..., None], INPUTS, np.nan), ((0, 0), (0, 3), (0, 0)))
    found = run(rnn, wide.astype("float32"), LENGTHS)[:, :4]
    expected = run(rnn, INPUTS, LENGTHS)
    np.testing.assert_allclose(found[MASK], expected[MASK], atol=1e-6)


@modes.eager_is_slow
@pytest.mark.few(1)
@pytest.mark.parametrize("cell", ["gru", "lstm", "layer-norm-lstm", keras.layers.GRUCell(5)])
def test_a_graph_of_one_row_ends_with_its_last_real_step(run, cell):
    rnn = built(cell)
    expected = run(rnn, INPUTS, LENGTHS)
    weights = len(rnn.weights)
    rnn.stops_early = True
    wide = np.pad(INPUTS, ((0, 0), (0, 3), (0, 0)), constant_values=np.nan)
    found = run(lambda *inputs: rnn(*inputs), wide, LENGTHS)  # traced again
    np.testing.assert_allclose(found[:, :4][MASK], expected[MASK], atol=1e-6)
    np.testing.assert_array_equal(found[:, 4:], 0)  # no step has read NaN
    assert len(rnn.weights) == weights


def test_it_ends_with_the_last_forward_and_the_first_backward_state(run):
    rnn = built("gru")
    values = run(rnn, INPUTS, LENGTHS)
    last, backward = run(rnn.last, values, MASK), run(rnn.first_backward, values, MASK)
    for row, length in enumerate(LENGTHS[:3]):
        np.testing.assert_array_equal(last[row, :5], values[row, length - 1, :5])
        np.testing.assert_array_equal(last[row, 5:], values[row, 0, 5:])
        np.testing.assert_array_equal(backward[row], values[row, 0, 5:])
    assert not last[3].any() and not backward[3].any()


def test_each_direction_has_its_own_copy_of_a_keras_cell(run):
    pattern = keras.layers.LSTMCell(5)
    rnn = built(pattern)
    assert not pattern.built
    found = run(rnn, INPUTS, LENGTHS)
    forward, backward = (
        reference.LSTM(*extract.arrays(layer.cell.cell))
        for layer in (rnn.forward_layer, rnn.backward_layer)
    )
    expected = reference.bidirectional(INPUTS[2, :3], forward, backward)
    np.testing.assert_allclose(found[2, :3], expected, atol=1e-5)


@pytest.mark.parametrize(
    "cell",
    ["gru", "layer-norm-gru", keras.layers.GRUCell(5)],
    ids=["gru", "layer-norm-gru", "GRUCell"],
)
def test_its_config_round_trips(cell):
    rnn = BidirectionalRNN(5, cell)
    config = json.loads(json.dumps(rnn.get_config()))
    assert BidirectionalRNN.from_config(config).get_config() == rnn.get_config()


def test_recurrent_dropout_is_for_training_only(run):
    rnn = built("gru", recurrent_dropout=0.5)
    plain = run(rnn, INPUTS, LENGTHS)
    trained = run(lambda *inputs: rnn(*inputs, training=True), INPUTS, LENGTHS)
    forward, backward = slice(0, 5), slice(5, 10)
    np.testing.assert_allclose(trained[0, 0, forward], plain[0, 0, forward], atol=1e-6)
    assert not np.allclose(trained[0, 3, forward], plain[0, 3, forward])
    assert not np.allclose(trained[0, 0, backward], plain[0, 0, backward])


def test_it_runs_under_xla():
    rnn = built("gru")
    expected = modes.eager(rnn, INPUTS, LENGTHS)
    np.testing.assert_allclose(modes.xla(rnn, INPUTS, LENGTHS), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "`units`.*must be a positive integer. Received: units=0"),
        ({"units": 3, "cell": "rnn"}, "`cell` must be one of 'simple', .*Received: cell='rnn'"),
        ({"units": 3, "recurrent_dropout": 1}, r"`recurrent_dropout`.* must be in \[0, 1\)."),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        BidirectionalRNN(**arguments)
