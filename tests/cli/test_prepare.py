"""The command `prepare`: its output, and the vocabularies that it accepts."""

import json
import sys
from pathlib import Path

import pytest
from conftest import toy_pairs
from toy_sources import NUMBERS, write_manifest

from keras_bahdanau import cli
from keras_bahdanau.cli.training_files import Files, read_data
from keras_bahdanau.data import Shards
from keras_bahdanau.files.integrity import write_sealed_json
from keras_bahdanau.pipelines.tasks import ImageToText


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`run(*arguments)`: the lines that `prepare` prints for a file of pairs."""
    monkeypatch.chdir(tmp_path)
    pairs = [*toy_pairs(), ("один", "eins"), ("", "x")]
    (tmp_path / "p.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs))

    def command(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main(["prepare", "p.tsv", "--workers", "1", *arguments])
        answer = capsys.readouterr()
        assert (ended.value.code, answer.err) == (0, "")
        return answer.out.splitlines()

    return command


def test_a_dry_run_prints_what_filters_drop_without_tensorflow(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    lines = run("--dry-run", "--source-script", "Latin", "--report", "r.json")
    assert lines[1:] == [
        "157 pairs read, 155 kept (98.7%)",
        "  empty                  1 dropped",
        "    pair 157: '' | 'x'",
        "  script                 1 dropped",
        "    pair 156: 'один' | 'eins'",
    ]
    assert json.loads((tmp_path / "r.json").read_text())["kept"] == 155
    assert {path.name for path in tmp_path.iterdir()} == {"p.tsv", "r.json"}
    assert run("--dry-run", "--keep-empty")[-1] == "157 pairs read, 157 kept (100.0%)"
    (tmp_path / "p.tsv").write_text("source\ttarget\none\teins\n")
    assert run("--dry-run")[0].startswith("line 1 of 'p.tsv' is read as a pair: 'source\\ttarget'.")


def test_vocabularies_come_from_a_model_from_shards_or_from_files(run, toy_translator, tmp_path):
    toy_translator.save(tmp_path / "toy.keras")
    run("--out", "one", "--vocabulary", "toy.keras")
    lines = run("--out", "two", "--vocabulary", "one")
    assert lines[-1] == "The corpus: two, 156 pairs in 1 shard"
    assert Shards("two").target == Shards("one").target == toy_translator.target
    (tmp_path / "s.model").write_bytes(toy_translator.source.subwords.model)
    run("--out", "three", "--vocabulary", "s.model", "--vocabulary", "s.model")
    assert Shards("three").fingerprint == Shards("one").fingerprint


@pytest.mark.few(1)
@pytest.mark.parametrize("place", [{}, {"feature_place": "first"}, {"feature_place": "last"}])
def test_a_vocabulary_that_is_given_keeps_the_place_of_its_features(run, tmp_path, place):
    run("--out", "one", "--symbols", "<2de>")
    path = tmp_path / "one" / "card.json"
    card = json.loads(path.read_text())
    config = card["source"]["config"]
    # Tags are placed first, as all features were in older versions.
    assert config.pop("feature_place") == "first"
    config |= place
    write_sealed_json(path, card)
    run("--out", "two", "--vocabulary", "one")
    one, two = Shards("one").source, Shards("two").source
    assert (one, one.feature_place) == (two, place.get("feature_place", "first"))


@pytest.mark.parametrize(
    ("option", "value"),
    [("--symbols", "<2de>"), ("--vocabulary-size", "99"), ("--model-type", "char")],
)
def test_vocabularies_that_are_given_are_not_learnt(run, capsys, option, value):
    with pytest.raises(SystemExit) as ended:
        cli.main(["prepare", "p.tsv", "--out", "one", "--vocabulary", "old", option, value])
    assert ended.value.code != 0
    name = option.strip("-").replace("-", "_")
    assert f"`{name}` is only for vocabularies that are learned" in capsys.readouterr().err


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Arguments for preparing and training on a manifest of images in the current directory."""
    monkeypatch.chdir(tmp_path)
    write_manifest("images", NUMBERS, tmp_path / "images")
    return ["images/list.tsv", "--source", "image:height=16,width=48", "--out"]


def test_a_manifest_of_images_becomes_shards_that_a_training_takes(images, capsys):
    small = ["--workers", "1", "--model-type", "word", "--vocabulary-size", "10"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["prepare", *images, "new", *small])
    assert (ended.value.code, capsys.readouterr().err) == (0, "")
    shards = Shards("new")
    assert (shards.inputs_are, len(shards), shards.source.width) == ("files", len(NUMBERS), 48)
    files, valid = Files(Path("new"), None, None, None), Files(Path(images[0]), None, None, None)
    given = {"columns": None, "answer_separator": None, "say": print}
    data, valid_data = read_data("files", files, valid, **given)
    assert (len(data.pairs), len(valid_data.pairs)) == (len(NUMBERS), len(NUMBERS))
    with pytest.raises(ValueError, match="are files, for a model that reads lines. Give the --s"):
        read_data("lines", files, valid, **given)


@pytest.mark.slow
def test_the_commands_prepare_and_train_a_manifest_of_images(images, capsys):
    small = ["--model-type", "word", "--vocabulary-size", "10"]
    units = [f"--{name}=8" for name in ("units", "encoder-units", "attention-units")]
    training = ["new", *images[1:], "run", "--valid-source", images[0], "--epochs", "2", *units]
    for arguments in (
        ["prepare", *images, "new", "--workers", "2", *small],
        ["train", *training, "--convolutions", "4,8,8", "--batch-sentences", "5"],
    ):
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        assert (ended.value.code, capsys.readouterr().err) == (0, "")
    assert ImageToText.load("run/translator.keras").source == Shards("new").source
