"""A converted graph gives TensorFlow's outputs in cases where tf2onnx alone does not."""

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from keras_bahdanau.exporters.onnx.onnx_conversion import convert, nodes_of

FLOATS = tf.TensorSpec((None, 8), tf.float32, "x")
FRAMES = 12  # points of a Fourier transform, not a power of 2
COUNTS = tf.TensorSpec((None,), tf.int32, "lengths")
PIXELS = tf.TensorSpec((None, 3), tf.uint8, "pixels")
WEIGHTS = np.eye(8, dtype=np.float32)[::-1].copy()  # reverses a row


class Graph(tf.Module):
    def __init__(self):
        self.weights = tf.Variable(WEIGHTS)

    @tf.function(input_signature=[FLOATS, COUNTS, PIXELS], autograph=False)
    def answer(self, x, lengths, pixels):
        spectrum = tf.signal.rfft(tf.stack([x, -x], axis=1), fft_length=[FRAMES])

        def step(number, values):
            return number + 1, tf.matmul(values, self.weights) + 1.0

        _, looped = tf.while_loop(
            lambda number, _: number < 3, step, (0, x), maximum_iterations=tf.shape(x)[1]
        )
        return {
            "lengths": lengths // 3,  # also the name of an input
            "remainder": lengths % tf.constant(-3),
            "selected": tf.where(tf.abs(x) <= 10.0, x, 0.0),
            "padded": tf.pad(pixels, [[0, 0], [1, 2]], constant_values=7),
            "real": tf.math.real(spectrum),
            "imaginary": tf.math.imag(spectrum),
            "looped": looped,
            "pairs": tf.reshape(x, (2 * tf.shape(x)[0], tf.shape(x)[1] // 2)),
        }


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("graph")
    graph = Graph()
    tf.saved_model.save(graph, directory, signatures={"answer": graph.answer})
    axes = {"x": ("batch",), "padded": ("batch", "width")}
    return convert(directory, "answer", directory / "graph.onnx", axes=axes), directory


@pytest.fixture(scope="module")
def run(model):
    session = onnxruntime.InferenceSession(model[0].SerializeToString())
    names = [value.name for value in session.get_outputs()]

    def run(x=((0.0,) * 8,), lengths=(0,), pixels=((0, 0, 0),)):
        tensors = {
            "x": np.array(x, np.float32),
            "lengths": np.array(lengths, np.int32),
            "pixels": np.array(pixels, np.uint8),
        }
        return dict(zip(names, session.run(None, tensors), strict=True))

    return run


def test_an_output_with_the_name_of_an_input_gets_another_one(model):
    graph = model[0].graph
    assert {value.name for value in graph.input} == {"x", "lengths", "pixels"}
    assert {value.name for value in graph.output} >= {"lengths_out", "remainder", "selected"}


def test_integers_are_divided_as_python_does(run):
    numbers = [-7, -3, -1, 0, 1, 7, -(2**31)]
    outputs = run(lengths=numbers)
    assert outputs["lengths_out"].tolist() == [number // 3 for number in numbers]
    assert outputs["remainder"].tolist() == [number % -3 for number in numbers]


def test_a_number_that_is_not_selected_leaves_no_trace(run):
    x = [[np.nan, np.inf, -np.inf, 1e38, 3.0, -10.0, 0.0, 11.0]]
    assert run(x=x)["selected"].tolist() == [[0, 0, 0, 0, 3, -10, 0, 0]]


def test_bytes_are_padded_with_their_value(run):
    padded = run(pixels=[[1, 255, 3]])["padded"]
    assert padded.dtype == np.uint8 and padded.tolist() == [[7, 1, 255, 3, 7, 7]]


def test_a_spectrum_has_its_real_and_imaginary_part(run):
    x = np.random.default_rng(0).normal(size=(2, 8))
    outputs, expected = run(x=x), np.fft.rfft(np.stack([x, -x], axis=1), n=FRAMES)
    np.testing.assert_allclose(outputs["real"], expected.real, atol=1e-5)
    np.testing.assert_allclose(outputs["imaginary"], expected.imag, atol=1e-5)


def test_a_loop_reads_its_weights_from_outside(run, model):
    (loop,) = (node for node in nodes_of(model[0].graph) if node.op_type == "Loop")
    assert len(loop.output) <= 3 and not [name for name in loop.output if "eadvariable" in name]
    x = np.arange(8.0)
    assert run(x=[x])["looped"].tolist() == [(x[::-1] + 3).tolist()]


def test_no_row_has_a_shape_like_any_other_number_of_rows(run):
    nothing = {"x": np.zeros((0, 8)), "lengths": [], "pixels": np.zeros((0, 3))}
    outputs = run(**nothing)
    assert outputs["pairs"].shape == (0, 4) and outputs["selected"].shape == (0, 8)
    assert run(x=[range(8)])["pairs"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_axes_have_the_names_that_are_given(model):
    axes = {
        value.name: [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in (*model[0].graph.input, *model[0].graph.output)
    }
    assert axes["x"] == ["batch", 8] and axes["padded"] == ["batch", 6]


def test_the_model_is_valid_and_holds_standard_operations_alone(model):
    proto, directory = model
    onnx.checker.check_model(proto, full_check=True)
    assert {entry.domain for entry in proto.opset_import} == {""}
    assert onnx.load(directory / "graph.onnx") == proto


def test_an_operation_that_onnx_lacks_is_named_with_its_place(tmp_path):
    module = tf.Module()

    @tf.function(input_signature=[FLOATS], autograph=False)
    def answer(x):
        with tf.name_scope("beta"):
            return {"y": tf.math.betainc(x, x, x)}

    tf.saved_model.save(module, tmp_path, signatures={"answer": answer})
    with pytest.raises(ValueError, match="Received: Betainc in .*beta.*Rewrite that step"):
        convert(tmp_path, "answer")
