"""AttentionRNN, Bahdanau's step as a recurrent layer, matches NumPy and `keras.layers.RNN`."""

import extract
import keras
import numpy as np
import pytest
import reference
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau import layers

RANDOM = np.random.default_rng(74)
INPUTS = RANDOM.normal(size=(3, 5, 4)).astype("float32")
MEMORY = RANDOM.normal(size=(3, 6, 3)).astype("float32")
LENGTHS, SOURCE_LENGTHS = (5, 3, 4), (6, 2, 0)
MASK = np.arange(5) < np.array(LENGTHS)[:, None]
HOLES = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
MEMORY_MASK = np.arange(6) < np.array(SOURCE_LENGTHS)[:, None]
NOTHING = np.zeros((3, 6), bool)
UNITS = 7


@keras.saving.register_keras_serializable(package="test_attention_rnn")
class Counter(keras.layers.Layer):
    """A user-defined cell: its state counts from 10; its output is [inputs; state]."""

    state_size = 1

    def call(self, inputs, states):
        output = ops.concatenate([inputs, states[0]], axis=-1)
        return output, [states[0] + 1]

    def build(self, inputs_shape):
        self.output_size = inputs_shape[-1] + 1

    def get_initial_state(self, batch_size=None):
        return 10 * ops.ones((batch_size, 1))


CELLS = {
    "gru": lambda: keras.layers.GRUCell(UNITS),
    "lstm": lambda: keras.layers.LSTMCell(UNITS),
    "simple": lambda: keras.layers.SimpleRNNCell(UNITS),
    "stack": lambda: keras.layers.StackedRNNCells(
        [keras.layers.LSTMCell(5), keras.layers.GRUCell(UNITS)]
    ),
    "our gru": lambda: layers.GRUCell(UNITS),
    "our lstm": lambda: layers.LSTMCell(UNITS),
    "our stack": lambda: layers.CellStack([layers.LSTMCell(5), layers.GRUCell(UNITS)]),
}
each_cell = pytest.mark.parametrize("name", CELLS)


def built(cell=None, attention=None, **options):
    """Return a layer with random weights that returns all outputs, states and weights."""
    options = {"return_sequences": True, "return_state": True, **options}
    attention = kb.BahdanauAttention(8) if attention is None else attention
    rnn = kb.AttentionRNN(
        keras.layers.GRUCell(UNITS) if cell is None else cell,
        attention,
        return_attention_scores=True,
        **options,
    )
    rnn.build(INPUTS.shape, MEMORY.shape)
    return extract.randomize(rnn)


def arrays(outputs):
    return [np.asarray(output) for output in keras.tree.flatten(outputs)]


def assert_all_close(outputs, expected, atol=1e-6):
    outputs, expected = arrays(outputs), arrays(expected)
    assert [output.shape for output in outputs] == [array.shape for array in expected]
    for output, array in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output, array, atol=atol)


def oracle(rnn, inputs, memory, state):
    """Return the outputs and weights of a GRU with additive attention, in float64."""
    score, cell = rnn.attention.score, rnn.cell
    w, u, v = (
        np.float64(kernel)
        for kernel in (score.query_projection.kernel, score.key_projection.kernel, score.v)
    )
    bias = np.float64(cell.bias)
    gru = reference.GRU(np.float64(cell.kernel), np.float64(cell.recurrent_kernel), *bias)
    outputs, all_weights = [], []
    for x in np.float64(inputs):
        scores = (np.tanh(state @ w + np.float64(memory) @ u) @ v).reshape(-1)
        weights = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        context = weights @ np.float64(memory)
        (state,) = np.atleast_2d(gru(np.concatenate([x, context]), (state,))[0])
        outputs.append(state)
        all_weights.append(weights)
    return np.stack(outputs), np.stack(all_weights)


def test_each_step_is_that_of_the_paper_in_float64(run):
    rnn = built()
    first = RANDOM.normal(size=(3, UNITS)).astype("float32")

    def call(inputs, memory, mask, memory_mask, first):
        return rnn(inputs, memory, mask, memory_mask, initial_state=first)

    outputs, state, weights = run(call, INPUTS, MEMORY, MASK, MEMORY_MASK, first)
    for row in range(2):
        time, source_time = LENGTHS[row], SOURCE_LENGTHS[row]
        expected, expected_weights = oracle(
            rnn, INPUTS[row, :time], MEMORY[row, :source_time], np.float64(first[row])
        )
        np.testing.assert_allclose(outputs[row, :time], expected, atol=1e-6)
        np.testing.assert_allclose(state[row], expected[-1], atol=1e-6)
        np.testing.assert_allclose(weights[row, :time, :source_time], expected_weights, atol=1e-6)
        assert not weights[row, time:].any() and not weights[row, :, source_time:].any()
    assert not weights[2].any() and np.isfinite(outputs).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("go_backwards", [False, True])
@each_cell
def test_without_a_memory_it_is_the_rnn_of_keras(name, go_backwards):
    """With an all-zero context, outputs and states are the same for any mask and direction."""
    rnn = built(CELLS[name](), go_backwards=go_backwards)
    stock = keras.layers.RNN(
        _padded_inputs_cell(rnn),
        return_sequences=True,
        return_state=True,
        go_backwards=go_backwards,
    )
    wide = np.concatenate([INPUTS, np.zeros_like(MEMORY[:, :5])], axis=-1)
    for mask in (None, MASK, HOLES):
        *outputs, weights = rnn(INPUTS, MEMORY, mask, NOTHING)
        stock_mask = None if mask is None else ops.convert_to_tensor(mask)
        assert_all_close(outputs, stock(ops.convert_to_tensor(wide), mask=stock_mask))
        assert not np.any(weights)


def _padded_inputs_cell(rnn):
    """Convert a layer's cell to a cell that reads [x; c]; c is 0 here."""
    if isinstance(rnn.cell, layers.Cell):
        return _InputsOnly(rnn.cell)
    return rnn.cell


class _InputsOnly(keras.layers.Layer):
    """A Keras cell that wraps a cell of the package, which gets its context separately."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell
        self.state_size, self.output_size = cell.state_size, cell.output_size
        self.built = True

    def call(self, inputs, states):
        packed = keras.tree.pack_sequence_as(self.state_size, keras.tree.flatten(states))
        output, after = self.cell(inputs[:, :4], packed, context=inputs[:, 4:])
        return output, keras.tree.pack_sequence_as(states, keras.tree.flatten(after))

    def get_initial_state(self, batch_size=None):
        return self.cell.get_initial_state(batch_size)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["gru", "our lstm"])
@pytest.mark.parametrize("coverage", ["sum", None])
def test_a_row_alone_and_padded_further_gives_the_same(name, coverage):
    rnn = built(CELLS[name](), kb.BahdanauAttention(8, coverage=coverage))
    outputs, *states, weights = arrays(rnn(INPUTS, MEMORY, MASK, MEMORY_MASK))
    wide = [(0, 0), (0, 2)]
    padded = rnn(
        np.pad(INPUTS, [*wide, (0, 0)], constant_values=50),
        np.pad(MEMORY, [*wide, (0, 0)], constant_values=np.nan),
        np.pad(MASK, wide),
        np.pad(MEMORY_MASK, wide),
    )
    padded_outputs, *padded_states, padded_weights = arrays(padded)
    assert_all_close(
        [padded_outputs[:, :5], *padded_states, padded_weights[:, :5, :6]],
        [outputs, *states, weights],
    )
    alone = rnn(INPUTS[1:2, :3], MEMORY[1:2, :2])
    real = [outputs[1:2, :3], *(state[1:2] for state in states), weights[1:2, :3, :2]]
    assert_all_close(alone, real)


@pytest.mark.few(2)
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", ["stack", "our gru"])
def test_single_steps_are_those_of_the_sequence(name, policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        rnn = built(CELLS[name](), kb.BahdanauAttention(8, coverage="sum"))
    finally:
        keras.config.set_dtype_policy(before)
    outputs, *_, weights = rnn(INPUTS, MEMORY, None, MEMORY_MASK)
    assert outputs.dtype == rnn.compute_dtype and weights.dtype == "float32"
    prepared = rnn.prepare(MEMORY, MEMORY_MASK)
    state = rnn.initial_state(prepared)
    for index in range(5):
        step, state = rnn.step(INPUTS[:, index], state, prepared)
        np.testing.assert_allclose(
            np.float32(step.output), np.float32(outputs[:, index]), atol=1e-6
        )
        np.testing.assert_allclose(step.weights, weights[:, index], atol=1e-6)


@each_cell
def test_a_sequence_goes_on_from_the_state_that_was_returned(name):
    rnn = built(CELLS[name]())
    outputs, *states, weights = rnn(INPUTS, MEMORY)
    first, *middle, first_weights = rnn(INPUTS[:, :2], MEMORY)
    second, *last, second_weights = rnn(INPUTS[:, 2:], MEMORY, initial_state=middle)
    joined = [ops.concatenate([first, second], 1), last]
    assert_all_close(joined, [outputs, states])
    assert_all_close(ops.concatenate([first_weights, second_weights], 1), weights)


def test_an_lstm_returns_the_output_and_both_states():
    rnn = built(keras.layers.LSTMCell(UNITS), return_sequences=False)
    output, h, c, weights = rnn(INPUTS, MEMORY, MASK)
    assert weights.shape == (3, 5, 6)
    np.testing.assert_array_equal(output, h)
    assert not np.allclose(h, c)
    plain = kb.AttentionRNN(rnn.cell, rnn.attention)
    assert_all_close(plain(INPUTS, MEMORY, MASK), output)
    assert_all_close(plain(INPUTS, MEMORY, MASK, return_attention_scores=True), (output, weights))


def test_a_users_cell_begins_with_the_state_it_wants():
    cell = Counter()
    cell.output_size = 4 + 3 + 1
    rnn = kb.AttentionRNN(cell, "bahdanau", return_state=True)
    output, state = rnn(INPUTS, MEMORY)
    np.testing.assert_array_equal(output[:, -1], [14, 14, 14])
    np.testing.assert_array_equal(output[:, :4], INPUTS[:, -1])
    np.testing.assert_array_equal(state, [[15]] * 3)


@pytest.mark.parametrize("name", ["gru", "stack", "our lstm"])
def test_the_cell_and_the_attention_are_those_that_were_given(name):
    cell, attention = CELLS[name](), kb.BahdanauAttention(8)
    rnn = built(cell, attention)
    assert rnn.cell is cell and rnn.attention is attention
    assert {id(weight) for weight in cell.weights} <= {id(weight) for weight in rnn.weights}


SEQUENCES = {"return_sequences": True}


def translation(rnn):
    """Return a model of two sequences of ids whose masks Keras propagates."""
    source, target = (keras.Input((None,), dtype="int32", name=name) for name in ("a", "b"))
    values = keras.layers.Embedding(9, 3, mask_zero=True)(source)
    memory, h = keras.layers.GRU(UNITS, return_sequences=True, return_state=True)(values)
    x = keras.layers.Embedding(9, 4, mask_zero=True)(target)
    outputs = rnn(x, memory, initial_state=h)
    outputs = [outputs] if hasattr(outputs, "shape") else outputs
    logits = keras.layers.Dense(5)(outputs[0])
    return keras.Model([source, target], [logits, *outputs[1:]])


IDS = np.array([[3, 4, 5], [1, 0, 0]]), np.array([[2, 6, 7, 8], [2, 5, 0, 0]])


@pytest.mark.parametrize("name", ["gru", "our gru"])
def test_a_functional_model_carries_both_masks_and_is_loaded_without_custom_objects(name, tmp_path):
    rnn = kb.AttentionRNN(CELLS[name](), **SEQUENCES, return_attention_scores=True)
    model = translation(rnn)
    logits, weights = (np.asarray(output) for output in model(IDS))
    assert not weights[1, :, 1:].any() and not weights[1, 2:].any()
    np.testing.assert_allclose(weights[1, :2, 0], 1)
    short = model([IDS[0][1:, :1], IDS[1][1:, :2]])[0]
    np.testing.assert_allclose(short[0], logits[1, :2], atol=1e-6)
    wide = model([np.pad(ids, ((0, 0), (0, 3))) for ids in IDS])[0]
    np.testing.assert_allclose(wide[:, :4], logits, atol=1e-6)
    assert [tuple(output.shape[1:]) for output in model.outputs] == [(None, 5), (None, None)]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_all_close(loaded(IDS), (logits, weights), atol=0)


def test_a_model_trains_all_of_its_weights_and_masks_the_loss():
    rnn = kb.AttentionRNN(keras.layers.GRUCell(UNITS), "general", **SEQUENCES)
    model = translation(rnn)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, run_eagerly=True)
    before = [np.array(weight) for weight in model.trainable_weights]
    model.fit(IDS, np.array([[1, 2, 3, 4], [1, 2, 0, 0]]), verbose=0)
    for weight, array in zip(model.trainable_weights, before, strict=True):
        assert not np.array_equal(weight, array), weight.path


def test_an_explicit_mask_wins_and_goes_on():
    x = ops.convert_to_tensor(INPUTS)
    masked = keras.layers.Masking()(np.where(MASK[..., None], INPUTS, 0))
    rnn = built(return_state=False)
    outputs, _ = rnn(masked, MEMORY, mask=HOLES)
    np.testing.assert_array_equal(outputs._keras_mask, HOLES)
    assert_all_close(rnn(masked, MEMORY)[0], rnn(x, MEMORY, mask=MASK)[0])
    backwards = built(return_state=False, go_backwards=True)
    outputs, _ = backwards(x, MEMORY, mask=HOLES)
    np.testing.assert_array_equal(outputs._keras_mask, HOLES[:, ::-1])


def test_a_grid_is_attended_with_maps_of_weights():
    rnn, grid = built(), MEMORY.reshape(3, 2, 3, 3)
    expected = arrays(rnn(INPUTS, MEMORY, None, MEMORY_MASK))
    maps = MEMORY_MASK.reshape(3, 2, 3)
    outputs = arrays(rnn(INPUTS, grid, None, maps))
    assert outputs[-1].shape == (3, 5, 2, 3)
    assert_all_close([*outputs[:-1], outputs[-1].reshape(3, 5, 6)], expected)


@pytest.mark.parametrize("when", ["after", "between", "apart"])
def test_another_decoder_cell_brings_its_own_attention_and_initial_state(when):
    decoder_cell = layers.DECODER_CELLS[when](UNITS, "general", cell="lstm", depth=2)
    rnn = built(decoder_cell)
    outputs, *states, weights = rnn(INPUTS, MEMORY, MASK, MEMORY_MASK)
    prepared = rnn.prepare(MEMORY, MEMORY_MASK)
    step, state = rnn.step(INPUTS[:, 0], rnn.initial_state(prepared), prepared)
    np.testing.assert_allclose(step.output, outputs[:, 0], atol=1e-6)
    assert np.any(rnn.initial_state(prepared).cell[0][0])
    assert [state.shape for state in keras.tree.flatten(states)] == [(3, UNITS)] * 4
    copy = kb.AttentionRNN.from_config(rnn.get_config())
    copy.build(INPUTS.shape, MEMORY.shape)
    assert copy.get_config() == rnn.get_config()


@pytest.mark.few(3)
@pytest.mark.parametrize("mode", ["one direction", "two directions", "stacked"])
@pytest.mark.parametrize("name", ["our gru", "our lstm", "our stack"])
def test_our_cells_run_in_the_recurrent_layers_of_keras(name, mode, tmp_path):
    inputs = keras.Input((None, 4))
    x = keras.layers.Masking()(inputs)
    if mode == "one direction":
        rnn = keras.layers.RNN(CELLS[name](), return_sequences=True, return_state=True)
    elif mode == "two directions":
        rnn = keras.layers.Bidirectional(keras.layers.RNN(CELLS[name](), return_sequences=True))
    else:
        rnn = keras.layers.RNN([keras.layers.GRUCell(4), CELLS["our lstm"]()])
    model = keras.Model(inputs, rnn(x))
    extract.randomize(model)
    steps = np.where(MASK[..., None], INPUTS, 0)
    outputs = model(steps)
    assert_all_close(model(steps[1:2, :3]), _first_steps(outputs))
    if mode == "one direction":
        cell = rnn.cell
        states = cell.get_initial_state(3)
        for index in range(5):
            output, states = cell(INPUTS[:, index], states)
            np.testing.assert_allclose(outputs[0][0, index], output[0], atol=1e-6)
        assert_all_close(
            [state[0] for state in keras.tree.flatten(states)],
            [state[0] for state in keras.tree.flatten(outputs[1:])],
        )
    model.save(tmp_path / "model.keras")
    assert_all_close(keras.saving.load_model(tmp_path / "model.keras")(steps), outputs, atol=0)


def _first_steps(outputs):
    """Return the real steps of row 1 of outputs."""
    return keras.tree.map_structure(
        lambda output: output[1:2, :3] if len(output.shape) == 3 else output[1:2],
        outputs,
    )


REFUSED = {
    "a layer": (keras.layers.LSTM(3), "bahdanau", "`cell` must be a Keras layer with a `state_"),
    "a name": ("gru", "bahdanau", "`cell` must be a Keras layer with a `state_size`"),
    "Keras' attention": (
        *(keras.layers.GRUCell(3), keras.layers.AdditiveAttention()),
        "`attention` must be an attention layer of this package",
    ),
    "forced": (
        keras.layers.GRUCell(3),
        "forced",
        "depend only on the memory",
    ),
    "hard": (
        *(keras.layers.GRUCell(3), layers.HardAlignment(units=5)),
        "depend only on the memory",
    ),
    "dropout": (keras.layers.GRUCell(3, dropout=0.5), "dot", "must not use dropout"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_parts_are_refused_in_one_line(name):
    cell, attention, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message) as error:
        kb.AttentionRNN(cell, attention)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((INPUTS[:, 0], MEMORY), {}, r"`inputs` must be \(batch, time, input_units\)"),
        ((INPUTS, MEMORY[:, 0]), {}, r"memory.shape=\(3, 3\)"),
        ((INPUTS, MEMORY, MASK[:, :4]), {}, r"`mask` must have shape \(3, 5\)"),
        ((INPUTS, MEMORY, None, MASK), {}, r"`memory_mask` must have shape \(3, 6\)"),
        (
            (INPUTS, MEMORY),
            {"initial_state": [MASK, MASK]},
            r"must be tensors .* sizes \[3\]",
        ),
    ],
)
def test_wrong_calls_are_refused_in_one_line(arguments, options, message):
    rnn = kb.AttentionRNN(keras.layers.GRUCell(3))
    with pytest.raises(ValueError, match=message):
        rnn(*arguments, **options)


def test_a_step_needs_a_built_layer():
    with pytest.raises(ValueError, match="must be built before a step"):
        kb.AttentionRNN(keras.layers.GRUCell(3)).prepare(MEMORY)
