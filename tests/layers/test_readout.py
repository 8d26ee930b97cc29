"""Readout against the equation."""

import extract
import numpy as np
import pytest

from keras_bahdanau.layers import Readout

RANDOM = np.random.default_rng(5)
STATE, CONTEXT, EMBEDDED = (
    RANDOM.normal(size=(2, 4, width)).astype("float32") for width in (3, 6, 5)
)


def built(**kwargs):
    readout = Readout(7, **kwargs)
    readout.build(STATE.shape, CONTEXT.shape, EMBEDDED.shape)
    return extract.randomize(readout)


def test_it_is_the_tanh_of_three_projections(run):
    readout = built()
    kernel, bias = extract.arrays(readout)
    expected = np.tanh(STATE @ kernel[:3] + CONTEXT @ kernel[3:9] + EMBEDDED @ kernel[9:] + bias)
    found = run(readout, STATE, CONTEXT, EMBEDDED)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_one_step_equals_its_place_among_all_steps(run):
    readout = built()
    whole = run(readout, STATE, CONTEXT, EMBEDDED)
    step = run(readout, STATE[:, 2], CONTEXT[:, 2], EMBEDDED[:, 2])
    np.testing.assert_allclose(step, whole[:, 2], atol=1e-6)


def test_it_is_dropped_in_training_only(run):
    readout, plain = built(dropout=0.5), run(built(), STATE, CONTEXT, EMBEDDED)
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
