"""Damage to an ONNX file is detected from its bytes, without the onnx package."""

import base64
import subprocess
import sys

import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from keras_bahdanau.exporters import check
from keras_bahdanau.exporters.onnx.graph_facts import read_facts
from keras_bahdanau.exporters.onnx.onnx_check import find_onnx_damage
from keras_bahdanau.exporters.onnx.onnx_file import open_sealed, pack, repack, unpack
from keras_bahdanau.files.integrity import Damage

CARD = {"verb": "translate", "vocabularies": {"target": "target.spm"}}
FILES = {"target.spm": bytes(range(40))}


def model_of(*nodes, opset=17, outputs=("y",), **settings):
    """Return an ONNX model of a few nodes from `x` to `y`."""
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3])
        for name in ("x", *outputs)
    ]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], **settings)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


TANH = model_of(helper.make_node("Tanh", ["x"], ["y"])).SerializeToString()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(pack(TANH, FILES, CARD))
    return path


def test_a_packed_file_is_a_model_that_every_runtime_reads(path):
    assert onnx.load(path).graph == onnx.ModelProto.FromString(TANH).graph
    metadata = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    assert base64.b64decode(metadata["file:target.spm"]) == FILES["target.spm"]
    assert '"verb": "translate"' in metadata["card.json"] and len(metadata["seal"]) == 64


def test_what_is_packed_is_unpacked(path):
    contents = unpack(path.read_bytes())
    assert contents.model == TANH and contents.seal_fits
    assert contents.files["target.spm"] == FILES["target.spm"]
    assert contents.card["verb"] == "translate" and check(path) == []


def test_another_card_leaves_the_rest_as_it_is(path):
    contents = unpack(repack(path.read_bytes(), parity=[{"artefact": "ONNX"}]))
    assert contents.model == TANH and contents.seal_fits
    assert contents.card["parity"] == [{"artefact": "ONNX"}]


def test_each_flipped_bit_is_found(path):
    whole = path.read_bytes()
    for position in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        assert find_onnx_damage(path), position
        with pytest.raises(ValueError, match="Received: path=.*Copy it again"):
            open_sealed(path)


def test_a_file_that_is_cut_off_is_found(path):
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert check(path)
        with pytest.raises(ValueError, match="Received: path=.*Copy it again"):
            open_sealed(path)


@pytest.mark.parametrize("content", [b"", b"one\n", b"PK\3\4" + bytes(90), b"\xff" * 200, b"\n"])
def test_what_is_no_onnx_file_is_said_to_be_none(tmp_path, content):
    path = tmp_path / "other.onnx"
    path.write_bytes(content)
    (finding,) = check(path)
    assert "ONNX file" in finding.why and "not a" in finding.why


def test_a_graph_in_a_graph_for_ever_is_damage():
    graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "g", [], [])
    for _ in range(25):
        node = helper.make_node("If", ["x"], ["y"], then_branch=graph)
        graph = helper.make_graph([node], "g", [], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    with pytest.raises(Damage, match="nested too deeply"):
        read_facts(model.SerializeToString())


def test_operations_inputs_and_outputs_are_read_without_onnx():
    facts = read_facts(TANH)
    assert (facts.operations, facts.external) == ({("", "Tanh"): 1}, False)
    assert facts.opsets == {"": 17, "com.microsoft": 1} and facts.ir_version == 8
    assert [str(value) for value in facts.inputs] == ["x float32 (batch, 3)"]
    assert facts.outputs[0][:2] == ("y", "float32")


def test_the_reader_loads_neither_tensorflow_nor_onnx():
    program = (
        "import sys; from keras_bahdanau.exporters import OnnxTranslator; "
        "from keras_bahdanau.exporters.onnx import onnx_check; "
        "print({'keras', 'tensorflow', 'onnx', 'tf2onnx'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("set()", 0), done.stderr


@pytest.mark.parametrize(
    ("model", "part", "why"),
    [
        (
            model_of(helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")),
            "Gelu of 'com.microsoft'",
            "not an operation of ONNX itself",
        ),
        (
            model_of(helper.make_node("RandomUniformLike", ["x"], ["y"])),
            "RandomUniformLike",
            "draws random numbers",
        ),
        (model_of(helper.make_node("Tahn", ["x"], ["y"])), "the file", "does not load"),
        (model_of(helper.make_node("Tanh", ["x"], ["y"]), opset=99), "the file", "does not load"),
    ],
    ids=["another domain", "random", "unknown", "opset"],
)
def test_what_a_runtime_would_refuse_is_found(tmp_path, model, part, why):
    path = tmp_path / "model.onnx"
    path.write_bytes(pack(model.SerializeToString(), FILES, CARD))
    (finding,) = check(path)
    assert finding.part == part and why in finding.why


def test_a_tensor_in_another_file_is_found(tmp_path):
    weights = helper.make_tensor("w", TensorProto.FLOAT, [1], [0.0])
    weights.ClearField("float_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="/etc/passwd")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    path = tmp_path / "model.onnx"
    path.write_bytes(pack(model_of(node, initializer=[weights]).SerializeToString(), FILES, CARD))
    (finding,) = check(path)
    assert "in other files" in finding.why


def test_a_model_of_another_program_has_no_card(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(TANH)
    (finding,) = check(path)
    assert "has no card" in finding.why
