"""A stack of cells gives the same results as its cells, called one after the other."""

import extract
import keras
import modes
import numpy as np
import pytest
import steps
import tensorflow as tf

from keras_bahdanau.layers.cells.keras_cell import CELLS, KerasCell
from keras_bahdanau.layers.cells.stack import CellStack
from keras_bahdanau.layers.registry import from_config

RANDOM = np.random.default_rng(8)
UNITS = 3
INPUTS = RANDOM.normal(size=(2, 4)).astype("float32")
CONTEXT = RANDOM.normal(size=(2, 5)).astype("float32")
STATES = RANDOM.normal(size=(4, 2, UNITS)).astype("float32")


def built(residual=False, **kwargs):
    """Return a stack of a GRU, an LSTM and a Keras cell, bottom first, and its initial states."""
    pattern = keras.layers.SimpleRNNCell(UNITS)
    cells = [CELLS.get(kind, UNITS, **kwargs) for kind in ("gru", "lstm", pattern)]
    stack = CellStack(cells, residual=residual, **kwargs)
    stack.build(INPUTS.shape, context_shape=CONTEXT.shape)
    states = (STATES[0],), (STATES[1], STATES[2]), (STATES[3],)
    return extract.randomize(stack), states


def by_hand(stack, residual, inputs, states, context):
    gru, lstm, plain = stack.cells
    low, low_states = gru(inputs, states[0], context)
    middle, middle_states = lstm(low, states[1])
    if residual:
        middle = middle + low
    high, high_states = plain(middle, states[2])
    if residual:
        high = high + middle
    return high, (low_states, middle_states, high_states)


@pytest.mark.few(1)
@pytest.mark.parametrize("residual", [False, True])
def test_what_each_cell_says_is_the_input_of_the_next(run, residual):
    stack, states = built(residual)
    found = run(stack, INPUTS, states, CONTEXT)
    expected = run(lambda *args: by_hand(stack, residual, *args), INPUTS, states, CONTEXT)
    tf.nest.assert_same_structure(found, expected)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_stack_of_one_is_its_cell(run):
    cell = CELLS.get("lstm", UNITS)
    stack = CellStack([cell], residual=True)
    stack.build(INPUTS.shape, context_shape=CONTEXT.shape)
    states = tuple(STATES[:2])
    output, (after,) = run(stack, INPUTS, (states,), CONTEXT)
    expected, expected_after = run(cell, INPUTS, states, CONTEXT)
    np.testing.assert_array_equal(output, expected)
    np.testing.assert_array_equal(after, expected_after)


def test_the_sum_of_a_residual_layer_is_not_its_state(run):
    stack, states = built(residual=True)
    output, after = run(stack, INPUTS, states, CONTEXT)
    assert not np.allclose(output, after[-1][0])


def test_a_beam_axis_is_as_good_as_separate_rows(run):
    stack, states = built(residual=True)
    stacked = tf.nest.map_structure(lambda array: np.stack([array] * 2, axis=1), states)
    twice = [np.stack([array] * 2, axis=1) for array in (INPUTS, CONTEXT)]
    beams = run(stack, twice[0], stacked, twice[1])
    rows = run(stack, INPUTS, states, CONTEXT)
    for beam, row in zip(tf.nest.flatten(beams), tf.nest.flatten(rows), strict=True):
        np.testing.assert_allclose(beam, np.stack([row] * 2, axis=1), atol=1e-6)


def test_the_noise_of_a_layer_goes_to_its_cell(run):
    stack, states = built()
    dropout_masks = tuple((np.full((2, UNITS), share, "float32"),) for share in (0.0, 2.0)) + ((),)

    def step(inputs, states, context):
        return stack.step(stack.project(inputs), states, context, dropout_masks)[1]

    gru, lstm, _ = run(step, INPUTS, states, CONTEXT)
    low, lower = stack.cells[0], stack.cells[1]
    expected = modes.eager(
        lambda x, c: low.step(low.project(x), states[0], c, dropout_masks[0]), INPUTS, CONTEXT
    )
    np.testing.assert_allclose(gru, expected[1], atol=1e-6)
    projected = lower.project(expected[0])
    expected = modes.eager(lambda x: lower.step(x, states[1], None, dropout_masks[1]), projected)
    np.testing.assert_allclose(lstm, expected[1], atol=1e-6)


def test_every_weight_gets_a_gradient_and_a_path_of_its_own():
    stack, states = built(residual=True)
    with tf.GradientTape() as tape:
        loss = sum(
            tf.reduce_sum(tf.sin(3 * state))
            for state in tf.nest.flatten(stack(INPUTS, states, CONTEXT))
        )
    gradients = tape.gradient(loss, stack.trainable_variables)
    assert all(np.any(gradient) for gradient in gradients)
    assert len({weight.path for weight in stack.weights}) == len(stack.weights)


def test_a_phone_takes_the_same_step_with_built_in_operations():
    stack, states = built(residual=True)
    inputs = INPUTS[:1], tf.nest.map_structure(lambda state: state[:1], states), CONTEXT[:1]
    found, expected = steps.litert(stack, *inputs), modes.eager(stack, *inputs)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_half_precision_keeps_to_its_dtype():
    stack, states = built(residual=True, dtype="mixed_bfloat16")
    found = tf.nest.flatten(modes.eager(stack, INPUTS, states, CONTEXT))
    assert {tensor.dtype.name for tensor in found} == {"bfloat16"}


def test_its_config_round_trips():
    cells = [CELLS.get(kind, UNITS) for kind in ("gru", "lstm", keras.layers.GRUCell(UNITS))]
    config = CellStack(cells, residual=True, name="mine").get_config()
    copy = CellStack.from_config(config)
    assert copy.get_config() == config
    assert [type(cell) for cell in copy.cells] == [type(cell) for cell in cells]


def test_what_its_config_gives_is_left_to_build():
    stack, _ = built()
    assert not any(cell.built for cell in CellStack.from_config(stack.get_config()).cells)


@keras.saving.register_keras_serializable(package="test_stack")
class Holder(keras.Model):
    """A user-defined model that contains a stack."""

    def __init__(self, stack, **kwargs):
        super().__init__(**kwargs)
        self.stack = stack

    def build(self, inputs_shape):
        self.stack.build(inputs_shape)

    def call(self, inputs):
        states = tf.nest.map_structure(
            lambda size: tf.zeros((tf.shape(inputs)[0], size)), self.stack.state_sizes
        )
        return self.stack(inputs, states)[0]

    def get_config(self):
        stack = keras.saving.serialize_keras_object(self.stack)
        return {**super().get_config(), "stack": stack}

    @classmethod
    def from_config(cls, config):
        return cls(from_config(config.pop("stack")), **config)


def test_a_saved_stack_is_the_same(tmp_path):
    cells = [CELLS.get(kind, UNITS) for kind in ("layer-norm-lstm", keras.layers.GRUCell(UNITS))]
    model = Holder(CellStack(cells))
    model(INPUTS)
    extract.randomize(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(INPUTS), model(INPUTS))


def test_the_widths_are_told():
    stack, _ = built()
    assert stack.state_sizes == ((UNITS,), (UNITS, UNITS), (UNITS,))
    assert CellStack([CELLS.get("gru", 4), CELLS.get("gru", 5)]).output_units == 5


def test_only_equal_widths_can_be_added():
    with pytest.raises(ValueError, match=r"the same width.*Received: cells of widths \[4, 5\]"):
        CellStack([CELLS.get("gru", 4), CELLS.get("gru", 5)], residual=True)


def test_there_must_be_a_cell():
    with pytest.raises(ValueError, match="at least one cell"):
        CellStack([])


def test_a_keras_cell_must_be_wrapped():
    with pytest.raises(TypeError, match=r"KerasCell\(cell\) wraps any"):
        CellStack([keras.layers.GRUCell(UNITS)])
    CellStack([KerasCell(keras.layers.GRUCell(UNITS))])
