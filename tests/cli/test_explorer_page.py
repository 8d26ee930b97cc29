"""The page written by `--explore`: a command's sentences and both sides of each."""

import io
import json
import re

import pytest

from keras_bahdanau import cli
from keras_bahdanau.cli import explorer_page

pytestmark = pytest.mark.slow


@pytest.fixture
def model(toy_translator, tmp_path):
    toy_translator.save(tmp_path / "toy.keras")
    return tmp_path / "toy.keras"


@pytest.fixture
def explored(tmp_path, capsys):
    """`explored(*arguments)`: the data in the page that a command writes, and its errors."""

    def run(*arguments):
        page = tmp_path / "page.html"
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, arguments), "--explore", str(page)])
        errors = capsys.readouterr().err
        assert ended.value.code == 0, errors
        pattern = r'<script type="application/json" id="data">(.*?)</script>'
        return json.loads(re.search(pattern, page.read_text(encoding="utf-8"))[1]), errors

    return run


def lines_of(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_sentences_stand_beside_their_references(explored, model, tmp_path):
    source = lines_of(tmp_path / "source", "two three", "", "one")
    target = lines_of(tmp_path / "target", "eins", "", "eins")
    data, errors = explored("translate", "--model", model, source, "--reference", target)
    assert data["labels"] == ["output", "reference"]
    texts = [[side["text"] for side in sides] for sides in data["inputs"]]
    assert texts == [["zwei drei", "eins"], ["", ""], ["eins", "eins"]]
    assert all(side["tree"]["tokens"] for side in data["inputs"][0])
    assert "left out" not in errors


def test_the_models_of_an_ensemble_stand_side_by_side(explored, model, tmp_path):
    source = lines_of(tmp_path / "source", "two three")
    data, _ = explored("translate", "--model", model, "--model", model, source)
    assert data["labels"] == [str(model)] * 2
    assert [side["text"] for side in data["inputs"][0]] == ["zwei drei"] * 2


def test_each_side_begins_with_the_prefix(explored, model, tmp_path):
    source = lines_of(tmp_path / "source", "two three")
    models = ("--model", model, "--model", model)
    data, _ = explored("translate", *models, source, "--prefix", "drei")
    assert [side["text"].split()[0] for side in data["inputs"][0]] == ["drei"] * 2


def test_the_tree_begins_with_the_prefix(explored, model):
    data, _ = explored("align", "two three", "--model", model, "--prefix", "drei")
    ((side,),) = data["inputs"]
    assert side["text"].startswith("drei") and side["tree"]["tokens"][0].strip("▁") == "drei"


def test_the_first_sentences_are_explored_and_the_others_counted(
    explored, model, tmp_path, monkeypatch
):
    monkeypatch.setattr(explorer_page, "MOST", 2)
    source = lines_of(tmp_path / "source", "one", "two", "three", "four", "five")
    data, errors = explored("translate", "--model", model, source)
    assert [sides[0]["text"] for sides in data["inputs"]] == ["eins", "zwei"]
    assert "3 are left out" in errors


def test_a_page_that_takes_long_is_announced(explored, model, tmp_path, monkeypatch):
    source = lines_of(tmp_path / "source", "one", "two")
    for patience, count in ((1e3, 0), (0.0, 1)):
        monkeypatch.setattr(explorer_page, "PATIENCE", patience)
        _, errors = explored("translate", "--model", model, source)
        assert errors.count("explaining 2 of the inputs") == count
        (tmp_path / "page.html").unlink()


def test_one_sentence_is_aligned_and_explored(explored, model):
    data, _ = explored("align", "--model", model, "two three", "--prefix", "eins")
    ((side,),) = data["inputs"]
    assert side["text"].startswith("eins") and len(side["alternatives"]) == len(side["target"])


def test_importance_is_on_the_page_if_it_is_asked_for(explored, model, tmp_path):
    data, _ = explored("align", "--model", model, "two three", "--importance")
    ((side,),) = data["inputs"]
    shape = [len(side["target"]), len(side["source"])]
    assert [measure["values"]["shape"] for measure in side["importance"]] == [shape] * 3
    source = lines_of(tmp_path / "source", "two three")
    (tmp_path / "page.html").unlink()
    data, _ = explored("translate", "--model", model, source)
    assert data["inputs"][0][0]["importance"] == []


@pytest.mark.parametrize("command", [["align", "one"], ["translate"]])
def test_importance_is_for_a_page(model, capsys, command):
    with pytest.raises(SystemExit) as ended:
        cli.main([*command, "--model", str(model), "--importance"])
    assert ended.value.code == 2
    assert "Received: importance=True without --explore. Add" in capsys.readouterr().err


@pytest.mark.parametrize("count, lines", [(1, "1 line"), (3, "3 lines")])
def test_references_are_as_many_as_the_lines_of_standard_input(
    model, tmp_path, capsys, monkeypatch, count, lines
):
    target, page = lines_of(tmp_path / "target", *["eins"] * count), tmp_path / "page.html"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    arguments = ["--model", model, "--reference", target, "--explore", page]
    with pytest.raises(SystemExit) as ended:
        cli.main(["translate", *map(str, arguments)])
    assert ended.value.code == 2 and not page.exists()
    received = f"source='standard input' with 2 lines, reference={str(target)!r} with {lines}. "
    assert f"Received: {received}" in capsys.readouterr().err
