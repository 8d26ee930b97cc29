"""StateBridge against the equation."""

import extract
import numpy as np
import pytest

from keras_bahdanau.layers import StateBridge

SUMMARY = np.random.default_rng(4).normal(size=(2, 5)).astype("float32")


@pytest.mark.parametrize("count", [1, 2])
def test_each_first_state_is_the_tanh_of_a_projection(run, count):
    bridge = StateBridge(3, count)
    bridge.build(SUMMARY.shape)
    kernel, bias = extract.arrays(extract.randomize(bridge))
    states = run(bridge, SUMMARY)
    assert isinstance(states, tuple) and len(states) == count
    expected = np.tanh(SUMMARY @ kernel + bias)
    np.testing.assert_allclose(np.concatenate(states, axis=-1), expected, atol=1e-6)


@pytest.mark.parametrize("arguments", [{"units": 0}, {"units": 3, "count": 0}])
def test_sizes_must_be_positive_integers(arguments):
    with pytest.raises(ValueError, match="must be a positive integer. Received: .*=0"):
        StateBridge(**arguments)
