"""Formats are objects in one list: code that uses formats finds every class in the list."""

import json

import pytest

import keras_bahdanau as kb
from keras_bahdanau.cli.commands.export import Format
from keras_bahdanau.exporters import FORMATS, Exporter, Finding, check, describe, export
from keras_bahdanau.exporters.exporter import Answer, Answers


class PhraseBook(Exporter):
    """A minimal format: a JSON file with the answers to a few sentences."""

    artefact = "phrase book"
    file_name = "phrases.json"
    writes_file = True
    known = ("one", "one two")

    @staticmethod
    def recognizes(path):
        return path.suffix == ".json"

    def destination(self, path):
        return path

    def write(self, pipeline, path):
        found = pipeline.decode(list(self.known))
        answers = {
            phrase: [one.text, one.score] for phrase, one in zip(self.known, found, strict=True)
        }
        path.write_text(json.dumps({"answers": answers}))

    def check(self, path):
        if json.loads(path.read_bytes())["answers"]:
            return []
        return [Finding("a reader", "the book", "is empty", "Write it again.")]

    def answers(self, path, pipeline, inputs):
        answers = json.loads(path.read_bytes())["answers"]
        received = [[Answer(*answers[one])] if one in answers else [] for one in inputs]
        return Answers(received, [0.001 if one else None for one in received])

    def add_parity(self, path, rows):
        content = json.loads(path.read_bytes())
        path.write_text(json.dumps({**content, "parity": [str(row) for row in rows]}))

    def describe(self, path):
        return "\n".join(json.loads(path.read_bytes())["parity"])


class WrongBook(PhraseBook):
    def answers(self, path, pipeline, inputs):
        found = super().answers(path, pipeline, inputs)
        return found._replace(
            received=[[one._replace(text="?") for one in said] for said in found.received]
        )


class EmptyBook(PhraseBook):
    known = ()


@pytest.fixture
def formats():
    """The list of formats, which a test may change."""
    formats = dict(FORMATS)
    FORMATS.clear()
    FORMATS["phrase-book"] = PhraseBook
    yield FORMATS
    FORMATS.clear()
    FORMATS.update(formats)  # in their original order


@pytest.mark.slow
def test_a_new_format_is_one_class(toy_translator, tmp_path, formats):
    path = tmp_path / "phrases.json"
    said = []
    assert export(PhraseBook(), toy_translator, path, ["one", "two"], say=said.append) == path
    assert check(path) == []
    assert describe(path).split("\n")[1].startswith("phrase book: 100.00% of 1 texts equal")
    assert any(line.startswith("phrase book ") for line in said[-2].split("\n"))
    assert list(tmp_path.iterdir()) == [path]


def test_every_format_of_the_list_is_in_the_common_table(toy_translator, tmp_path, formats):
    (path,) = kb.export_all(toy_translator, tmp_path / "all", sentences=["one two"])
    rows = json.loads((tmp_path / "all" / "parity.json").read_bytes())
    assert path == tmp_path / "all" / "phrases.json"
    assert [(row["artefact"], row["refused"]) for row in rows][1:] == [
        ("phrase book", rows[0]["sentences"] - 1)
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("book", "message"),
    [(WrongBook, "as Keras does. Received: phrase book: 0.00%"), (EmptyBook, "book is empty")],
)
def test_a_bad_artefact_gets_no_name(toy_translator, tmp_path, book, message):
    path = tmp_path / "new" / "phrases.json"
    with pytest.raises(ValueError, match=message):
        export(book(), toy_translator, path, ["one"])
    assert not list(tmp_path.iterdir())


def test_the_command_line_offers_every_format_of_the_list():
    assert [format.value for format in Format] == [*FORMATS, "all"]


def test_a_format_may_not_forget_a_part_of_the_protocol():
    class Half(Exporter):
        recognizes = destination = write = check = None

    with pytest.raises(TypeError, match="add_parity.*answers.*describe"):
        Half()


def test_finding_is_one_sentence_and_its_mend():
    finding = Finding("LiteRT", "FlexCumprod", "is not built in", "Convert again.")
    assert str(finding) == "LiteRT: FlexCumprod is not built in. Convert again."


def test_a_litert_file_has_the_name_of_one(toy_translator, tmp_path):
    with pytest.raises(ValueError, match="must end in .tflite. Received: path='.*model.bin'"):
        kb.export_litert(toy_translator, tmp_path / "model.bin")
    assert not list(tmp_path.iterdir())


def test_missing_path_is_an_error_with_its_mend(tmp_path):
    with pytest.raises(FileNotFoundError, match="must exist.*no-such.*Check the spelling"):
        check(tmp_path / "no-such")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("translator.keras", r"Received: model='translator.keras'. Pass load_pipeline\(path\)"),
        (lambda: kb.AttentionPooling(3), r"type AttentionPooling. Put a layer into keras.Seq"),
    ],
    ids=["a path", "a layer"],
)
@pytest.mark.parametrize("write", [kb.export_litert, kb.export_saved_model])
def test_an_export_of_what_is_no_model_names_the_remedy(tmp_path, write, model, message):
    with pytest.raises(TypeError, match=message):
        write(model() if callable(model) else model, tmp_path / "file.tflite")
    assert not [*tmp_path.iterdir()]
