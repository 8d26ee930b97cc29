"""Keras cells and user-defined cells, wrapped in the package's cell interface."""

import extract
import keras
import modes
import numpy as np
import pytest
import steps
import tensorflow as tf
from keras import ops

from keras_bahdanau.layers.cells.keras_cell import CELLS, KerasCell

RANDOM = np.random.default_rng(7)
UNITS = 3
INPUTS = RANDOM.normal(size=(2, 4)).astype("float32")
CONTEXT = RANDOM.normal(size=(2, 5)).astype("float32")
STATES = tuple(RANDOM.normal(size=(2, 2, UNITS)).astype("float32"))


@keras.saving.register_keras_serializable(package="test_keras_cell")
class Averaging(keras.layers.Layer):
    """A user-defined cell with a running mean as its state; its output is twice as wide."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units
        self.output_size = 2 * units
        self.dense = keras.layers.Dense(units)

    def build(self, inputs_shape):
        self.dense.build(inputs_shape)

    def call(self, inputs, states):
        mean = (states[0] + self.dense(inputs)) / 2
        return ops.concatenate([mean, -mean], axis=-1), mean

    def get_config(self):
        return {**super().get_config(), "units": self.units}


PATTERNS = {
    "simple": lambda: keras.layers.SimpleRNNCell(UNITS),
    "gru": lambda: keras.layers.GRUCell(UNITS),
    "lstm": lambda: keras.layers.LSTMCell(UNITS),
    "stacked": lambda: keras.layers.StackedRNNCells([keras.layers.GRUCell(UNITS)] * 1),
    "a user's": lambda: Averaging(UNITS),
}
every_cell = pytest.mark.parametrize("name", PATTERNS)


def built(name, context=True, **kwargs):
    pattern = PATTERNS[name]()
    width = getattr(pattern, "output_size", UNITS)
    cell = CELLS.get(pattern, width, **kwargs)
    cell.build(INPUTS.shape, context_shape=CONTEXT.shape if context else None)
    return extract.randomize(cell), STATES[: len(cell.state_sizes)]


@every_cell
def test_the_context_stands_behind_the_inputs(run, name):
    cell, states = built(name)
    output, after = run(cell, INPUTS, states, CONTEXT)
    both = np.concatenate([INPUTS, CONTEXT], axis=-1)
    expected, expected_after = run(cell.cell, both, [*states])
    np.testing.assert_allclose(output, expected, atol=1e-6)
    expected_after = tf.nest.flatten(expected_after)
    assert isinstance(after, tuple) and len(after) == len(expected_after)
    for new, other in zip(after, expected_after, strict=True):
        np.testing.assert_allclose(new, other, atol=1e-6)


@every_cell
def test_without_a_context_there_are_the_inputs_alone(run, name):
    cell, states = built(name, context=False)
    output, _ = run(cell, INPUTS, states)
    np.testing.assert_allclose(output, run(cell.cell, INPUTS, [*states])[0], atol=1e-6)


@pytest.mark.few(2)
@every_cell
def test_a_beam_axis_is_as_good_as_separate_rows(run, name):
    cell, states = built(name)
    beamed = tuple(np.stack([state, -state], axis=1) for state in states)
    twice = [np.stack([array, array], axis=1) for array in (INPUTS, CONTEXT)]
    beams = tf.nest.flatten(run(cell, twice[0], beamed, twice[1]))
    for index, sign in enumerate([1, -1]):
        rows = run(cell, INPUTS, tuple(sign * state for state in states), CONTEXT)
        for beam, row in zip(beams, tf.nest.flatten(rows), strict=True):
            np.testing.assert_allclose(beam[:, index], row, atol=1e-6)


@every_cell
def test_every_weight_gets_a_gradient(name):
    cell, states = built(name)
    with tf.GradientTape() as tape:
        output, after = cell(INPUTS, states, CONTEXT)
        loss = sum(tf.reduce_sum(tf.sin(3 * tensor)) for tensor in (output, *after))
    gradients = tape.gradient(loss, cell.trainable_variables)
    assert gradients and all(np.any(gradient) for gradient in gradients)


@pytest.mark.few(1)
@every_cell
def test_a_phone_takes_the_same_step_with_built_in_operations(name):
    cell, states = built(name)
    inputs = INPUTS[:1], tuple(state[:1] for state in states), CONTEXT[:1]
    found, expected = steps.litert(cell, *inputs), modes.eager(cell, *inputs)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@every_cell
def test_its_config_round_trips(name):
    cell = KerasCell(PATTERNS[name](), name="mine")
    assert KerasCell.from_config(cell.get_config()).get_config() == cell.get_config()
    cell.build(INPUTS.shape)
    assert not KerasCell.from_config(cell.get_config()).cell.built


def test_a_user_says_what_the_cell_says():
    cell, _ = built("a user's")
    assert (cell.state_sizes, cell.output_units) == ((UNITS,), 2 * UNITS)


@pytest.mark.parametrize("name", ["lstm", "a user's"])
def test_in_half_precision_the_states_keep_their_dtype(name):
    cell, states = built(name, dtype="mixed_bfloat16")
    cell.cell.dtype_policy = "float32"  # as if the wrapped cell was created without a policy
    output, after = modes.eager(cell, INPUTS, states, CONTEXT)
    assert {tensor.dtype.name for tensor in (output, *after)} == {"bfloat16"}


def test_each_new_cell_has_weights_of_its_own():
    pattern = keras.layers.GRUCell(UNITS)
    one, other = (CELLS.get(pattern, UNITS) for _ in range(2))
    one.build(INPUTS.shape)
    other.build(CONTEXT.shape)
    assert one.weights[0].shape != other.weights[0].shape
    assert not pattern.built


@pytest.mark.parametrize("stranger", [None, 3, keras.layers.GRUCell, keras.layers.Dense(3)])
def test_it_must_be_a_keras_cell(stranger):
    with pytest.raises(TypeError, match="`cell` must be a Keras layer with a `state_size`"):
        CELLS.get(stranger, UNITS)


def test_several_states_must_lie_flat():
    cells = [keras.layers.LSTMCell(UNITS), keras.layers.LSTMCell(UNITS)]
    with pytest.raises(ValueError, match="`state_size`.*positive integer"):
        KerasCell(keras.layers.StackedRNNCells(cells))


@pytest.mark.parametrize("name", ["dropout", "recurrent_dropout"])
def test_dropout_of_keras_is_refused(name):
    with pytest.raises(ValueError, match=f"must not use dropout.*{name}=0.5"):
        KerasCell(keras.layers.GRUCell(UNITS, **{name: 0.5}))


def test_our_dropout_is_refused():
    with pytest.raises(ValueError, match="`recurrent_dropout` must be 0 for a Keras cell"):
        CELLS.get(keras.layers.GRUCell(UNITS), UNITS, recurrent_dropout=0.5)


def test_the_units_must_be_those_of_the_cell():
    with pytest.raises(ValueError, match="`units` must equal the width.*, 3. Received: units=4"):
        CELLS.get(keras.layers.GRUCell(UNITS), 4)
