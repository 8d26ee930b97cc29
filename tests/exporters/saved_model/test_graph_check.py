"""The check of a SavedModel finds everything that a server would refuse, and nothing else."""

import shutil

import numpy as np
import pytest
import tensorflow as tf
from functions_of_a_variable import ROWS, Model, counted, found, save, scaled
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from keras_bahdanau.exporters import check

SERVER, BATCHING, REST = (
    "TensorFlow Serving",
    "TensorFlow Serving's batching",
    "TensorFlow Serving's REST API",
)


def edit(directory, change):
    """Apply a change to the first graph of a SavedModel."""
    path = directory / "saved_model.pb"
    model = SavedModel.FromString(path.read_bytes())
    change(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString())


def cudnn(x, scale):
    state = x[None, :1]
    outputs = tf.raw_ops.CudnnRNN(
        input=x[None], input_h=state, input_c=state, params=scale, rnn_mode="gru"
    )
    return outputs.output[0]


def python(x, _):
    return tf.py_function(lambda x: x, [x], tf.float32)


def numpy(x, _):
    return tf.numpy_function(lambda x: x, [x], tf.float32, stateful=False)


def random(x, _):
    return x + tf.random.uniform([3])


def seeded(x, _):
    return x + tf.raw_ops.StatelessRandomUniform(shape=[3], seed=[1, 2])


def sampled(x, _):
    return tf.random.categorical(x, 1)


def random_in_a_loop(x, _):
    return tf.while_loop(
        lambda step, x: step < 3, lambda step, x: (step + 1, x + tf.random.normal([3])), [0, x]
    )[1]


def asserted(x, _):
    tf.debugging.assert_non_negative(x)
    return x


def finite(x, _):
    return tf.debugging.check_numerics(x, "not finite")


def overwritten(x, scale):
    return x + scale.scatter_nd_update([[0]], [1.0])


def reading(x, _):
    return x + tf.cast(tf.strings.length(tf.io.read_file("weights.txt")), tf.float32)


def writing(x, _):
    tf.io.write_file("log.txt", "asked")
    return x


def printing(x, _):
    tf.print(x)
    return x


def saving(x, _):
    tf.raw_ops.SaveV2(prefix="log", tensor_names=["x"], shape_and_slices=[""], tensors=[x])
    return x


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("function", "operation"),
    [
        (cudnn, "CudnnRNN"),
        (python, "EagerPyFunc"),
        (numpy, "PyFuncStateless"),
        (random, "RandomUniform"),
        (seeded, "StatelessRandomUniform"),
        (sampled, "Multinomial"),
        (random_in_a_loop, "RandomStandardNormal"),
        (asserted, "Assert"),
        (finite, "CheckNumerics"),
        (counted, "AssignAddVariableOp"),
        (overwritten, "ResourceScatterNdUpdate"),
        (reading, "ReadFile"),
        (writing, "WriteFile"),
        (printing, "PrintV2"),
        (saving, "SaveV2"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_harmful_operation_in_a_signature_is_found(tmp_path, function, operation):
    assert found(save(tmp_path, function)) == [(SERVER, f"{operation} in signature 'answer'")]


def test_compiled_signature_is_found(tmp_path):
    save(tmp_path, jit_compile=True)
    assert found(tmp_path) == [(SERVER, "_XlaMustCompile in signature 'answer'")]


@pytest.mark.parametrize(
    ("operation", "what"),
    [("XlaSharding", "XlaSharding in signature 'answer'"), ("MyCompany>Fancy", "MyCompany>Fancy")],
)
def test_operation_that_the_server_lacks_is_found(tmp_path, operation, what):
    def rename(graph):
        functions = graph.graph_def.library.function
        node = next(node for f in functions for node in f.node_def if node.op == "Tanh")
        node.op = operation

    edit(save(tmp_path, lambda x, _: tf.tanh(x)), rename)
    assert found(tmp_path) == [(SERVER, what)]


def test_what_no_signature_runs_is_not_found(tmp_path):
    model = Model(scaled)
    model.train = tf.function(lambda x: counted(random(x, None), model.scale), [ROWS])
    tf.saved_model.save(model, tmp_path, signatures={"answer": model.answer})
    graph = SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes()).meta_graphs[0]
    saved = {node.op for f in graph.graph_def.library.function for node in f.node_def}
    assert {"AssignAddVariableOp", "RandomUniform", "RestoreV2"} <= saved
    assert check(tmp_path) == []


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("function", "runtime"),
    [
        (lambda x, _: tf.RaggedTensor.from_tensor(x), SERVER),
        (lambda x, _: tf.sparse.from_dense(x), SERVER),
        (lambda x, _: tf.shape(x)[0], BATCHING),
        (lambda x, scale: scale, BATCHING),
        (lambda x, _: tf.cast(x, tf.float16), REST),
        (lambda x, _: tf.cast(x, tf.bfloat16), REST),
    ],
    ids=["ragged", "sparse", "scalar", "constant length", "float16", "bfloat16"],
)
def test_output_that_no_answer_carries_is_found(tmp_path, function, runtime):
    assert found(save(tmp_path, function)) == [(runtime, "output 'y' of signature 'answer'")]


def test_output_without_a_name_is_found(tmp_path):
    save(tmp_path)
    edit(tmp_path, lambda graph: graph.signature_def["answer"].outputs["y"].ClearField("name"))
    assert found(tmp_path) == [(SERVER, "output 'y' of signature 'answer'")]


@pytest.mark.parametrize("shape", [[], [2, 3]])
def test_input_without_a_batch_axis_is_found(tmp_path, shape):
    def positive(x, _):
        return tf.where(tf.reshape(x, [-1]) > 0)  # an unknown number of rows

    save(tmp_path, positive, tf.TensorSpec(shape, tf.float32, "x"))
    assert found(tmp_path) == [(BATCHING, "input 'x' of signature 'answer'")]


def test_graph_without_the_tag_of_the_server_is_found(tmp_path):
    edit(save(tmp_path), lambda graph: graph.meta_info_def.tags.append("gpu"))
    (finding,) = check(tmp_path)
    assert "'serve'" in finding.why


def test_saved_model_without_a_signature_is_found(tmp_path):
    tf.saved_model.save(tf.Module(), tmp_path)
    (finding,) = check(tmp_path)
    assert "no signature" in finding.why


def test_directory_that_is_no_saved_model_is_found(tmp_path):
    (tmp_path / "notes.txt").write_text("no model here")
    assert found(tmp_path) == [(SERVER, "the directory")]


def test_damaged_graph_is_found(tmp_path):
    path = save(tmp_path) / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:-100])
    assert found(tmp_path) == [(SERVER, "saved_model.pb")]


@pytest.mark.parametrize("damage", ["removed", "cut", "changed"])
def test_damaged_variables_are_found(tmp_path, damage):
    variables = save(tmp_path) / "variables"
    path = next(variables.glob("*.data-*"))
    content = path.read_bytes()
    place = content.index(np.float32([1, 2, 3]).tobytes())
    if damage == "removed":
        shutil.rmtree(variables)
    elif damage == "cut":
        path.write_bytes(content[:place])
    else:
        path.write_bytes(content[:place] + b"\x01" + content[place + 1 :])
    assert found(tmp_path) == [(SERVER, "variables/")]


def test_newest_of_several_versions_is_checked(tmp_path):
    save(tmp_path / "9")
    save(tmp_path / "10", random)
    save(tmp_path / ".unfinished-11", python)
    assert found(tmp_path) == [(SERVER, "RandomUniform in signature 'answer'")]


def test_exported_saved_model_is_clean(toy_saved_model):
    assert check(toy_saved_model) == check(toy_saved_model.parent) == []
