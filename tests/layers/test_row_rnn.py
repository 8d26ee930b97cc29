"""RowRNN reads each row of a grid from both of its ends, with an initial state per row."""

import extract
import numpy as np
import pytest

from keras_bahdanau.layers import ImagePatches, Pixels, RowRNN, TokenEmbedding
from keras_bahdanau.models import Encoder

ROWS, COLUMNS, UNITS = 3, 4, 2
CELLS = np.random.default_rng(0).normal(size=(3, COLUMNS * ROWS, 5)).astype("float32")
LENGTHS = np.array([12, 7, 0], "int32")  # with 7 cells, the rows have 3, 2 and 2
MASK = np.arange(COLUMNS * ROWS) < LENGTHS[:, np.newaxis]


@pytest.fixture(scope="module")
def layer():
    layer = RowRNN(UNITS, grid_height=ROWS)
    layer.build((None, None, 5))
    return extract.randomize(layer)


def outputs(layer, state, inputs):
    """Return the outputs of a GRU with an initial state."""
    cell, found = extract.keras_cell(layer), []
    for x in inputs:
        (state,) = cell(x, (state,))
        found.append(state)
    return np.reshape(found, (-1, UNITS))


@pytest.mark.parametrize("image", [0, 1])
def test_each_row_is_read_as_if_it_were_alone(run, layer, image):
    values = run(layer, CELLS, LENGTHS)[image]
    first, last = (np.float64(states[0]) for states in layer.initial_states)
    for row in range(ROWS):
        cells = CELLS[image, : LENGTHS[image]][row::ROWS]
        forward = outputs(layer.forward_layer, first[row], cells)
        backward = outputs(layer.backward_layer, last[row], cells[::-1])[::-1]
        expected = np.concatenate([forward, backward], axis=1)
        np.testing.assert_allclose(values[: LENGTHS[image]][row::ROWS], expected, atol=1e-5)


def test_it_ends_with_the_mean_of_what_the_rows_end_with(run, layer):
    values = np.where(MASK[..., np.newaxis], run(layer, CELLS, LENGTHS), 0)
    last, backward = run(layer.last, values, MASK), run(layer.first_backward, values, MASK)
    ends = values[1, [6, 4, 5], :UNITS].mean(axis=0)  # of rows with 3, 2 and 2 cells
    begins = values[1, :3, UNITS:].mean(axis=0)
    np.testing.assert_allclose(last[1], np.concatenate([ends, begins]), atol=1e-6)
    np.testing.assert_allclose(backward[1], begins, atol=1e-6)
    assert not last[2].any() and not backward[2].any()


def test_an_encoder_tells_it_the_rows_of_its_front_end():
    front_end = ImagePatches(16, 1, 6, convolutions=(4, 4), cell=4)
    encoder = Encoder(front_end=front_end, units=3, kind="rows", depth=2, summary="last")
    assert [reader.grid_height for reader in encoder.readers] == [4, 4]
    memory = encoder(Pixels(np.zeros((1, 16, 12, 1), np.uint8), np.array([12], "int32")))
    assert memory.values.shape == (1, 12, 6) and memory.summary.shape == (1, 6)
    restored = Encoder.from_config(encoder.get_config())
    assert [reader.grid_height for reader in restored.readers] == [4, 4]
    text = Encoder(front_end=TokenEmbedding(7, 4), readers=[RowRNN(3), RowRNN(3, grid_height=2)])
    assert [reader.grid_height for reader in text.readers] == [1, 2]


def test_the_rows_are_a_positive_integer():
    with pytest.raises(ValueError, match="`grid_height`.* positive integer. Received: .*=0"):
        RowRNN(3, grid_height=0)
