"""Causal self-attention matches its equations, in single steps and for whole sequences."""

import extract
import numpy as np
import pytest
import reference
import tensorflow as tf

from keras_bahdanau.layers import SelfAttentionCell

INPUTS = np.random.default_rng(4).normal(size=(2, 5, 6)).astype("float32")
UNITS, HEADS, LENGTH = 4, 2, 3


def built(**options):
    cell = SelfAttentionCell(UNITS, **{"heads": HEADS, "length": LENGTH, **options})
    cell.build(INPUTS[:, 0].shape)
    return extract.randomize(cell)


def zeros(cell, *axes):
    return tuple(np.zeros((*axes, size), "float32") for size in cell.state_sizes)


def stepwise(cell, inputs, states):
    outputs = []
    for t in range(INPUTS.shape[1]):
        output, states = cell(inputs[..., t, :], states)
        outputs.append(output)
    return tf.stack(outputs, axis=-2)


def test_the_newest_vector_is_the_key_of_the_last_step():
    cell = built()
    kernel, bias = extract.arrays(cell.projection)
    states = zeros(cell, 2)
    np.testing.assert_array_equal(cell.newest(states), np.zeros((2, UNITS)))
    for t in range(LENGTH + 1):
        _, states = cell(INPUTS[:, t], states)
        key = (INPUTS[:, t] @ kernel + bias)[:, UNITS : 2 * UNITS]
        np.testing.assert_allclose(cell.newest(states), key, atol=1e-5)


def oracle(cell, rows):
    """Yield the outputs for one sentence: each step attends to itself and to the kept steps."""
    kernel, bias = extract.arrays(cell.projection)
    W_o, b_o = extract.arrays(cell.output_projection)
    q, k, v = np.split(np.float64(rows) @ kernel + bias, 3, axis=-1)
    width = UNITS // HEADS
    for i in range(len(rows)):
        seen = slice(max(0, i - LENGTH + 1), i + 1)
        heads = []
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            alpha = reference.softmax(k[seen, part] @ q[i, part] / np.sqrt(width))
            heads.append(alpha @ v[seen, part])
        yield np.concatenate(heads) @ W_o + b_o


def test_steps_and_all_at_once_are_those_of_the_equations(run):
    cell = built()
    states = zeros(cell, 2)
    expected = [[*oracle(cell, rows)] for rows in INPUTS]
    found = run(lambda inputs: stepwise(cell, inputs, states), INPUTS)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    found = run(lambda inputs: cell.sequence(cell.project(inputs), states), INPUTS)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_beam_is_as_good_as_separate_rows(run):
    cell = built()
    beams = np.stack([INPUTS, -INPUTS], axis=1)  # (batch, beam, time, units)
    found = run(lambda inputs: stepwise(cell, inputs, zeros(cell, 2, 2)), beams)
    for index, inputs in enumerate((INPUTS, -INPUTS)):
        alone = run(lambda inputs: stepwise(cell, inputs, zeros(cell, 2)), inputs)
        np.testing.assert_allclose(found[:, index], alone, atol=1e-5)


def test_the_width_must_be_one_of_its_heads():
    with pytest.raises(ValueError, match="must divide the width of self-att.*heads=3, units=4"):
        SelfAttentionCell(4, heads=3)


@pytest.mark.few(1)
@pytest.mark.parametrize("steps", [5, np.int64(6), 9])
def test_buffers_of_as_many_steps_as_there_are_give_the_same_outputs(run, steps):
    cell = built(length=8)
    states = tuple(map(tf.constant, zeros(cell, 2)))
    expected = stepwise(cell, INPUTS, states)

    def found(inputs, steps):
        shorter = cell.truncate_cache(states, steps)
        return stepwise(cell, inputs, shorter), *shorter

    kept = min(steps, 8)
    for outputs, keys, values, written in (
        found(INPUTS, steps),
        run(found, INPUTS, np.int32(steps)),  # in a graph, with an unknown number of steps
    ):
        np.testing.assert_allclose(outputs, expected, atol=1e-6)
        assert keys.shape == values.shape == (2, kept * UNITS) and written.shape == (2, kept)
