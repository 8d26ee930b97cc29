"""Commands that write to files owned by another process are refused before TensorFlow is loaded."""

import shutil
import sys

import pytest
from conftest import toy_pairs
from runs import begin

from keras_bahdanau import cli
from keras_bahdanau.files.ownership import owned
from keras_bahdanau.training import Run, TrainingOptions


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Sentence pairs, and a training run that was started on them."""
    monkeypatch.chdir(tmp_path)
    pairs = toy_pairs()
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs))
    begin(Run("run"), TrainingOptions(), pairs)
    return tmp_path


def refused(arguments, path, monkeypatch, capsys):
    """Assert a one-line refusal while the path has an owner and TensorFlow can't be imported."""
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with owned(path), pytest.raises(SystemExit) as ended:
        cli.main(arguments.split())
    error = capsys.readouterr().err
    assert (ended.value.code, error.count("\n")) == (2, 1)
    assert "Received: path=" in error and "which belongs to process " in error


def test_a_second_training_in_one_directory(files, monkeypatch, capsys):
    train = "train pairs.tsv --valid-source pairs.tsv --out run"
    refused(train, Run("run").translator, monkeypatch, capsys)


def test_options_are_not_tuned_while_the_model_is_trained(
    files, toy_translator, once, monkeypatch, capsys
):
    shutil.copy(once("toy.keras", None), Run("run").translator)
    refused("tune pairs.tsv --model run", Run("run").translator, monkeypatch, capsys)


def test_two_exports_to_one_file(files, toy_translator, once, monkeypatch, capsys):
    shutil.copy(once("toy.keras", None), "toy.keras")
    export = "export --model toy.keras --format litert --out toy.tflite"
    refused(export, files / "toy.tflite", monkeypatch, capsys)
