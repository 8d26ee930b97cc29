"""`keras-bahdanau export` of a .keras file that Keras wrote itself."""

import subprocess
import sys
import zipfile

import keras
import numpy as np
import pytest
from keras import layers as L

from keras_bahdanau.cli.keras_models import is_keras_model, load_keras_model, read_examples


@pytest.fixture
def model(tmp_path):
    model = keras.Sequential([keras.Input((3, 2), name="sample"), L.GRU(3), L.Dense(2)])
    model.save(tmp_path / "model.keras")
    return model


def test_a_file_of_keras_is_told_from_one_of_a_pipeline(model, tmp_path, toy_translator):
    toy_translator.save(tmp_path / "toy.keras")
    (tmp_path / "text.keras").write_text("no archive")
    names = ("model.keras", "toy.keras", "text.keras", "missing.keras")
    assert [is_keras_model(tmp_path / name) for name in names] == [True, False, False, False]


def test_a_model_is_loaded_whole(model, tmp_path):
    sample = np.ones((1, 3, 2), "float32")
    loaded = load_keras_model(tmp_path / "model.keras")
    assert loaded(sample).numpy() == pytest.approx(model(sample).numpy())


class Unregistered(L.Layer):
    def call(self, inputs):
        return inputs


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Unregistered, "Import the modules of its custom layers with --import"),
        (lambda: L.Lambda(lambda x: x + 1), "Replace its Lambda layers"),
    ],
    ids=["a class of one's own", "code in the file"],
)
def test_what_keras_does_not_load_is_one_line_with_its_remedy(tmp_path, layer, message):
    path = tmp_path / "model.keras"
    keras.Sequential([keras.Input((2,)), layer()]).save(path)
    if layer is Unregistered:  # as in another process, where the class is not defined
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        files["config.json"] = files["config.json"].replace(b"Unregistered", b"Unheard")
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    with pytest.raises(ValueError, match=message) as error:
        load_keras_model(path)
    assert "\n" not in str(error.value)


def test_examples_are_arrays_by_name(tmp_path):
    np.savez(tmp_path / "a.npz", sample=np.ones((2, 3)))
    assert read_examples(tmp_path / "a.npz")["sample"].shape == (2, 3)
    (tmp_path / "b.npz").write_text("no archive")
    with pytest.raises(ValueError, match="must be an .npz file"):
        read_examples(tmp_path / "b.npz")


def run(*arguments, cwd):
    program = [sys.executable, "-m", "keras_bahdanau.cli", *arguments]
    return subprocess.run(program, cwd=cwd, capture_output=True, text=True)


@pytest.mark.slow
def test_the_command_exports_and_checks_a_model(model, tmp_path):
    (tmp_path / "labels.txt").write_text("bad\ngood\n")
    export = ("export", "--model", "model.keras", "--format")
    labels = ("--labels", "labels.txt", "--signatures", "serving_default", "--signatures", "step")
    done = run(*export, "litert", "--out", "model.tflite", *labels, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "model.tflite\n"), done.stderr
    done = run("check", "model.tflite", cwd=tmp_path)
    assert done.returncode == 0 and "labels: bad, good" in done.stdout
    step = (*labels[:2], "--signatures", "step")
    done = run(*export, "onnx", "--out", "model.onnx", *step, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "model.onnx\n"), done.stderr
    done = run("check", "model.onnx", cwd=tmp_path)
    assert done.returncode == 0 and "step: sample float32 (any, 2); " in done.stdout
    done = run(*export, "saved-model", "--out", "served", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "served/1\n"), done.stderr
    assert run("check", "served", cwd=tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "browser", "--out", "page"], "must be saved-model or litert or onnx"),
        (["--format", "litert", "--out", "a.tflite", "--title", "x"], "--title is not for a Keras"),
        (["--format", "litert", "--out", "a.bin"], "must end in .tflite"),
        (
            ["--format", "onnx", "--out", "a.onnx", "--length", "any"],
            "or dynamic. Received: length=",
        ),
    ],
)
def test_options_that_do_not_fit_a_keras_model_are_refused(model, tmp_path, arguments, message):
    done = run("export", "--model", "model.keras", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
