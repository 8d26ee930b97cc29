"""The bridges: a projection of the summary, by its equation; zeros; and the summary itself."""

import json

import extract
import keras
import modes
import numpy as np
import pytest
import steps
import tensorflow as tf

from keras_bahdanau.layers import SelfAttentionCell
from keras_bahdanau.layers.bridge import IdentityBridge, StateBridge, ZeroBridge
from keras_bahdanau.layers.registry import BRIDGES

SUMMARY = np.random.default_rng(4).normal(size=(2, 5)).astype("float32")
SIZES = [(3,), (3, 3), ((3,),), ((3,), (2, 4)), ((4,), (4,))]

every_structure = pytest.mark.parametrize("sizes", SIZES, ids=str)
# bridges that accept a summary of any width
every_bridge = pytest.mark.parametrize("name", ["summary", "zeros"])


def built(name, sizes, **kwargs):
    bridge = BRIDGES[name](sizes, **kwargs)
    bridge.build(SUMMARY.shape)
    return extract.randomize(bridge)


@every_structure
def test_each_first_state_is_the_tanh_of_a_projection(run, sizes):
    bridge = built("summary", sizes)
    kernel, bias = extract.arrays(bridge)
    states = tf.nest.flatten(run(bridge, SUMMARY))
    expected = np.tanh(SUMMARY @ kernel + bias)
    np.testing.assert_allclose(np.concatenate(states, axis=-1), expected, atol=1e-6)


@every_structure
def test_zeros_are_zeros(run, sizes):
    assert not any(map(np.any, tf.nest.flatten(run(ZeroBridge(sizes), SUMMARY))))


@every_structure
@every_bridge
def test_the_states_have_the_structure_of_the_sizes(run, name, sizes):
    states = run(built(name, sizes), SUMMARY)
    tf.nest.assert_same_structure(states, sizes)
    assert tf.nest.map_structure(lambda state: state.shape, states) == tf.nest.map_structure(
        lambda size: (2, size), sizes
    )


@every_structure
@every_bridge
def test_shapes_are_known_beforehand(name, sizes):
    found = BRIDGES[name](sizes, dtype="mixed_bfloat16")(keras.KerasTensor((None, 5)))
    tf.nest.assert_same_structure(found, sizes)
    for symbol, size in zip(tf.nest.flatten(found), tf.nest.flatten(sizes), strict=True):
        assert (symbol.shape, symbol.dtype) == ((None, size), "bfloat16")


@every_bridge
def test_half_precision_keeps_to_its_dtype(name):
    bridge = built(name, ((3,), (2, 4)), dtype="mixed_bfloat16")
    states = tf.nest.flatten(modes.eager(bridge, SUMMARY))
    assert {state.dtype.name for state in states} == {"bfloat16"}


@pytest.mark.few(1)
@every_bridge
def test_a_phone_computes_the_same_with_built_in_operations(name):
    bridge = built(name, ((3,), (2, 4)))
    found, expected = steps.litert(bridge, SUMMARY[:1]), modes.eager(bridge, SUMMARY[:1])
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@every_bridge
def test_its_config_round_trips_through_json(name):
    bridge = BRIDGES[name](((3,), (2, 4)), name="mine")
    copy = type(bridge).from_config(json.loads(json.dumps(bridge.get_config())))
    assert copy.sizes == ((3,), (2, 4))
    assert copy.get_config() == bridge.get_config()


@every_bridge
@pytest.mark.parametrize("sizes", [(0,), ((3,), (3, 0)), ("3",)])
def test_sizes_must_be_positive_integers(name, sizes):
    with pytest.raises(ValueError, match="must be a positive integer. Received: sizes="):
        BRIDGES[name](sizes)


@every_bridge
@pytest.mark.parametrize("sizes", [3, (), ((3,), ())])
def test_sizes_must_be_a_structure(name, sizes):
    with pytest.raises(ValueError, match="must be a tuple of positive integers or of such"):
        BRIDGES[name](sizes)


def test_the_buffers_of_a_long_window_have_first_states():
    keys, values, written = SelfAttentionCell(256, length=1000).state_sizes
    states = ZeroBridge((keys, values, written))(np.zeros((2, 3), "float32"))
    assert [state.shape for state in states] == [(2, 256_000), (2, 256_000), (2, 1000)]
    with pytest.raises(ValueError, match="at most 134217728. Received: length=2000, units=100000"):
        SelfAttentionCell(100_000, length=2000)


def test_every_weight_gets_a_gradient():
    bridge = built("summary", ((3,), (2, 4)))
    with tf.GradientTape() as tape:
        loss = sum(map(tf.reduce_sum, tf.nest.flatten(bridge(SUMMARY))))
    assert all(map(np.any, tape.gradient(loss, bridge.trainable_variables)))


def test_a_bridge_of_zeros_learns_nothing():
    assert not built("zeros", (3,)).weights


@every_structure
def test_the_identity_is_the_summary_in_the_structure_of_the_sizes(run, sizes):
    width = sum(tf.nest.flatten(sizes))
    summary = np.arange(2.0 * width, dtype="float32").reshape(2, width)
    bridge = IdentityBridge(sizes)
    states = run(bridge, summary)
    tf.nest.assert_same_structure(states, sizes)
    assert tf.nest.flatten(sizes) == [state.shape[-1] for state in tf.nest.flatten(states)]
    np.testing.assert_array_equal(np.concatenate(tf.nest.flatten(states), axis=-1), summary)
    assert not bridge.weights


def test_the_identity_needs_a_summary_as_wide_as_the_states():
    with pytest.raises(ValueError, match="together, 9. Received: summary_units=5"):
        IdentityBridge(((3,), (2, 4))).build(SUMMARY.shape)


def test_the_registry_has_all():
    classes = {"summary": StateBridge, "zeros": ZeroBridge, "identity": IdentityBridge}
    assert BRIDGES == classes
