"""Loops that several signatures share are stored once, and no output changes."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from keras_bahdanau.exporters.litert.compress.rewriting import rewritten

MATRIX = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32) / 3
ROW = tf.TensorSpec([1, 8], tf.float32, "x")
STEPS = 4


def looped(body, x):
    return tf.while_loop(lambda step, x: step < STEPS, lambda step, x: (step + 1, body(x)), [0, x])[
        1
    ]


def by_matrix(x):
    return tf.tanh(x @ tf.constant(MATRIX))


class Model(tf.Module):
    """Three signatures: two share all their loops, and the third has a different outer loop."""

    @tf.function(input_signature=[ROW])
    def first(self, x):
        return {"y": looped(lambda x: looped(by_matrix, x) + 1.0, x)}

    @tf.function(input_signature=[ROW])
    def second(self, x):
        return {"y": 2.0 * looped(lambda x: looped(by_matrix, x) + 1.0, x + 1.0)}

    @tf.function(input_signature=[ROW])
    def third(self, x):
        return {"y": looped(lambda x: looped(by_matrix, x) - 1.0, x)}


def expected(name, x):
    """Compute the outputs of a signature in float64."""
    x = x + 1.0 if name == "second" else x
    for _ in range(STEPS):
        for _ in range(STEPS):
            x = np.tanh(x @ MATRIX.astype(np.float64))
        x = x - 1.0 if name == "third" else x + 1.0
    return 2 * x if name == "second" else x


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("shared") / "saved")
    model = Model()
    signatures = {name: getattr(model, name) for name in ("first", "second", "third")}
    tf.saved_model.save(model, path, signatures=signatures)
    return tf.lite.TFLiteConverter.from_saved_model(path).convert()


def test_equal_loops_are_kept_once_and_others_stay(before):
    trees = [
        schema.ModelT.InitFromObj(schema.Model.GetRootAs(model))
        for model in (before, rewritten(before))
    ]
    assert [len(tree.subgraphs) for tree in trees] == [
        3 + 3 * 4,
        # All share both conditions and the inner body; `third` has a separate outer body.
        3 + 2 + 1 + 2,
    ]
    names = [
        {signature.signatureKey: tree.subgraphs[signature.subgraphIndex].name}
        for tree in trees
        for signature in tree.signatureDefs
    ]
    assert names[:3] == names[3:]
    matrices = [
        sum(
            buffer.data is not None and buffer.data.nbytes == MATRIX.nbytes
            for buffer in one.buffers
        )
        for one in trees
    ]
    assert matrices[1] == 1


def test_signatures_in_turns_answer_as_before(before):
    runners = [
        {name: interpreter.get_signature_runner(name) for name in interpreter.get_signature_list()}
        for interpreter in (
            Interpreter(model_content=model) for model in (before, rewritten(before))
        )
    ]
    random = np.random.default_rng(1)
    for name in [*runners[0]] * 3:
        x = random.normal(size=(1, 8))
        answers = [runner[name](x=x.astype(np.float32))["y"] for runner in runners]
        np.testing.assert_array_equal(*answers)
        np.testing.assert_allclose(answers[1], expected(name, x), atol=1e-5)


class Alike(tf.Module):
    """Two signatures: one repeats the computation of the other and adds to it."""

    @tf.function(input_signature=[ROW])
    def short(self, x):
        return {"y": by_matrix(by_matrix(x) + 1.0)}

    @tf.function(input_signature=[ROW])
    def long(self, x):
        y = by_matrix(by_matrix(x) + 1.0)
        return {"y": y, "more": tf.concat([x, y], axis=1) * 3.0}


@pytest.mark.slow
def test_equal_operations_of_two_signatures_are_written_once(tmp_path):
    model, path = Alike(), str(tmp_path / "saved")
    tf.saved_model.save(model, path, signatures={"short": model.short, "long": model.long})
    new = rewritten(tf.lite.TFLiteConverter.from_saved_model(path).convert())
    tree = schema.Model.GetRootAs(new)
    graphs = [tree.Subgraphs(number) for number in range(tree.SubgraphsLength())]
    places = [
        [graph.Operators(number)._tab.Pos for number in range(graph.OperatorsLength())]
        for graph in graphs
    ]
    short, long = sorted(places, key=len)
    assert len({*short}) > 3 and {*short} < {*long}
    interpreter = Interpreter(model_content=new)
    x = np.random.default_rng(1).normal(size=(1, 8)).astype(np.float32)
    answers = [interpreter.get_signature_runner(name)(x=x) for name in ("short", "long")]
    y = np.tanh((np.tanh(x @ MATRIX.astype(np.float64)) + 1) @ MATRIX)
    for answer in answers:
        np.testing.assert_allclose(answer["y"], y, atol=1e-5)
    np.testing.assert_allclose(answers[1]["more"], 3 * np.hstack([x, y]), atol=1e-5)
