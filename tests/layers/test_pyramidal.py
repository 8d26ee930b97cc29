"""PyramidalRNN reads pairs of steps from both ends."""

import json

import extract
import modes
import numpy as np
import pytest
import reference

from keras_bahdanau import layers, models
from keras_bahdanau.layers import PyramidalRNN

LENGTHS = np.array([5, 4, 1, 0], "int32")
INPUTS = np.random.default_rng(7).normal(size=(4, 5, 3)).astype("float32")


def built(cell="gru"):
    rnn = PyramidalRNN(4, cell)
    rnn.build(INPUTS.shape)
    return extract.randomize(rnn)


@pytest.mark.parametrize("cell", ["gru", pytest.param("lstm", marks=pytest.mark.slow)])
def test_it_reads_pairs_of_steps(run, cell):
    rnn = built(cell)
    found = run(rnn, INPUTS, LENGTHS)
    assert found.shape == (4, 3, 8)
    cells = extract.keras_cell(rnn.forward_layer), extract.keras_cell(rnn.backward_layer)
    for row, length in enumerate(LENGTHS[:3]):
        steps = np.zeros((length + length % 2, 3))
        steps[:length] = INPUTS[row, :length]
        expected = reference.bidirectional(steps.reshape(-1, 6), *cells)
        np.testing.assert_allclose(found[row, : len(expected)], expected, atol=1e-5)


def test_padding_means_nothing(run):
    rnn, real = built(), np.arange(5) < LENGTHS[:, None]
    expected = run(rnn, INPUTS, LENGTHS)
    for more in (0, 1, 2):
        wide = np.pad(np.where(real[..., None], INPUTS, np.nan), ((0, 0), (0, more), (0, 0)))
        found = run(rnn, wide.astype("float32"), LENGTHS)
        assert found.shape[1] == (5 + more + 1) // 2
        pairs = np.arange(3) < (LENGTHS[:, None] + 1) // 2
        np.testing.assert_allclose(found[:, :3][pairs], expected[pairs], atol=1e-6)


def test_an_encoder_of_three_floors_reduces_the_time_by_four(run):
    front_end = layers.FrameProjection(2, 3)
    encoder = models.Encoder(
        front_end=front_end, units=4, kind="pyramidal", depth=3, summary="backward"
    )
    assert [type(reader) for reader in encoder.readers] == [
        layers.BidirectionalRNN,
        PyramidalRNN,
        PyramidalRNN,
    ]
    assert encoder.reduction == 4
    lengths = np.array([9, 8, 5, 4, 1, 0], "int32")
    source = np.random.default_rng(0).normal(size=(6, 9, 2)).astype("float32")
    memory = modes.eager(encoder, (source, lengths))
    assert memory.values.shape == (6, 3, 8)
    np.testing.assert_array_equal(memory.mask.sum(axis=1), [3, 2, 2, 1, 1, 0])
    assert not memory.values[~memory.mask].any() and not memory.summary[5].any()
    alone = modes.eager(encoder, (source[2:3, :5], lengths[2:3]))
    np.testing.assert_allclose(memory.values[2, :2], alone.values[0], atol=1e-6)
    np.testing.assert_allclose(memory.summary[2], alone.summary[0], atol=1e-6)


@pytest.mark.slow
def test_it_runs_under_xla():
    rnn = built()
    expected = modes.eager(rnn, INPUTS, LENGTHS)
    np.testing.assert_allclose(modes.xla(rnn, INPUTS, LENGTHS), expected, atol=1e-6)


def test_its_config_round_trips():
    rnn = PyramidalRNN(5, "lstm")
    config = json.loads(json.dumps(rnn.get_config()))
    assert PyramidalRNN.from_config(config).get_config() == rnn.get_config()
    assert rnn.compute_output_shape((2, 5, 3)) == (2, 3, 10)
