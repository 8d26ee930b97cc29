"""The readouts match their equations."""

import extract
import numpy as np
import pytest

from keras_bahdanau.layers import AttentionalReadout, MaxoutReadout, PlainReadout, Readout
from keras_bahdanau.layers.registry import READOUTS

RANDOM = np.random.default_rng(5)
STATE, CONTEXT, EMBEDDED = (
    RANDOM.normal(size=(2, 4, width)).astype("float32") for width in (3, 6, 5)
)


def built(kind=Readout, units=7, **kwargs):
    readout = kind(units, **kwargs)
    readout.build(STATE.shape, CONTEXT.shape, EMBEDDED.shape)
    return extract.randomize(readout)


def test_it_is_the_tanh_of_three_projections(run):
    readout = built()
    kernel, bias = extract.arrays(readout)
    expected = np.tanh(STATE @ kernel[:3] + CONTEXT @ kernel[3:9] + EMBEDDED @ kernel[9:] + bias)
    found = run(readout, STATE, CONTEXT, EMBEDDED)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_maxout_takes_the_larger_of_two_neighbours(run):
    readout = built(MaxoutReadout)
    (kernel,) = extract.arrays(readout)
    inputs = np.concatenate([STATE, CONTEXT, EMBEDDED], axis=-1).astype("float64")
    pieces = inputs @ kernel
    expected = np.stack([pieces[..., 2 * j : 2 * j + 2].max(axis=-1) for j in range(7)], axis=-1)
    np.testing.assert_allclose(run(readout, STATE, CONTEXT, EMBEDDED), expected, atol=1e-5)


def test_attentional_is_luongs_vector(run):
    readout = built(AttentionalReadout)
    (kernel,) = extract.arrays(readout)
    expected = np.tanh(np.concatenate([CONTEXT, STATE], axis=-1).astype("float64") @ kernel)
    np.testing.assert_allclose(run(readout, STATE, CONTEXT, EMBEDDED), expected, atol=1e-6)


def test_plain_is_what_the_cell_says(run):
    readout = built(PlainReadout, units=3)
    np.testing.assert_array_equal(run(readout, STATE, CONTEXT, EMBEDDED), STATE)


def test_plain_must_be_as_wide_as_the_state():
    with pytest.raises(ValueError, match="Received: readout_units=7, units=3. Make them equal"):
        built(PlainReadout)


@pytest.mark.parametrize("kind", READOUTS.values())
def test_one_step_equals_its_place_among_all_steps(run, kind):
    readout = built(kind, units=3)
    whole = run(readout, STATE, CONTEXT, EMBEDDED)
    step = run(readout, STATE[:, 2], CONTEXT[:, 2], EMBEDDED[:, 2])
    np.testing.assert_allclose(step, whole[:, 2], atol=1e-6)


@pytest.mark.parametrize("kind", READOUTS.values())
def test_it_is_dropped_in_training_only(run, kind):
    readout = built(kind, units=3, dropout=0.5)
    plain = run(built(kind, units=3), STATE, CONTEXT, EMBEDDED)
    np.testing.assert_array_equal(run(readout, STATE, CONTEXT, EMBEDDED), plain)
    found = run(lambda *args: readout(*args, training=True), STATE, CONTEXT, EMBEDDED)
    kept = found != 0
    assert 0.2 < np.mean(kept) < 0.8
    np.testing.assert_allclose(found[kept], 2 * plain[kept], rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "`units`.*must be a positive integer. Received: units=0"),
        ({"units": 3, "dropout": 1.0}, r"`dropout`.*must be in \[0, 1\). Received: dropout=1.0"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        Readout(**arguments)
