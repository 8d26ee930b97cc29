"""A unidirectional reader with every kind of cell: Keras layers and scanned cells."""

import json

import extract
import keras
import modes
import numpy as np
import pytest
import reference
import tensorflow as tf

from keras_bahdanau.layers.cells.keras_cell import CELLS
from keras_bahdanau.layers.readers.reader import STOCK, ScannedRNN, new_rnn
from keras_bahdanau.migrate.recurrent_weights import WholeStateLSTMCell

INPUTS = np.random.default_rng(7).normal(size=(3, 4, 2)).astype("float32")


def built(cell, **kwargs):
    rnn = new_rnn(cell, 5, **kwargs)
    rnn.build(INPUTS.shape)
    return extract.randomize(rnn)


def kinds():
    return [*CELLS, keras.layers.LSTMCell(5)]


def simple(x, h, W, U, b):
    return np.tanh(x @ W + h @ U + b)


def gru(x, h, W, U, b):
    b, c = b
    return reference.GRU(W, U, b, c)(x, (h,))[0]


def gru_reset_before(x, h, W, U, b):
    """Bahdanau et al. (2015), appendix A.1.1, with z and 1 - z swapped."""
    x_z, x_r, x_g = np.split(x @ W + b, 3)
    u_z, u_r, u_g = np.split(U, 3, axis=1)
    z, r = reference.sigmoid(x_z + h @ u_z), reference.sigmoid(x_r + h @ u_r)
    return z * h + (1 - z) * np.tanh(x_g + (r * h) @ u_g)


@pytest.mark.parametrize(
    ("cell", "step"),
    [("simple", simple), ("gru", gru), ("gru-reset-before", gru_reset_before)],
)
def test_keras_layers_compute_the_equations(run, cell, step):
    rnn = built(cell)
    W, U, b = extract.arrays(rnn)
    for row, inputs in enumerate(run(rnn, INPUTS)):
        h = np.zeros(5)
        for x, found in zip(INPUTS[row], inputs, strict=True):
            h = step(x, h, W, U, b)
            np.testing.assert_allclose(found, h, atol=1e-5)


@pytest.mark.few(1)
@modes.eager_is_slow
@pytest.mark.parametrize("cell", ["layer-norm-gru", "layer-norm-lstm", keras.layers.LSTMCell(5)])
def test_a_scanned_cell_gives_what_it_says_step_by_step(run, cell):
    rnn = built(cell)
    assert isinstance(rnn, ScannedRNN)
    states = tuple(np.zeros((3, size), "float32") for size in rnn.cell.state_sizes)
    expected = []
    for t in range(4):
        said, states = rnn.cell(INPUTS[:, t], states)
        expected.append(said)
    np.testing.assert_allclose(run(rnn, INPUTS), np.stack(expected, axis=1), atol=1e-6)


@pytest.mark.parametrize("cell", ["ssru", "sru", "min-gru", "min-lstm"])
def test_in_float64_a_parallel_encoder_gives_what_its_steps_give(cell):
    """The encoder computes the products of all steps together; single steps must be equal."""
    rnn = built(cell, dtype="float64")
    inputs = INPUTS.astype("float64")
    states = tuple(np.zeros((3, size)) for size in rnn.cell.state_sizes)
    expected = []
    for t in range(4):
        output, states = rnn.cell(inputs[:, t], states)
        expected.append(output)
    found = rnn(inputs)
    assert found.dtype == "float64"
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=0, atol=1e-14)


@pytest.mark.parametrize("cell", STOCK)
def test_recurrent_dropout_scans_the_same_kind_of_cell(cell):
    stock, scanned = built(cell), built(cell, recurrent_dropout=0.5)
    assert isinstance(scanned.cell, CELLS[cell])
    assert scanned.count_params() == stock.count_params()
    plain = scanned(INPUTS)
    np.testing.assert_array_equal(scanned(INPUTS, training=False), plain)
    assert not np.allclose(scanned(INPUTS, training=True), plain)


def test_recurrent_dropout_is_one_choice_for_all_steps():
    """With U = 1 and nothing else, each unit is kept and scaled, or dropped, at every step."""
    rnn = new_rnn("simple", 6, recurrent_dropout=0.5)
    rnn.build((None, None, 6))
    for weight, value in zip(
        rnn.trainable_variables, (np.eye(6), np.zeros(6), np.eye(6)), strict=True
    ):
        weight.assign(value)
    inputs = np.zeros((40, 3, 6), "float32")
    inputs[:, 0] = 1e-3  # small, so that tanh x = x
    found = np.asarray(rnn(inputs, training=True)) / 1e-3
    kept = found[:, 1] > 0
    np.testing.assert_allclose(found[:, 1], 2.0 * kept, atol=1e-3)
    np.testing.assert_allclose(found[:, 2], 4.0 * kept, atol=1e-3)
    assert 0.3 < kept.mean() < 0.7


@pytest.mark.few(2)
@pytest.mark.parametrize("recurrent_dropout", [0.0, 0.5])
@pytest.mark.parametrize("cell", STOCK)
def test_nothing_random_is_left_in_an_inference_graph(cell, recurrent_dropout):
    rnn = built(cell, recurrent_dropout=recurrent_dropout)
    graph = tf.function(lambda inputs: rnn(inputs, training=False))
    graph = graph.get_concrete_function(tf.TensorSpec((None, None, 2))).graph
    functions = [graph, *(function.graph for function in graph._functions.values())]
    types = {operation.type for one in functions for operation in one.get_operations()}
    assert not [name for name in types if "Random" in name or "Assign" in name]


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["simple", "layer-norm-lstm", keras.layers.LSTMCell(5)])
def test_it_runs_under_xla_with_a_gradient(cell):
    rnn = built(cell)
    expected = modes.eager(rnn, INPUTS)
    np.testing.assert_allclose(modes.xla(rnn, INPUTS), expected, atol=1e-6)

    def gradients(inputs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(rnn(inputs) ** 2)
        return tape.gradient(loss, rnn.trainable_variables)

    for one, other in zip(
        modes.xla(gradients, INPUTS), modes.graph(gradients, INPUTS), strict=True
    ):
        assert np.any(one)
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.few(2)
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16", "float16"])
@pytest.mark.parametrize("cell", kinds(), ids=[*CELLS, "LSTMCell of Keras"])
def test_half_precision_is_near(cell, policy):
    rnn = built(cell, dtype=policy)
    found = rnn(INPUTS)
    assert found.dtype == rnn.compute_dtype
    np.testing.assert_allclose(np.float32(found), built(cell)(INPUTS), atol=0.1)


@pytest.mark.parametrize("recurrent_dropout", [0.0, 0.2])
def test_a_recurrent_matrix_starts_orthogonal_under_every_policy(recurrent_dropout):
    for policy in ("float32", "bfloat16"):
        rnn = new_rnn("gru", 4, recurrent_dropout, dtype=policy)
        rnn.build(INPUTS.shape)
        (U,) = [weight for weight in rnn.trainable_variables if weight.shape == (4, 12)]
        U = np.float64(np.float32(U))
        np.testing.assert_allclose(U @ U.T, np.eye(4), atol=0.02)


def test_a_scanned_layer_round_trips_through_its_config():
    rnn = ScannedRNN(CELLS.get("layer-norm-gru", 5, recurrent_dropout=0.1), name="mine")
    config = json.loads(json.dumps(rnn.get_config()))
    assert ScannedRNN.from_config(config).get_config() == rnn.get_config()
    assert rnn.compute_output_shape((None, None, 2)) == (None, None, 5)


def test_a_cell_whose_output_is_wider_than_its_state_is_scanned(run):
    """The output is [h; c] by the equations of an LSTM."""
    rnn = new_rnn(WholeStateLSTMCell(5), 10)
    rnn.build(INPUTS.shape)
    cell = reference.LSTM(*extract.arrays(extract.randomize(rnn)))
    for row, outputs in enumerate(run(rnn, INPUTS)):
        state = cell.first()
        for x, found in zip(INPUTS[row], outputs, strict=True):
            state = cell(x, state)
            np.testing.assert_allclose(found, np.concatenate(state), atol=1e-5)


def test_the_cell_must_be_known():
    with pytest.raises(ValueError, match="`cell` must be one of 'simple', 'gru',.*'rnn'"):
        new_rnn("rnn", 5)
    with pytest.raises(TypeError, match="`cell` must be a Keras layer with a `state_size`"):
        new_rnn(3, 5)
    with pytest.raises(ValueError, match="`units` must equal the width.*7.*Received: units=5"):
        new_rnn(keras.layers.GRUCell(7), 5)
