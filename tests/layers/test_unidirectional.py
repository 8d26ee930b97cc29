"""UnidirectionalRNN reads from left to right and ignores padding on the right."""

import json

import extract
import keras
import numpy as np
import pytest

from keras_bahdanau.layers.readers.recurrent import UnidirectionalRNN

LENGTHS = np.array([4, 1, 0], "int32")
MASK = np.arange(4) < LENGTHS[:, None]
INPUTS = np.random.default_rng(7).normal(size=(3, 4, 3)).astype("float32")


def built(cell):
    rnn = UnidirectionalRNN(5, cell)
    rnn.build(INPUTS.shape)
    return extract.randomize(rnn)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_it_reads_from_left_to_right(run, cell):
    rnn = built(cell)
    found = run(rnn, INPUTS, LENGTHS)
    reader = extract.keras_cell(rnn.forward_layer)
    state = reader.first()
    for x, said in zip(INPUTS[0], found[0], strict=True):
        state = reader(x, state)
        np.testing.assert_allclose(said, state[0], atol=1e-5)


@pytest.mark.parametrize("cell", ["simple", "layer-norm-gru"])
def test_padding_means_nothing(run, cell):
    rnn = built(cell)
    wide = np.pad(np.where(MASK[..., None], INPUTS, np.nan), ((0, 0), (0, 3), (0, 0)))
    found = run(rnn, wide.astype("float32"), LENGTHS)[:, :4]
    np.testing.assert_allclose(found[MASK], run(rnn, INPUTS, LENGTHS)[MASK], atol=1e-6)


def test_it_ends_with_the_state_at_the_last_token(run):
    rnn = built("gru")
    values = run(rnn, INPUTS, LENGTHS)
    last = run(rnn.last, values, MASK)
    np.testing.assert_array_equal(last, [values[0, 3], values[1, 0], np.zeros(5)])


def test_its_config_round_trips():
    rnn = UnidirectionalRNN(5, keras.layers.GRUCell(5), dtype="mixed_float16")
    config = json.loads(json.dumps(rnn.get_config()))
    assert UnidirectionalRNN.from_config(config).get_config() == rnn.get_config()
