"""A step of each decoder cell matches its equations, with and without a beam."""

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from memory import memory_of, shape_of
from modes import eager_is_slow
from target_steps import at_once, stepwise

from keras_bahdanau.layers import DECODER_CELLS, BahdanauAttention, GRUCell

RANDOM = np.random.default_rng(8)
LENGTHS = (4, 2, 3)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
SUMMARY = RANDOM.normal(size=(3, 6)).astype("float32")
TASK = RANDOM.normal(size=(3, 2)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
INPUTS = RANDOM.normal(size=(3, 5)).astype("float32")
STATES = RANDOM.normal(size=(2, 2, 3, 7)).astype("float32")  # (layer, state, batch, units)
MEMORY = (VALUES, MASK, SUMMARY, None, TASK)
EVERYTHING = ("state", "embedding", "context", "task")

WHENS = pytest.mark.parametrize("when", [*DECODER_CELLS])
NOT_BLOCKS = pytest.mark.parametrize("when", sorted(DECODER_CELLS.keys() - {"blocks"}))
CELLS = pytest.mark.parametrize(
    ("kind", "when", "query"),
    [
        ("gru", "before", ("state",)),
        ("lstm", "before", EVERYTHING),
        ("gru", "after", EVERYTHING),
        ("lstm", "after", ("state",)),
        ("gru", "between", ("context", "state")),
        ("lstm", "between", EVERYTHING),
        ("gru", "apart", ("state",)),
        ("lstm", "apart", EVERYTHING),
    ],
)


def built(kind="gru", when="before", dropout=0.0, **options):
    cell = DECODER_CELLS[when](7, BahdanauAttention(3, dropout), cell=kind, **options)
    cell.build(INPUTS.shape, memory_shape=shape_of(6, task_units=2))
    return extract.randomize(cell)


def state_of(cell):
    """Return a random state, as in the middle of a sentence."""
    state = cell.initial_state(cell.prepare(memory_of(*MEMORY)))
    random = np.random.default_rng(3)
    return tf.nest.map_structure(
        lambda leaf: random.normal(size=leaf.shape).astype(leaf.dtype.as_numpy_dtype), state
    )


def step(cell):
    """Return a function that returns (output, context, weights) and the next state."""

    def function(inputs, state):
        shown, state = cell(inputs, state, cell.prepare(memory_of(*MEMORY)))
        return shown, state

    return function


def opened(cell, top, context):
    """Return the context, scaled by sigmoid(w s + b) if the cell has a gate."""
    if cell.context_gate is None:
        return context
    w, b = extract.arrays(cell.context_gate)
    return context / (1 + np.exp(-(top @ w + b)))


def oracle_step(cell, when, row, state):
    """Return (output, states, context, alpha) of one row, computed from the equations."""
    values = VALUES[row, : LENGTHS[row]].astype("float64")
    (states,) = ([s[row] for s in layer] for layer in state.cell)
    attention = extract.attention(cell.attention)
    main = extract.cell(cell.stack.cells[0])

    def ask(top):
        context = state.context[row] if len(state.context) else ()
        parts = {"state": top, "embedding": INPUTS[row], "context": context, "task": TASK[row]}
        query = np.concatenate([parts[name] for name in cell.query.parts])
        context, alpha = reference.attention(query, values, attention)
        return opened(cell, top, context), alpha

    if when == "before":
        context, alpha = ask(states[0])
        states = main(np.concatenate([INPUTS[row], context]), states)
        return states[0], states, context, alpha
    if when == "after":
        states = main(np.concatenate([INPUTS[row], state.output[row]]), states)
        context, alpha = ask(states[0])
        (kernel,) = extract.arrays(cell.attentional)
        return np.tanh(np.concatenate([context, states[0]]) @ kernel), states, context, alpha
    if when == "apart":
        states = main(INPUTS[row], states)
        context, alpha = ask(states[0])
        return states[0], states, context, alpha
    states = extract.cell(cell.first_cell)(INPUTS[row], states)
    context, alpha = ask(states[0])
    states = main(context, states)
    return states[0], states, context, alpha


@pytest.mark.few(2)
@eager_is_slow
@CELLS
def test_a_step_is_that_of_the_equations(run, kind, when, query):
    cell = built(kind, when, query=query)
    state = state_of(cell)
    shown, new = run(step(cell), INPUTS, state)
    for row, length in enumerate(LENGTHS):
        output, states, context, alpha = oracle_step(cell, when, row, state)
        np.testing.assert_allclose(shown.output[row], output, atol=1e-5)
        np.testing.assert_allclose(shown.context[row], context, atol=1e-5)
        np.testing.assert_allclose(shown.weights[row, :length], alpha, atol=1e-5)
        assert not shown.weights[row, length:].any()
        for found, expected in zip(new.cell[0], states, strict=True):
            np.testing.assert_allclose(found[row], expected, atol=1e-5)


@pytest.mark.parametrize("output", ["attentional", "state"])
@pytest.mark.parametrize("attentional", ["context", "layer"])
def test_what_is_fed_and_what_is_read_out_can_be_exchanged(run, attentional, output):
    """s_i = f(s_{i-1}, [y_{i-1}; h~_{i-1}]), where h~_i is c_i or a Dense layer of [c_i; s_i]."""
    layer = keras.layers.Dense(2, activation="relu") if attentional == "layer" else "context"
    cell = built("gru", "after", attentional=layer, output=output)
    state = state_of(cell)
    shown, new = run(step(cell), INPUTS, state)
    assert cell.output_units == shown.output.shape[-1]
    main, attention = extract.cell(cell.stack.cells[0]), extract.attention(cell.attention)
    for row, length in enumerate(LENGTHS):
        before = [one[row] for one in state.cell[0]]
        (s,) = main(np.concatenate([INPUTS[row], state.output[row]]), before)
        context, _ = reference.attention(s, VALUES[row, :length].astype("float64"), attention)
        fed = context
        if attentional == "layer":
            kernel, bias = extract.arrays(cell.attentional)
            fed = np.maximum(np.concatenate([context, s]) @ kernel + bias, 0.0)
        np.testing.assert_allclose(new.output[row], fed, atol=1e-5)
        expected = s if output == "state" else fed
        np.testing.assert_allclose(shown.output[row], expected, atol=1e-5)
    config = cell.get_config()
    copied = type(cell).from_config(config).get_config()
    assert [copied[name] == config[name] for name in ("attentional", "output")] == [True, True]


def test_the_output_must_be_known():
    with pytest.raises(ValueError, match="`output` must be one of .*Received: output='one'"):
        built(when="after", output="one")
    with pytest.raises(TypeError, match="must be a layer, or the config.*Received: 'one'"):
        built(when="after", attentional="one")


@NOT_BLOCKS
def test_a_gate_scales_the_context_and_nothing_else(run, when):
    """The gate is that of Xu et al. (2015), section 4.2.1."""
    cell = built("lstm", when, query=EVERYTHING, context_gate=True)
    state = state_of(cell)
    shown, _ = run(step(cell), INPUTS, state)
    for row, length in enumerate(LENGTHS):
        output, _, context, alpha = oracle_step(cell, when, row, state)
        np.testing.assert_allclose(shown.output[row], output, atol=1e-5)
        np.testing.assert_allclose(shown.context[row], context, atol=1e-5)
        np.testing.assert_allclose(shown.weights[row, :length], alpha, atol=1e-5)


@pytest.mark.few(1)
@NOT_BLOCKS
def test_a_gate_is_no_weight_until_it_is_asked_for(when):
    plain, gated = built(when=when), built(when=when, context_gate=True)
    gates = [sum("context_gate" in one.path for one in cell.weights) for cell in (plain, gated)]
    assert gates == [0, 2] and len(gated.weights) == len(plain.weights) + 2
    before = plain.get_config()
    assert before.pop("context_gate") is False  # missing in files of earlier versions
    loaded = type(plain).from_config(before)
    loaded.build(INPUTS.shape, memory_shape=shape_of(6, task_units=2))
    loaded.set_weights(plain.get_weights())


def test_the_scores_and_the_query_of_a_step_come_out_too(run):
    cell = built(query=("state", "embedding"))
    state = state_of(cell)
    shown, _ = run(step(cell), INPUTS, state)
    np.testing.assert_array_equal(shown.query, np.concatenate([state.cell[0][0], INPUTS], axis=1))
    scores = np.where(MASK, shown.scores, -np.inf).astype("float64")
    np.testing.assert_allclose(shown.weights, reference.softmax(scores), atol=1e-6)


def test_the_papers_readout_reads_the_state_of_the_step_before(run):
    cell = built(readout_state="previous")
    state = state_of(cell)
    shown, new = run(step(cell), INPUTS, state)
    np.testing.assert_array_equal(shown.output, state.cell[0][0])
    assert not np.allclose(new.cell[0][0], state.cell[0][0])


@pytest.mark.few(2)
@CELLS
def test_the_first_state_comes_from_the_summary(run, kind, when, query):
    cell = built(kind, when, query=query)
    found = run(lambda: cell.initial_state(cell.prepare(memory_of(*MEMORY))))
    kernel, bias = extract.arrays(cell.bridge.projection)
    expected = np.tanh(SUMMARY @ kernel + bias)
    np.testing.assert_allclose(np.concatenate(found.cell[0], axis=-1), expected, atol=1e-6)


@NOT_BLOCKS
def test_the_first_state_may_be_zero(run, when):
    cell = built("lstm", when, bridge="zeros", query=EVERYTHING)
    found = run(lambda: cell.initial_state(cell.prepare(memory_of(*MEMORY))))
    leaves = tf.nest.flatten(found)
    assert len(leaves) == (4 if when == "after" else 3)
    assert not any(leaf.any() for leaf in leaves)


@pytest.mark.few(2)
@CELLS
def test_a_step_keeps_the_structure_of_the_state(run, kind, when, query):
    cell = built(kind, when, query=query, depth=2, residual=True)

    def two(inputs):
        prepared = cell.prepare(memory_of(*MEMORY))
        state = cell.initial_state(prepared)
        shown, after = cell(inputs, state, prepared)
        return state, after, cell.step_template(prepared)[:3], shown[:3]

    *states, like, shown = run(two, INPUTS)
    for before, after in (states, (like, shown)):
        tf.nest.assert_same_structure(before, after)
        for one, other in zip(tf.nest.flatten(before), tf.nest.flatten(after), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)


@pytest.mark.few(1)
@CELLS
def test_a_beam_is_as_good_as_separate_rows(run, kind, when, query):
    cell = built(kind, when, query=query, depth=2)
    inputs = np.stack([INPUTS, -INPUTS], axis=1)
    state = tf.nest.map_structure(lambda leaf: np.stack([leaf, 0.5 * leaf], axis=1), state_of(cell))
    found = run(step(cell), inputs, state)
    for beam in range(2):
        alone = tf.nest.map_structure(lambda leaf, beam=beam: leaf[:, beam], state)
        expected = run(step(cell), inputs[:, beam], alone)
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(one[:, beam], other, atol=1e-6)


@pytest.mark.few(1)
@NOT_BLOCKS
def test_further_cells_stand_on_the_first(run, when):
    """A residual cell with zero weights adds nothing: two cells give the lower one's output."""
    deep, flat = built("gru", when, depth=2, residual=True), built("gru", when)
    upper = deep.stack.cells[1]
    upper.set_weights([np.zeros_like(weight) for weight in upper.get_weights()])
    parts = [("attention", "attention"), ("attentional", "attentional"), ("first_cell",) * 2]
    for name, _ in parts:
        if hasattr(deep, name):
            getattr(deep, name).set_weights(getattr(flat, name).get_weights())
    deep.stack.cells[0].set_weights(flat.stack.cells[0].get_weights())
    state = state_of(flat)
    zero = (np.zeros((3, 7), "float32"),)
    if when == "before":  # the upper cell's state is the query
        state = state._replace(cell=(zero,))
    deep_state = state._replace(cell=(*state.cell, zero))
    found, expected = run(step(deep), INPUTS, deep_state), run(step(flat), INPUTS, state)
    np.testing.assert_allclose(found[0].output, expected[0].output, atol=1e-6)
    np.testing.assert_allclose(found[1].cell[0][0], expected[1].cell[0][0], atol=1e-6)
    assert not found[1].cell[1][0].any()


def test_without_input_feeding_the_cell_does_not_know_what_was_found(run):
    cell = built(when="after", input_feeding=False)
    state = state_of(cell)
    assert state.output == ()
    _, new = run(step(cell), INPUTS, state)
    expected = extract.cell(cell.stack.cells[0])(INPUTS[0], [state.cell[0][0][0]])
    np.testing.assert_allclose(new.cell[0][0][0], expected[0], atol=1e-5)


def test_attention_is_dropped_in_training_only():
    cell = built(dropout=0.5)
    prepared = cell.prepare(memory_of(*MEMORY))
    state = cell.initial_state(prepared)
    inputs = tf.constant(INPUTS)
    plain = cell(inputs, state, prepared)[0]
    np.testing.assert_array_equal(cell(inputs, state, prepared)[0].context, plain.context)
    trained = [cell(inputs, state, prepared, training=True)[0] for _ in range(5)]
    for shown in trained:
        np.testing.assert_allclose(shown.weights.numpy().sum(axis=-1), 1, atol=1e-6)
    assert any(not np.allclose(shown.context, plain.context) for shown in trained)


@pytest.mark.few(1)
@NOT_BLOCKS
def test_context_and_state_lose_the_same_places_at_all_steps_of_a_sentence(when):
    cell = built("gru", when, context_dropout=0.5, recurrent_dropout=0.5)
    plain = cell.prepare(memory_of(*MEMORY))
    assert plain.dropout_masks == ()
    prepared = cell.prepare(memory_of(*MEMORY), training=True)
    np.testing.assert_array_equal(np.unique(prepared.dropout_masks.context), [0, 2])
    np.testing.assert_array_equal(np.unique(prepared.dropout_masks.cell[0]), [0, 2])
    inputs, state = tf.constant(INPUTS), cell.initial_state(prepared)
    contexts = []
    for _ in range(3):
        shown, state = cell(inputs, state, prepared, training=True)
        contexts.append(shown.context.numpy() == 0)
    np.testing.assert_array_equal(contexts[0], contexts[1])
    np.testing.assert_array_equal(contexts[0], contexts[2])
    np.testing.assert_array_equal(contexts[0], prepared.dropout_masks.context.numpy() == 0)


@pytest.mark.few(1)
@NOT_BLOCKS
def test_a_cell_that_is_given_whole_drops_its_state_in_training(when):
    cell = built(GRUCell(7, recurrent_dropout=0.5), when)
    prepared = cell.prepare(memory_of(*MEMORY), training=True)
    np.testing.assert_array_equal(np.unique(prepared.dropout_masks.cell[0]), [0, 2])
    np.testing.assert_array_equal(prepared.dropout_masks.context, 1)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "options",
    [
        {"cell": "gru", "depth": 2, "residual": True, "context_gate": True},
        {"cell": "ssru", "depth": 2, "query": ("state", "embedding", "task")},
        {"cell": "lstm", "context_dropout": 0.5, "recurrent_dropout": 0.5},
        {"cell": "gru", "query": EVERYTHING},  # must attend step by step
        {"cell": "sru", "normalizer": "monotonic"},  # must attend step by step
    ],
)
def test_a_target_read_at_once_gives_what_its_steps_give(options):
    options = dict(options)
    attention = BahdanauAttention(3, normalizer=options.pop("normalizer", "softmax"))
    cell = DECODER_CELLS["apart"](7, attention, **options)
    cell.build(INPUTS.shape, memory_shape=shape_of(6, task_units=2))
    extract.randomize(cell)
    prepared = cell.prepare(memory_of(*MEMORY), training=True)
    inputs = tf.constant(np.stack([INPUTS, -INPUTS, INPUTS[::-1]], axis=1))

    results = []
    for function in (stepwise, at_once):
        with tf.GradientTape() as tape:
            result = function(cell, inputs, prepared)
            loss = tf.reduce_sum(tf.sin(result))
        gradients = tape.gradient(loss, cell.trainable_variables)
        # None for the key projection, which ran outside of the tape
        results.append([result, *(0 if each is None else each for each in gradients)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["ssru", "sru", "min-gru", "min-lstm"])
def test_in_float64_a_target_read_at_once_is_what_its_steps_give(kind):
    """They only agree to about 1e-7: the softmax is float32 under every policy."""
    attention = BahdanauAttention(3, dtype="float64")
    cell = DECODER_CELLS["apart"](7, attention, cell=kind, depth=2, dtype="float64")
    cell.build(INPUTS.shape, memory_shape=shape_of(6, task_units=2))
    extract.randomize(cell)
    memory = (each if each is None or each is MASK else np.float64(each) for each in MEMORY)
    prepared = cell.prepare(memory_of(*memory))
    inputs = tf.constant(np.float64(np.stack([INPUTS, -INPUTS, INPUTS[::-1]], axis=1)))
    found, expected = (way(cell, inputs, prepared) for way in (at_once, stepwise))
    assert found.dtype == "float64"
    np.testing.assert_allclose(found, expected, atol=3e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": -1}, "`units`.*must be a positive integer. Received: units=-1"),
        ({"depth": 0}, "`depth`.*must be a positive integer. Received: depth=0"),
        ({"cell": "rnn"}, "`cell` must be one of .*'gru'.* Received: cell='rnn'"),
        ({"bridge": "one"}, "`bridge` must be one of .*Received: bridge='one'"),
        ({"readout_state": "next"}, "`readout_state` must be one of .*readout_state='next'"),
        ({"query": ("state", "past")}, "`query` must be one of .*Received: query='past'"),
        ({"query": ("state", "state")}, "`query` must name .* no part twice"),
        ({"context_dropout": 1}, r"`context_dropout`.* in \[0, 1\). Received"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        DECODER_CELLS["before"](**{"units": 3, "attention": BahdanauAttention(3), **arguments})
