"""The rewritten model is smaller, gives the same outputs, and rounds fewer values."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from frames import new_frames_pipeline
from functions_of_a_variable import Model

from keras_bahdanau.exporters.card import sha256
from keras_bahdanau.exporters.litert import conversion
from keras_bahdanau.exporters.litert.compress.rewriting import rewritten
from keras_bahdanau.exporters.litert.tflite_file import entries_of, read_metadata, unpack
from keras_bahdanau.files.integrity import parse_card
from keras_bahdanau.text.subwords import Subwords

FILTER = np.random.default_rng(0).normal(size=(5, 8, 32)).astype(np.float32)
FRAMES = tf.TensorSpec([1, 64, 8], tf.float32, "x")
ROW = tf.TensorSpec([1, 300], tf.float32, "x")
MATRIX = np.random.default_rng(4).normal(size=(300, 40)).astype(np.float32)
PLACES = np.random.default_rng(2).normal(size=(60, 96)).astype(np.float32)


def convolved(x, _):
    return tf.nn.conv1d(x, FILTER, stride=1, padding="VALID")


def placed(x, _):
    """A convolution with a value added to each position."""
    return convolved(x, None)[..., :1] + PLACES


def projected(x, _):
    """The product of a concatenation whose second part is 100 times smaller than the first."""
    parts = [tf.tanh(x[:, :180]), tf.tanh(x[:, 180:]) / 100]
    return tf.concat(parts, axis=1) @ MATRIX + tf.range(40.0)


def summed(x, _):
    """Ten times x, summed in a loop that starts with zeros, plus 2 to the power of its steps."""
    zeros, ones = tf.zeros([4, 300]), tf.ones([4, 300], tf.int32)
    rows, counts, _ = tf.while_loop(
        lambda rows, counts, step: step < 10,
        lambda rows, counts, step: (rows + x, counts * 2, step + 1),
        (zeros, ones, tf.constant(0)),
    )
    return rows + tf.cast(counts, tf.float32)


def converted(directory, function, spec, **options):
    model = Model(function, spec)
    tf.saved_model.save(model, directory / "saved", signatures={"decode": model.answer})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(directory / "saved"))
    for name, value in options.items():
        setattr(converter, name, value)
    return converter.convert()


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    return converted(tmp_path_factory.mktemp("loop"), summed, ROW)


@pytest.fixture(scope="module")
def convolution(tmp_path_factory):
    """A float convolution whose filter is stored in 8 bits."""
    directory = tmp_path_factory.mktemp("convolution")
    return converted(directory, convolved, FRAMES, optimizations=[tf.lite.Optimize.DEFAULT])


def answer(model, x):
    return Interpreter(model_content=model).get_signature_runner("decode")(x=x)["y"]


def tree_of(model):
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(model))


@pytest.mark.slow
def test_a_convolution_of_8_bits_rounds_its_filter_alone(convolution):
    frames = np.random.default_rng(1).normal(size=(64, 8))
    frames[40, 3] = 1000.0  # would make the 8-bit steps 4 wide in every frame
    scales = np.abs(FILTER.astype(np.float64)).max(axis=(0, 1)) / 127  # one per channel
    rounded = np.rint(FILTER / scales) * scales
    expected = sum(frames[place : place + 60] @ rounded[place] for place in range(5))
    x = frames[np.newaxis].astype(np.float32)
    (before,), (after,) = answer(convolution, x), answer(rewritten(convolution, "int8"), x)
    assert np.abs(before - expected).max() > 1  # the error of the converter's own rounding
    np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-3)
    assert len(rewritten(convolution, "int8")) < len(convolution)  # the filter remains in 8 bits


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("per_channel", [True, False])
def test_parts_of_a_joined_vector_and_their_signs_are_rounded_apart(per_channel, tmp_path):
    given = {
        "optimizations": [tf.lite.Optimize.DEFAULT],
        "_experimental_disable_per_channel_quantization_for_dense_layers": not per_channel,
    }
    before = converted(tmp_path, projected, ROW, **given)
    x = np.random.default_rng(5).normal(size=(1, 300))
    scale = np.abs(MATRIX.astype(np.float64)).max(axis=0 if per_channel else None) / 127
    matrix = np.rint(MATRIX / scale) * scale
    exact = expected = np.arange(40.0)
    for columns, size in ((slice(180), 1), (slice(180, 300), 100)):
        part = np.tanh(x[0, columns]) / size
        exact = exact + part @ matrix[columns]
        for half in (np.maximum(part, 0), np.minimum(part, 0)):
            step = np.abs(half).max() / 255
            expected = expected + np.rint(half / step) * step @ matrix[columns]
    after = rewritten(before, "int8")
    (old,), (new,) = (answer(model, x.astype(np.float32)) for model in (before, after))
    np.testing.assert_allclose(new, expected, atol=2e-3)
    assert np.abs(new - exact).max() < np.abs(old - exact).max() / 2
    assert len(after) < len(before) + 1000


@pytest.mark.slow
def test_a_joined_vector_of_floats_keeps_its_product(tmp_path):
    before = converted(tmp_path, projected, ROW)
    x = np.random.default_rng(5).normal(size=(1, 300)).astype(np.float32)
    np.testing.assert_array_equal(answer(before, x), answer(rewritten(before), x))
    counts = [len(tree_of(model).subgraphs[0].operators) for model in (before, rewritten(before))]
    assert counts[0] == counts[1]


@pytest.mark.slow
def test_a_table_that_is_added_is_of_8_bits_in_a_model_of_8_bits_alone(tmp_path):
    x = np.random.default_rng(3).normal(size=(1, 64, 8)).astype(np.float32)
    floats = rewritten(converted(tmp_path / "floats", placed, FRAMES))
    optimized = {"optimizations": [tf.lite.Optimize.DEFAULT]}
    before = converted(tmp_path / "int8", placed, FRAMES, **optimized)
    after = rewritten(before, "int8")
    assert len(after) < len(before) - 2.5 * PLACES.size  # 3 bytes saved per value, less the scales
    scale = np.abs(PLACES.astype(np.float64)).max(axis=0) / 127  # one for each column
    tables = [answer(model, x) - answer(model, x)[..., :1] for model in (floats, after)]
    expected = PLACES - PLACES[:, :1], np.rint(PLACES / scale) * scale
    np.testing.assert_allclose(tables[0][0], expected[0], atol=1e-4)
    np.testing.assert_allclose(tables[1][0], expected[1] - expected[1][:, :1], atol=1e-4)


def test_a_model_of_floats_is_not_rounded_for_constants_of_8_bits(tmp_path):
    """An export stores the part of a word that each token belongs to as an int8 constant."""
    parts = np.arange(8, dtype=np.int8)

    def looked_up(x, _):
        largest = tf.gather(parts, tf.argmax(x[0, :60], axis=-1, output_type=tf.int32))
        return placed(x, None) + tf.expand_dims(tf.cast(largest, tf.float32), axis=1)

    before = converted(tmp_path, looked_up, FRAMES)
    types = {tensor.type for graph in tree_of(before).subgraphs for tensor in graph.tensors}
    assert schema.TensorType.INT8 in types
    x = np.random.default_rng(3).normal(size=(1, 64, 8)).astype(np.float32)
    for quantization in (None, "float16"):
        new = rewritten(before, quantization)
        np.testing.assert_array_equal(answer(new, x), answer(before, x))


@pytest.mark.slow
def test_a_model_says_the_first_runtime_that_has_all_its_operations(convolution, loop):
    runtimes = [
        tuple(map(int, read_metadata(one)["min_runtime_version"].rstrip(b"\0").split(b".")))
        for one in (convolution, rewritten(convolution, "int8"), loop, rewritten(loop))
    ]
    # 2.7.0 added dequantization with one scale per channel, and 1.13.0 added FILL.
    assert runtimes[0] < runtimes[1] == (2, 7, 0)
    assert runtimes[2] == runtimes[3] > (1, 13, 0)


@pytest.mark.slow
def test_what_a_loop_begins_with_is_filled_at_run_time(loop):
    x = np.arange(300, dtype=np.float32)[np.newaxis]
    new = rewritten(loop)
    np.testing.assert_array_equal(answer(new, x), np.tile(10 * x + 2**10, (4, 1)))
    assert len(new) < len(loop) - 2 * 4 * 300 * 4  # the zeros and the ones

    def largest(model):
        return max(len(buffer.data) for buffer in tree_of(model).buffers if buffer.data is not None)

    assert largest(new) < 1024 <= largest(loop)


def test_only_inputs_and_outputs_of_signatures_keep_names(loop):
    def names(model):
        tree = tree_of(model)
        main = tree.subgraphs[tree.signatureDefs[0].subgraphIndex]
        public = [main.tensors[index].name for index in (*main.inputs, *main.outputs)]
        return (
            public,
            sum(len(graph.tensors) for graph in tree.subgraphs) - len(public),
            {
                tensor.name
                for graph in tree.subgraphs
                for index, tensor in enumerate(graph.tensors)
                if graph is not main or index not in (*main.inputs, *main.outputs)
            },
        )

    (before, _, _), (after, others, rest) = names(loop), names(rewritten(loop))
    assert after == before and all(after)
    assert others > 0 and rest == {None}


def test_equal_tensors_are_written_once(loop):
    def described(tensor):
        # Float tensors have no scale.
        return tensor.name, tensor.type, tensor.buffer, tensor.shape.tobytes()

    def read(model):
        graphs = entries_of(schema.Model.GetRootAs(model), "Subgraphs")
        tensors = [tensor for graph in graphs for tensor in entries_of(graph, "Tensors")]
        different = {described(schema.TensorT.InitFromObj(tensor)) for tensor in tensors}
        return len(tensors), len({tensor._tab.Pos for tensor in tensors}), len(different)

    count, written, _ = read(loop)
    assert written == count  # as the converter wrote them
    count, written, different = read(rewritten(loop))
    assert written == different < count


@pytest.mark.slow
def test_constants_are_aligned_and_no_second_buffer_is_empty(convolution):
    model = rewritten(convolution, "int8")
    root = schema.Model.GetRootAs(model)
    start = np.frombuffer(model, np.uint8).ctypes.data
    buffers = [root.Buffers(index).DataAsNumpy() for index in range(1, root.BuffersLength())]
    assert root.Buffers(0).DataIsNone() and len(buffers) > 3
    assert {(buffer.ctypes.data - start) % 16 for buffer in buffers} == {0}


@pytest.mark.few(1)
@pytest.mark.parametrize("beside", [("greedy",), ("greedy", "prefix")])
def test_a_vocabulary_that_splits_no_prefix_has_no_table_of_characters(loop, beside):
    pipeline = new_frames_pipeline()
    contents = unpack(conversion.packed(pipeline, loop, "float32", beside, 8, 5))
    packed, whole = contents.files["target.spm"], pipeline.target.model
    assert (packed == whole) == ("prefix" in beside)
    card = parse_card(contents.files["card.json"])
    assert card["vocabulary_sha256"]["target"] == sha256(packed) == card["sha256"]["target.spm"]
    ids = [[number] for number in range(4, pipeline.target.vocabulary_size)]
    assert Subwords(packed).decode(ids) == pipeline.target.decode(ids)
