"""BidirectionalRNN: each row read from both of its own ends."""

import extract
import modes
import numpy as np
import pytest
import reference

from keras_bahdanau.layers.bidirectional import BidirectionalRNN, reverse_by_length

LENGTHS = np.array([4, 1, 3, 0], "int32")
INPUTS = np.random.default_rng(7).normal(size=(4, 4, 3)).astype("float32")


def built(cell):
    rnn = BidirectionalRNN(5, cell)
    rnn.build(INPUTS.shape)
    return extract.randomize(rnn)


def test_the_real_part_is_turned_around_and_padding_stays(run):
    rows = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 0, 0]])[..., None] * [1.0, 10.0]
    found = run(reverse_by_length, rows, np.array([3, 2, 0, 1], "int32"))
    expected = [[3, 2, 1], [5, 4, 6], [7, 8, 9], [1, 0, 0]]
    np.testing.assert_array_equal(found[..., 0], expected)
    np.testing.assert_array_equal(found[..., 1], 10 * np.array(expected))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_each_row_is_read_as_if_it_were_alone(run, cell):
    rnn = built(cell)
    found = run(rnn, INPUTS, LENGTHS)
    forward, backward = extract.keras_cell(rnn.forward), extract.keras_cell(rnn.backward)
    for row, length in enumerate(LENGTHS):
        if length:
            expected = reference.bidirectional(INPUTS[row, :length], forward, backward)
            np.testing.assert_allclose(found[row, :length], expected, atol=1e-5)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_padding_means_nothing(run, cell):
    rnn = built(cell)
    real = (np.arange(4) < LENGTHS[:, None])[..., None]
    wide = np.pad(np.where(real, INPUTS, 1e3), ((0, 0), (0, 3), (0, 0)), constant_values=-9)
    found = run(rnn, wide.astype("float32"), LENGTHS)[:, :4]
    expected = run(rnn, INPUTS, LENGTHS)
    np.testing.assert_allclose(found * real, expected * real, atol=1e-6)


def test_it_runs_under_xla():
    rnn = built("gru")
    expected = modes.eager(rnn, INPUTS, LENGTHS)
    np.testing.assert_allclose(modes.xla(rnn, INPUTS, LENGTHS), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "`units`.*must be a positive integer. Received: units=0"),
        ({"units": 3, "cell": "rnn"}, "`cell` must be one of 'gru', 'lstm'. Received: cell='rnn'"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        BidirectionalRNN(**arguments)
