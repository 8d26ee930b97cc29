"""Recurrent layers with W x computed before the loop, against Keras' own layers in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau.exporters.projected_inputs import projected_inputs

LAYERS = {
    "simple": lambda **options: keras.layers.SimpleRNN(5, **options),
    "gru": lambda **options: keras.layers.GRU(5, **options),
    "gru, reset before": lambda **options: keras.layers.GRU(5, reset_after=False, **options),
    "gru, other activations": lambda **options: keras.layers.GRU(
        5, activation="relu", recurrent_activation="hard_sigmoid", **options
    ),
    "lstm": lambda **options: keras.layers.LSTM(5, **options),
    "lstm, other activations": lambda **options: keras.layers.LSTM(
        5, activation="softsign", recurrent_activation="hard_sigmoid", **options
    ),
    "rnn of a cell": lambda **options: keras.layers.RNN(
        keras.layers.LSTMCell(5, dtype="float64"), **options
    ),
}
OPTIONS = {
    "last output": {},
    "all outputs": {"return_sequences": True},
    "states": {"return_sequences": True, "return_state": True},
    "backwards": {"return_sequences": True, "go_backwards": True, "return_state": True},
    "backwards, last": {"go_backwards": True},
    "unrolled": {"return_sequences": True, "unroll": True},
}


def both(layer, *arguments, **keywords):
    """Return the outputs of a layer as lists of arrays: Keras' own, and with W x before the loop.

    All weights become random: Keras' biases start at zero, and a missing one would change nothing.
    """
    layer(*arguments, **keywords)
    random = np.random.default_rng(1)
    layer.set_weights([random.normal(size=w.shape) * 0.5 for w in layer.get_weights()])
    expected = keras.tree.flatten(layer(*arguments, **keywords))
    with projected_inputs(layer._flatten_layers()):
        outputs = keras.tree.flatten(layer(*arguments, **keywords))
    assert not any("inner_loop" in vars(one) for one in layer._flatten_layers())
    return [*map(np.asarray, expected)], [*map(np.asarray, outputs)]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", LAYERS)
def test_outputs_and_states_equal_those_of_keras(name, options):
    # two steps in each iteration or one; W x computed before the loop, or in the loop
    for time, features in ((6, 4), (6, 1), (7, 1)):
        layer = LAYERS[name](dtype="float64", **OPTIONS[options])
        inputs = np.random.default_rng(0).normal(size=(3, time, features))
        for expected, output in zip(*both(layer, inputs), strict=True):
            np.testing.assert_allclose(output, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["simple", "gru", "lstm"])
@pytest.mark.parametrize("bias", [True, False])
def test_initial_states_and_masks_are_respected(name, bias):
    layer = LAYERS[name](dtype="float64", return_sequences=True, use_bias=bias)
    random = np.random.default_rng(0)
    inputs, mask = random.normal(size=(3, 6, 4)), np.arange(6) < [[6], [2], [4]]
    states = [random.normal(size=(3, 5)) for _ in range(2 if name == "lstm" else 1)]
    forms = [{"initial_state": states}, {"mask": mask}]
    if name != "simple":
        forms.append({"mask": [mask]})  # only GRU and LSTM accept a list
    for keywords in forms:
        (expected,), (output,) = both(layer, inputs, **keywords)
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-14)


def test_wrappers_with_steps_of_unknown_number():
    layer = keras.layers.Bidirectional(LAYERS["lstm"](dtype="float64", return_sequences=True))
    layer.build((None, None, 4))
    call = tf.function(layer, input_signature=[tf.TensorSpec((None, None, 4), tf.float64)])
    inputs = np.random.default_rng(0).normal(size=(2, 5, 4))
    expected = layer(inputs).numpy()
    with projected_inputs(layer._flatten_layers()):
        output = call(inputs).numpy()
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-14)


class Doubled(keras.layers.LSTM):
    """A subclass that computes something else in its loop."""

    def inner_loop(self, sequences, initial_state, mask, training=False):
        return super().inner_loop(2 * sequences, initial_state, mask, training)


def test_a_subclass_and_a_replaced_method_are_left_as_they_are():
    (expected,), (output,) = both(Doubled(5, dtype="float64"), np.ones((2, 6, 4)))
    np.testing.assert_array_equal(output, expected)
    layer = LAYERS["lstm"](dtype="float64")
    layer.cell.call = lambda inputs, states, training=False: (states[0] + 1, states)
    (expected,), (output,) = both(layer, np.ones((2, 6, 4)))
    np.testing.assert_array_equal(output, expected)
    layer = LAYERS["lstm"](dtype="float64")
    own = layer.inner_loop = lambda sequences, **arguments: (sequences[:, 0], sequences, [])
    with projected_inputs([layer]):
        assert layer.inner_loop is own
    assert layer.inner_loop is own


def test_two_layers_share_a_cell():
    cell = keras.layers.GRUCell(5, dtype="float64")
    inputs = keras.Input((6, 4), dtype="float64")
    first = keras.layers.RNN(cell, return_sequences=True, dtype="float64")(inputs)
    second = keras.layers.RNN(cell, go_backwards=True, dtype="float64")(inputs)
    (expected, *_), (output, *_) = both(keras.Model(inputs, [first, second]), np.ones((2, 6, 4)))
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-14)


def test_a_step_of_a_litert_file_reads_only_the_recurrent_weights(tmp_path):
    series = keras.Input((20, 48))
    model = keras.Model(series, keras.layers.LSTM(32, return_sequences=True)(series))
    path = kb.export_litert(model, tmp_path / "model.tflite")
    from keras_bahdanau.exporters.litert.tflite_file import load_schema, unpack

    schema = load_schema()
    root = schema.Model.GetRootAs(unpack(path.read_bytes()).model)
    widths = []  # shapes of the weights in the bodies of loops
    for number in range(1, root.SubgraphsLength()):
        graph = root.Subgraphs(number)
        for index in range(graph.OperatorsLength()):
            operator = graph.Operators(index)
            code = root.OperatorCodes(operator.OpcodeIndex()).BuiltinCode()
            if code == schema.BuiltinOperator.FULLY_CONNECTED:
                widths.append([*graph.Tensors(operator.Inputs(1)).ShapeAsNumpy()])
    assert widths == [[128, 32], [128, 32]]  # two steps in each pass


def test_an_8_bit_onnx_file_is_as_exact_in_quiet_steps_as_in_loud_ones(tmp_path):
    series = keras.Input((40, 16), name="series")
    model = keras.Model(series, keras.layers.GRU(16, return_sequences=True, name="out")(series))
    random = np.random.default_rng(0)
    inputs = random.normal(size=(1, 40, 16)).astype("float32") * 0.1
    inputs[:, 20:] *= 100
    kb.export_onnx(model, tmp_path / "model.onnx", quantization="int8")
    output = kb.runners.ArrayModel(tmp_path / "model.onnx")({"series": inputs})["out"]
    assert np.abs(output - model(inputs))[:, :20].max() < 0.01
