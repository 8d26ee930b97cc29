"""The block decoder matches its equations in single steps, for whole targets, and with a beam."""

import extract
import numpy as np
import pytest
import reference
import tensorflow as tf
from memory import memory_of, shape_of
from target_steps import at_once, stepwise

from keras_bahdanau.layers import (
    BahdanauAttention,
    BlockCell,
    LuongAttention,
    MultiHeadAttention,
    SelfAttentionCell,
)

RANDOM = np.random.default_rng(8)
LENGTHS = (4, 2, 3)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
SUMMARY = RANDOM.normal(size=(3, 6)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
INPUTS = RANDOM.normal(size=(3, 5, 5)).astype("float32")  # (batch, target_time, input_units)
MEMORY = (VALUES, MASK, SUMMARY)


def built(attention=None, **options):
    cell = BlockCell(7, attention or BahdanauAttention(3), **{"depth": 2, **options})
    cell.build(INPUTS[:, 0].shape, memory_shape=shape_of(6))
    return extract.randomize(cell)


def layer_norm(x, layer):
    gain, shift = extract.arrays(layer)
    return gain * (x - x.mean()) / np.sqrt(x.var() + 1e-6) + shift


def dense(x, layer):
    kernel, *bias = extract.arrays(layer)
    return x @ kernel + sum(bias)


def oracle(cell, row):
    """Yield [output; context; weights] of each step of a row, by an SSRU's equations in float64."""
    values = np.float64(VALUES[row, : LENGTHS[row]])
    memories = [np.tanh(dense(SUMMARY[row], cell.bridge.projection))]
    memories = np.split(memories[0], 2)
    for inputs in INPUTS[row]:
        x = np.sqrt(7) * dense(inputs, cell.input_projection)
        for index, block in enumerate(cell.blocks):
            gates = dense(
                layer_norm(x, block.recurrence_norm), cell.stack.cells[index].input_projection
            )
            f, new = reference.sigmoid(gates[:7]), gates[7:]
            memories[index] = f * memories[index] + (1 - f) * new
            x = x + np.maximum(memories[index], 0)
            query = layer_norm(x, block.attention_norm)
            weights = extract.attention(cell.attentions[index])
            context, alpha = reference.attention(query, values, weights)
            x = x + dense(context, block.context_projection)
            inner = dense(layer_norm(x, block.feed_forward_norm), block.feed_forward.inner)
            x = x + dense(np.maximum(inner, 0), block.feed_forward.outer)
        padding = np.zeros(4 - LENGTHS[row])
        yield np.concatenate([layer_norm(x, cell.last_norm), context, alpha, padding])


@pytest.mark.few(1)
@pytest.mark.parametrize("way", [stepwise, at_once])
def test_a_target_is_read_by_the_equations(run, way):
    cell = built()

    def read(inputs):  # `stepwise` needs a static length
        inputs = tf.ensure_shape(inputs, INPUTS.shape)
        return way(cell, inputs, cell.prepare(memory_of(*MEMORY)))

    found = run(read, INPUTS)
    for row in range(3):
        np.testing.assert_allclose(found[row], [*oracle(cell, row)], atol=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "options",
    [
        {"cell": SelfAttentionCell(7, heads=1, length=3), "bridge": "zeros"},
        {"cell": "sru", "attention": BahdanauAttention(3, normalizer="monotonic")},
        {"cell": "gru", "depth": 1},
        {"cell": "min-lstm", "attention": MultiHeadAttention(LuongAttention("scaled-dot"), 2)},
        {"cell": "lstm", "recurrent_dropout": 0.5},
    ],
    ids=["self-attention", "monotonic", "gru", "heads", "lstm"],
)
def test_a_target_read_at_once_gives_what_its_steps_give(options):
    cell = built(**options)
    prepared = cell.prepare(memory_of(*MEMORY), training=True)
    results = []
    for way in (stepwise, at_once):
        with tf.GradientTape() as tape:
            result = way(cell, tf.constant(INPUTS), prepared)
            loss = tf.reduce_sum(tf.sin(result))
        gradients = tape.gradient(loss, cell.trainable_variables)
        results.append([result, *(0 if each is None else each for each in gradients)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("cell", ["ssru", "self-attention", "sru", "min-gru", "min-lstm"])
def test_in_float64_a_target_read_at_once_is_what_its_steps_give(cell):
    """They only agree to about 1e-7: norms and softmax are float32 under every policy."""
    attention, bridge = BahdanauAttention(3, dtype="float64"), "summary"
    if cell == "self-attention":
        cell, bridge = SelfAttentionCell(7, heads=1, length=3, dtype="float64"), "zeros"
    cell = built(attention, cell=cell, bridge=bridge, dtype="float64")
    values, summary, inputs = (np.float64(each) for each in (VALUES, SUMMARY, INPUTS))
    prepared = cell.prepare(memory_of(values, MASK, summary))
    found, expected = (way(cell, inputs, prepared) for way in (at_once, stepwise))
    assert found.dtype == "float64"
    np.testing.assert_allclose(found, expected, atol=3e-7)


def test_a_beam_is_as_good_as_separate_rows(run):
    cell = built()
    prepared = cell.prepare(memory_of(*MEMORY))
    state = cell.initial_state(prepared)

    def beams(inputs):
        beamed = tf.nest.map_structure(lambda leaf: tf.stack([leaf, -leaf], axis=1), state)
        return cell(tf.stack([inputs, -inputs], axis=1), beamed, prepared)

    shown, after = run(beams, INPUTS[:, 0])
    for index, sign in enumerate([1, -1]):
        rows = tf.nest.map_structure(lambda leaf, sign=sign: sign * leaf, state)
        alone, alone_after = run(lambda x, rows=rows: cell(x, rows, prepared), sign * INPUTS[:, 0])
        for one, other in zip(
            tf.nest.flatten((shown, after)), tf.nest.flatten((alone, alone_after)), strict=True
        ):
            np.testing.assert_allclose(one[:, index], other, atol=1e-5)


def test_sublayers_are_dropped_in_training_only():
    cell = built(dropout=0.5)
    prepared = cell.prepare(memory_of(*MEMORY))
    inputs = tf.constant(INPUTS)
    plain, again = (cell.teacher_forced(inputs, prepared, False).output for _ in range(2))
    np.testing.assert_array_equal(plain, again)
    trained = cell.teacher_forced(inputs, prepared, False, training=True)
    assert np.abs(trained.output - plain).max() > 0.1


def test_places_are_exact_in_half_precision():
    """All sublayers are 0, so that the output is the normalized position encoding."""
    cell = SelfAttentionCell(4, heads=1, length=1024)
    cell = BlockCell(4, BahdanauAttention(3), cell=cell, bridge="zeros", dtype="mixed_bfloat16")
    cell.build((None, 5), memory_shape=shape_of(6))
    for weight in cell.weights:
        weight.assign(np.full(weight.shape, float(weight is cell.last_norm.gamma)))
    prepared = cell.prepare(memory_of(tf.cast(VALUES, "bfloat16"), MASK, VALUES[:, 0]))
    keys, values, _ = cell.initial_state(prepared).cell[0]
    written = np.repeat([np.float32(np.arange(1024) >= 1024 - 301)], 3, axis=0)
    state = cell.initial_state(prepared)._replace(
        cell=((keys, values, tf.cast(written, "bfloat16")),)
    )
    shown, _ = cell(INPUTS[:, 0], state, prepared)
    place = np.array([np.sin(301), np.sin(3.01), np.cos(301), np.cos(3.01)])
    expected = (place - place.mean()) / place.std()
    np.testing.assert_allclose(tf.cast(shown.output, "float32"), [expected] * 3, atol=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"query": ("state", "context")},
            "query='state'. Received: query='state,context', Block",
        ),
        ({"context_gate": True}, "need context_gate=False.* Received: context_gate=True"),
        ({"context_dropout": 0.1}, "need context_dropout=0. Received: context_dropout=0.1"),
        ({"residual": True}, "need residual=False. Received: residual=True"),
        ({"dropout": 1}, r"`dropout`.*must be in \[0, 1\). Received: dropout=1"),
        (
            {"cell": SelfAttentionCell(7, heads=7)},
            r"with zero states. Received: cell=SelfAttentionCell\(...\), bridge='summary'. Use",
        ),
        ({"feed_forward_units": 0}, "must be a positive integer. Received: feed_forward_units=0"),
        ({"cell": SelfAttentionCell(6, heads=2)}, "must be `units` wide.*units=7"),
    ],
)
def test_it_takes_nothing_that_blocks_do_not_have(arguments, message):
    with pytest.raises(ValueError, match=message):
        BlockCell(7, **{"attention": BahdanauAttention(3), **arguments})
