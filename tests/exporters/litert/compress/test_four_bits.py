"""Matrices in 4 bits: their values, their products, and the tensors that stay in 8 bits."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from functions_of_a_variable import Model

import keras_bahdanau as kb
from keras_bahdanau.exporters.litert.compress.rewriting import rewritten
from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator
from keras_bahdanau.exporters.litert.tflite_file import read_metadata

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(90, 48)).astype(np.float32)
FILTER = RANDOM.normal(size=(5, 8, 32)).astype(np.float32)
IDS = tf.TensorSpec([1, 6], tf.int32, "x")


def floats_of(directory, function, spec):
    """Convert a function to a float model with the signature `decode`."""
    model = Model(function, spec)
    tf.saved_model.save(model, directory / "saved", signatures={"decode": model.answer})
    return tf.lite.TFLiteConverter.from_saved_model(str(directory / "saved")).convert()


def answer(model, x):
    return Interpreter(model_content=model).get_signature_runner("decode")(x=x)["y"]


def sizes(model):
    """Return the type name and the size in bytes of each constant that has a scale."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model))
    names = {schema.TensorType.INT4: "int4", schema.TensorType.INT8: "int8"}
    found = {}
    for graph in tree.subgraphs:
        for tensor in graph.tensors:
            data = tree.buffers[tensor.buffer].data
            if tensor.type in names and data is not None:
                found[tensor.buffer] = names[tensor.type], len(data)
    return sorted(found.values())


def rounded(weight, axis):
    """Round to the nearest of 255 levels in float64, with one scale for all values along `axis`."""
    weight = weight.astype(np.float64)
    scale = np.abs(weight).max(axis=axis, keepdims=True) / 127
    return np.rint(weight / scale) * scale


def rounded_to_4_bits(matrix):
    """Round each column to 15 levels, with the step size of the least error, in float64."""
    matrix = matrix.astype(np.float64)
    largest = np.abs(matrix).max(axis=0)
    widest = np.where(largest, largest, 1.0) / 7
    scales = np.arange(50, 101, 5)[:, None, None] / 100 * widest  # -> (sizes tried, 1, outputs)
    tried = np.clip(np.rint(matrix / scales), -7, 7) * scales
    best = np.square(tried - matrix).sum(axis=1).argmin(axis=0)
    return tried[best, :, np.arange(len(best))].T


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "inputs,outputs,rows", [(301, 40, 4), (16, 1100, 1), (300, 40, 1), (129, 9, 2)]
)
def test_a_product_has_a_matrix_of_4_bits_with_a_scale_for_each_output(
    inputs, outputs, rows, tmp_path
):
    columns = RANDOM.uniform(0.01, 10, size=outputs)  # with very different magnitudes
    matrix = (RANDOM.normal(size=(inputs, outputs)) * columns).astype(np.float32)
    spec = tf.TensorSpec([rows, inputs], tf.float32, "x")
    before = floats_of(tmp_path, lambda x, _: x @ matrix + tf.range(float(outputs)), spec)
    x = RANDOM.normal(size=(rows, inputs)).astype(np.float32)
    nearest = rounded_to_4_bits(matrix)
    expected = x @ nearest + np.arange(outputs)
    new = rewritten(before, "int4")
    # The input has 255 levels per row, so each value is off by at most half a step.
    step = np.ptp(x, axis=1, keepdims=True) / 255
    error = np.abs(answer(new, x) - expected)
    assert (error <= step * np.abs(nearest).sum(axis=0) / 2 + 1e-3).all()
    assert error.mean() < np.abs(x @ matrix - x @ nearest).mean() / 5
    assert sizes(new) == [("int4", (inputs * outputs + 1) // 2)]  # the bias is never rounded
    assert read_metadata(new)["min_runtime_version"].rstrip(b"\0") == b"2.17.0"


@pytest.mark.slow
def test_zeros_and_small_matrices_stay(tmp_path):
    small, matrix = np.eye(31, dtype=np.float32), RANDOM.normal(size=(31, 40)).astype(np.float32)
    matrix[:, 3] = 0  # an output that has no scale
    spec = tf.TensorSpec([1, 31], tf.float32, "x")
    new = rewritten(floats_of(tmp_path, lambda x, _: x @ small @ matrix, spec), "int4")
    x = np.ones((1, 31), np.float32)
    np.testing.assert_allclose(answer(new, x), x @ rounded_to_4_bits(matrix), atol=1e-2)
    assert not answer(new, x)[0, 3]
    assert sizes(new) == [("int4", 31 * 20)]


def tied_to(table):
    """Return a function that looks up rows of a table and multiplies their tanh by that table."""

    def tied(x, _):
        rows = tf.gather(table, x[0])  # (6, 48)
        return tf.concat([rows, tf.tanh(rows) @ tf.transpose(table)], axis=1)

    return tied


@pytest.mark.slow
def test_a_small_table_that_is_looked_up_has_8_bits_also_in_a_product(tmp_path):
    new = rewritten(floats_of(tmp_path, tied_to(TABLE), IDS), "int4")
    ids = np.array([[1, 89, 0, 5, 5, 40]], np.int32)
    found = answer(new, ids)
    nearest = rounded(TABLE, axis=None)
    np.testing.assert_allclose(found[:, :48], nearest[ids[0]], atol=1e-6)
    np.testing.assert_allclose(found[:, 48:], np.tanh(nearest[ids[0]]) @ nearest.T, atol=0.15)
    assert sizes(new) == [("int8", TABLE.size)]  # stored once


def test_a_large_table_that_is_looked_up_has_4_bits_and_a_scale_for_each_row(tmp_path):
    rows = RANDOM.uniform(0.1, 10, size=(1400, 1))  # with very different magnitudes
    table = (RANDOM.normal(size=(1400, 48)) * rows).astype(np.float32)
    new = rewritten(floats_of(tmp_path, tied_to(table), IDS), "int4")
    ids = np.array([[1, 1399, 0, 5, 5, 740]], np.int32)
    found, nearest = answer(new, ids), rounded_to_4_bits(table.T).T
    np.testing.assert_allclose(found[:, :48], nearest[ids[0]], rtol=1e-5, atol=1e-6)
    error = np.abs(found[:, 48:] - np.tanh(nearest[ids[0]]) @ nearest.T)
    # The product's input is rounded to 8 bits.
    assert (error <= 2 / 255 * np.abs(nearest).sum(axis=1) / 2 + 1e-3).all()
    assert sizes(new) == [("int4", table.size // 2)]  # stored once
    assert read_metadata(new)["min_runtime_version"].rstrip(b"\0") == b"2.17.0"


@pytest.mark.slow
def test_a_large_table_that_no_product_shares_has_its_scales_once(tmp_path):
    table = RANDOM.normal(size=(20000, 8)).astype(np.float32)
    before = floats_of(tmp_path, lambda x, _: tf.gather(table, x[0]), IDS)
    new = rewritten(before, "int4")
    ids = np.array([[1, 39, 0, 5, 5, 19999]], np.int32)
    nearest = rounded_to_4_bits(table[ids[0]].T).T
    np.testing.assert_allclose(answer(new, ids), nearest, rtol=1e-5, atol=1e-6)
    assert len(new) < table.size // 2 + 20000 * 4 + 4096  # values, scales and the graph


@pytest.mark.slow
def test_a_joined_vector_is_split_also_where_no_table_has_8_bits(tmp_path):
    table, matrix = (RANDOM.normal(size=size).astype(np.float32) for size in ((1400, 48), (96, 40)))

    def joined(x, _):
        rows = tf.gather(table, x[0])
        return tf.concat([tf.tanh(rows), rows / 1000], axis=1) @ matrix

    new = rewritten(floats_of(tmp_path, joined, IDS), "int4")
    ids = np.array([[1, 39, 0, 5, 5, 740]], np.int32)
    rows, nearest = rounded_to_4_bits(table[ids[0]].T).T, rounded_to_4_bits(matrix)
    expected = np.tanh(rows) @ nearest[:48] + rows / 1000 @ nearest[48:]
    assert np.abs(answer(new, ids) - expected).max() < 0.3
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(new))
    codes = [tree.operatorCodes[one.opcodeIndex] for one in tree.subgraphs[0].operators]
    products = [one.builtinCode for one in codes].count(schema.BuiltinOperator.FULLY_CONNECTED)
    assert products == 4  # for two vectors, each split by sign


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "axis,shape", [(0, (1400, 49)), (1, (48, 1400)), (0, (70000,)), (0, (60, 40, 32))]
)
def test_a_large_table_has_8_bits_if_it_has_no_rows_of_whole_bytes(axis, shape, tmp_path):
    table = RANDOM.normal(size=shape).astype(np.float32)
    before = floats_of(tmp_path, lambda x, _: tf.gather(table, x[0], axis=axis), IDS)
    ids = np.array([[1, 39, 0, 5, 5, 40]], np.int32)
    new = rewritten(before, "int4")
    nearest = np.take(rounded(table, axis=None), ids[0], axis=axis)
    np.testing.assert_allclose(answer(new, ids), nearest, atol=1e-5)
    assert sizes(new) == [("int8", table.size)]


@pytest.mark.slow
def test_a_convolution_has_a_filter_of_8_bits_and_rounds_no_input(tmp_path):
    def convolved(x, _):
        return tf.nn.conv1d(x, FILTER, stride=1, padding="VALID")

    spec = tf.TensorSpec([1, 64, 8], tf.float32, "x")
    new = rewritten(floats_of(tmp_path, convolved, spec), "int4")
    x = RANDOM.normal(size=(1, 64, 8)).astype(np.float32)
    nearest = rounded(FILTER, axis=(0, 1))
    expected = sum(x[0, place : place + 60] @ nearest[place] for place in range(5))
    np.testing.assert_allclose(answer(new, x)[0], expected, rtol=1e-4, atol=1e-4)
    assert sizes(new) == [("int8", FILTER.size)]


@pytest.mark.slow
def test_a_translator_in_4_bits_answers_nearly_as_its_keras_model_with_rounded_weights(
    toy_translator, tmp_path
):
    from keras_bahdanau.optimizers.rounded_weights import round_weights

    path = tmp_path / "rounded.keras"
    toy_translator.save(path)
    nearest = kb.Translator.load(path)
    round_weights(nearest.model, "int4")
    settings = {"max_source_length": 24, "signatures": (), "allow_differences": True}
    file = kb.export_litert(nearest, tmp_path / "toy.tflite", "int4", **settings)
    sentences = ["one", "two three", "five four one", "three three two", "four one"]
    expected = [result.text for result in nearest.translate(sentences)]
    found = [result.text for result in OnDeviceTranslator(file).translate(sentences)]
    assert found == expected
