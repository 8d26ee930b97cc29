"""The metadata in a LiteRT file follows the schema of LiteRT's metadata libraries."""

import json
import zipfile

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from flatbuffers import Builder, encode, number_types, packer
from flatbuffers.table import Table

from keras_bahdanau.exporters.card import sha256
from keras_bahdanau.exporters.litert import metadata
from keras_bahdanau.exporters.litert.descriptions import describe
from keras_bahdanau.exporters.litert.metadata import (
    AssociatedFile,
    ModelMetadata,
    SubGraphMetadata,
    TensorMetadata,
)
from keras_bahdanau.exporters.litert.tflite_file import add_metadata, read_metadata, unpack

WHOLE = ModelMetadata(
    name="name ☃",
    description="description",
    version="1.2.3",
    subgraph_metadata=(
        SubGraphMetadata(
            name="translate",
            input_tensor_metadata=(
                TensorMetadata("source", "ids", ("batch", "time"), (AssociatedFile("a.spm"),)),
                TensorMetadata("mask"),
            ),
        ),
        SubGraphMetadata(),
    ),
    associated_files=(AssociatedFile("a.spm", "vocabulary", 5), AssociatedFile("b", "", 1)),
)


class Reader:
    """A table whose fields are read by their numbers in `metadata_schema.fbs`, counted by hand."""

    def __init__(self, table):
        self.table = table

    def text(self, number):
        offset = self.table.Offset(4 + 2 * number)
        return self.table.String(self.table.Pos + offset).decode() if offset else None

    def byte(self, number):
        return self.table.GetSlot(4 + 2 * number, 0, number_types.Int8Flags)

    def _places(self, number):
        offset = self.table.Offset(4 + 2 * number)
        count = self.table.VectorLen(offset) if offset else 0
        return [self.table.Vector(offset) + 4 * index for index in range(count)]

    def texts(self, number):
        return [self.table.String(place).decode() for place in self._places(number)]

    def tables(self, number):
        places = map(self.table.Indirect, self._places(number))
        return [Reader(Table(self.table.Bytes, place)) for place in places]


def root_of(content):
    assert content[4:8] == b"M001"
    return Reader(Table(content, encode.Get(packer.uoffset, content, 0)))


def standard_metadata(path):
    """Return the metadata in the buffer named `TFLITE_METADATA`, found with LiteRT's own schema."""
    model = schema.Model.GetRootAs(path.read_bytes())
    entries = {model.Metadata(i).Name(): model.Metadata(i) for i in range(model.MetadataLength())}
    buffer = model.Buffers(entries[b"TFLITE_METADATA"].Buffer())
    return root_of(buffer.DataAsNumpy().tobytes())


def test_fields_stand_where_the_schema_has_them():
    root = root_of(metadata.encode_metadata(WHOLE))
    assert [root.text(number) for number in (0, 1, 2)] == ["name ☃", "description", "1.2.3"]
    assert [root.text(number) for number in (4, 5)] == [None, None]  # author and license
    assert root.text(7) == "1.0.1"  # the version that introduced VOCABULARY
    files = [(file.text(0), file.text(1), file.byte(2)) for file in root.tables(6)]
    assert files == [("a.spm", "vocabulary", 5), ("b", None, 1)]
    graph, empty = root.tables(3)
    assert [graph.text(0), graph.text(1)] == ["translate", None]
    source, mask = graph.tables(2)
    assert [source.text(0), source.text(1)] == ["source", "ids"]
    assert source.texts(2) == ["batch", "time"]
    assert [file.text(0) for file in source.tables(6)] == ["a.spm"]
    assert (mask.text(0), mask.texts(2), graph.tables(3), empty.text(0)) == ("mask", [], [], None)


def test_what_was_written_is_read():
    assert metadata.decode_metadata(metadata.encode_metadata(WHOLE)) == WHOLE
    assert metadata.decode_metadata(metadata.encode_metadata(ModelMetadata())) == ModelMetadata()


def test_what_signatures_have_in_common_is_written_once():
    tensors = WHOLE.subgraph_metadata[0].input_tensor_metadata
    graphs = (
        SubGraphMetadata("translate", input_tensor_metadata=tensors),
        SubGraphMetadata("greedy", output_tensor_metadata=tensors),
        SubGraphMetadata("mask"),  # equal to the tensor's tuple, but a different table
    )
    whole = WHOLE._replace(subgraph_metadata=graphs)
    content = metadata.encode_metadata(whole)
    first, second, _ = root_of(content).tables(3)
    places = [[one.table.Pos for one in found] for found in (first.tables(2), second.tables(3))]
    assert len(places[0]) == 2 and places[0] == places[1]
    assert metadata.decode_metadata(content) == whole


def test_an_output_that_is_called_like_an_input_has_its_own_description():
    """As an input, `lengths` are those of the images; as an output, those of the texts."""
    tensors = [schema.TensorT(shape=np.array(shape, np.int32)) for shape in ([1], [1, 4])]
    graph = schema.SubGraphT(tensors=tensors, inputs=np.array([0]), outputs=np.array([1]))
    signature = schema.SignatureDefT(
        signatureKey="read_nbest",
        subgraphIndex=0,
        inputs=[schema.TensorMapT(name="lengths", tensorIndex=0)],
        outputs=[schema.TensorMapT(name="lengths", tensorIndex=1)],
    )
    builder = Builder()
    tree = schema.ModelT(subgraphs=[graph], signatureDefs=[signature])
    builder.Finish(tree.Pack(builder))
    card = {"verb": "read", "vocabularies": {"target": "target.spm"}, "quantization": "int8"}
    card |= {"max_source_length": 512, "max_target_length": 96}
    features = {"lengths": ("Number of cells.", ("batch",))}
    found = describe(schema.Model.GetRootAs(builder.Output()), card, features)
    (described,) = found.subgraph_metadata
    (given,), (answered,) = described.input_tensor_metadata, described.output_tensor_metadata
    assert (given.description, given.dimension_names) == features["lengths"]
    assert answered.description.startswith("`length` of each hypothesis")
    assert answered.dimension_names == ("batch", "beam")


@pytest.mark.parametrize("content", [b"", b"12345678TFL3", bytes(100)])
def test_other_bytes_are_no_metadata(content):
    with pytest.raises(ValueError, match="identifier M001. Received"):
        metadata.decode_metadata(content)


def test_records_that_unfold_to_more_than_any_file_has_are_refused(monkeypatch):
    many = ModelMetadata(subgraph_metadata=(SubGraphMetadata(name="x" * 100),) * 50)
    content = metadata.encode_metadata(many)
    assert metadata.decode_metadata(content) == many
    monkeypatch.setattr(metadata, "MOST_BYTES", 4000)
    with pytest.raises(ValueError, match="at most .* bytes. Received: more"):
        metadata.decode_metadata(content)


def test_a_vector_of_a_length_that_is_none_is_refused():
    content = bytearray(
        metadata.encode_metadata(ModelMetadata(associated_files=(AssociatedFile("a"),)))
    )
    root = Table(bytes(content), int.from_bytes(content[:4], "little"))
    first = root.Vector(root.Offset(4 + 2 * 6))
    content[first - 4 : first] = (2**32 - 1).to_bytes(4, "little")
    with pytest.raises(ValueError, match="at most .* bytes. Received: more"):
        metadata.decode_metadata(content)


def test_the_file_describes_its_signatures(toy_litert):
    root = standard_metadata(toy_litert)
    model = schema.Model.GetRootAs(toy_litert.read_bytes())
    described = {graph.text(0): graph for graph in root.tables(3)}
    assert described.keys() == {"translate", "translate_greedy", "encode", "decode_step"}
    signatures = [model.SignatureDefs(i) for i in range(model.SignatureDefsLength())]
    for signature in signatures:
        graph = model.Subgraphs(signature.SubgraphIndex())
        assert (
            root.tables(3)[signature.SubgraphIndex()].text(0) == signature.SignatureKey().decode()
        )
        said = described[signature.SignatureKey().decode()]
        for number, kind in ((2, "Inputs"), (3, "Outputs")):
            parts = [getattr(signature, kind)(i) for i in range(len(said.tables(number)))]
            names = {(part.TensorIndex(), part.Name().decode()) for part in parts}
            order = [getattr(graph, kind)(i) for i in range(getattr(graph, f"{kind}Length")())]
            found = [tensor.text(0) for tensor in said.tables(number)]
            assert set(zip(order, found, strict=True)) == names
    (source,) = described["translate"].tables(2)
    assert source.texts(2) == ["batch", "source_time"]
    assert [(file.text(0), file.byte(2)) for file in source.tables(6)] == [("source.spm", 5)]


def test_every_tensor_of_every_signature_is_float32_or_int32(toy_litert):
    """A browser's runtime refuses the whole file because of a single bool tensor."""
    interpreter = Interpreter(model_path=str(toy_litert))
    runners = {
        name: interpreter.get_signature_runner(name) for name in interpreter.get_signature_list()
    }
    dtypes = {
        (signature, name): details["dtype"]
        for signature, runner in runners.items()
        for tensors in (runner.get_input_details(), runner.get_output_details())
        for name, details in tensors.items()
    }
    assert {signature for signature, _ in dtypes} == {
        *("translate", "translate_greedy", "encode", "decode_step")
    }
    assert set(dtypes.values()) == {np.float32, np.int32}
    assert dtypes["translate", "finished"] == np.int32
    source = np.array([[5, 6, 3] + [0] * 21], np.int32)
    fields = runners["encode"](source=source)
    masks = [field for field in fields.values() if field.shape == source.shape]
    assert any((mask == (source > 0)).all() for mask in masks)  # 1 where the source is not padding


def test_finished_and_masks_are_described_as_0_or_1(toy_litert):
    described = {graph.text(0): graph for graph in standard_metadata(toy_litert).tables(3)}
    finished = {tensor.text(0): tensor.text(1) for tensor in described["translate"].tables(3)}
    assert finished["finished"] == "1 if the text ends with its end token, else 0."
    between = {tensor.text(1) for tensor in described["encode"].tables(3)}
    assert all("A mask is 1 at real positions, else 0" in text for text in between)


def test_the_file_names_what_is_packed_behind_it(toy_litert):
    named = {file.text(0): file.byte(2) for file in standard_metadata(toy_litert).tables(6)}
    assert named == {"card.json": 1, "source.spm": 5}
    with zipfile.ZipFile(toy_litert) as archive:
        entries = archive.infolist()
    assert {entry.filename for entry in entries} == set(named)
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}


def test_the_card_has_the_hash_of_every_part(toy_litert, toy_translator):
    content = toy_litert.read_bytes()
    with zipfile.ZipFile(toy_litert) as archive:
        card = json.loads(archive.read("card.json"))
        end_of_model = min(entry.header_offset for entry in archive.infolist())
        assert archive.read("source.spm") == toy_translator.source.subwords.model
    vocabulary = sha256(toy_translator.source.subwords.model)
    assert card["sha256"] == {"model": sha256(content[:end_of_model]), "source.spm": vocabulary}
    assert card["vocabulary_sha256"] == {"source": vocabulary, "target": vocabulary}


def test_the_card_has_the_runtime_that_the_converter_asks_for(toy_litert):
    model = schema.Model.GetRootAs(toy_litert.read_bytes())
    entries = {model.Metadata(i).Name(): model.Metadata(i) for i in range(model.MetadataLength())}
    buffer = model.Buffers(entries[b"min_runtime_version"].Buffer())
    version = buffer.DataAsNumpy().tobytes().rstrip(b"\0").decode()
    assert [number.isdecimal() for number in version.split(".")] == [True] * 3
    with zipfile.ZipFile(toy_litert) as archive:
        assert json.loads(archive.read("card.json"))["min_runtime_version"] == version


def test_metadata_moves_nothing_in_the_model(toy_litert):
    model = unpack(toy_litert.read_bytes()).model
    more = add_metadata(model, "MINE", b"mine")
    assert more.endswith(model) and 0 < len(more) - len(model) < 20_000
    assert (len(more) - len(model)) % 16 == 0  # aligned data stays aligned
    assert read_metadata(more) == {**read_metadata(model), "MINE": b"mine"}
    old, new = (schema.ModelT.InitFromPackedBuf(content) for content in (model, more))
    assert (new.version, new.description) == (old.version, old.description)
    assert len(new.subgraphs) == len(old.subgraphs)
    assert [entry.name for entry in new.metadata[:-1]] == [entry.name for entry in old.metadata]
    for one, other in zip(old.buffers, new.buffers[:-1], strict=True):
        np.testing.assert_array_equal(one.data, other.data)
    source = np.array([[5, 6, 3] + [0] * 21], np.int32)
    answers = [
        Interpreter(model_content=content).get_signature_runner("translate")(source=source)
        for content in (model, more)
    ]
    for name in answers[0]:
        np.testing.assert_array_equal(answers[0][name], answers[1][name])


def test_all_signatures_share_one_set_of_weights(toy_litert, toy_translator):
    weights = sum(weight.numpy().nbytes for weight in toy_translator.model.weights)
    model = schema.ModelT.InitFromPackedBuf(toy_litert.read_bytes())
    large = [buffer.data.nbytes for buffer in model.buffers if np.size(buffer.data) >= 1024]
    assert sum(large) < 1.5 * weights  # this includes the search's own buffers
