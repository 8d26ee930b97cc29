"""`--import`: custom layers in a model file, and custom layers given by registered name."""

import inspect
import pickle
import sys

import keras
import pytest

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.cli.imports import ModuleLoader

MODULE = '''
import keras
from keras import ops
from keras_bahdanau.layers import AdditiveScore

@keras.saving.register_keras_serializable(package="own")
class PlainScore(AdditiveScore):
    """v^T (W s + U h_j)"""

    def compare(self, query, keys):
        s = ops.expand_dims(self.query_projection(query), axis=-2)
        keys = ops.expand_dims(keys, axis=1) if len(s.shape) > len(keys.shape) else keys
        return ops.squeeze(ops.matmul(ops.cast(s + keys, "float32"), self.v), axis=-1)
'''
NAME = "own>PlainScore"
TINY = {"embedding_units": 8, "units": 8, "attention_units": 8}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module in the current directory that has not been imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "plain_score.py").write_text(MODULE)
    yield "plain_score"
    forget()


def forget():
    sys.modules.pop("plain_score", None)
    keras.saving.get_custom_objects().pop(NAME, None)


@pytest.fixture
def command(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, arguments)])
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def model(module, toy_translator, monkeypatch):
    """A model file with a custom score whose module is no longer imported."""
    monkeypatch.syspath_prepend(".")
    __import__(module)
    source, target = toy_translator.source, toy_translator.target
    model = kb.presets.small(source, target, attention=NAME, **TINY)
    model.build()
    assert type(model.decoder.cell.attention.score).__name__ == "PlainScore"
    kb.Translator(source, model, target).save("own.keras")
    forget()
    return "own.keras"


@pytest.mark.slow
def test_a_class_that_is_unknown_is_named_with_the_mend(model, module, command):
    message = (
        "All classes in a translator's file must be registered with Keras. Received: "
        "path='own.keras', unknown class 'own>PlainScore'. Import its module first, or use "
        "--import MODULE on the command line."
    )
    with pytest.raises(ValueError) as caught:
        kb.load_pipeline(model)
    assert str(caught.value) == message
    assert command("align", "--model", model, "one") == (2, "", f"keras-bahdanau: {message}\n")
    code, out, err = command("align", "--model", model, "one", "--import", module)
    assert (code, err) == (0, "") and out.count("\n") == 2


def test_a_module_that_is_not_there_is_named(module, command):
    code, _, err = command("align", "--model", "none.keras", "one", "--import", "absent.py")
    assert code == 2
    assert "without .py. Received: import='absent.py' (No module named 'absent'" in err


@pytest.mark.parametrize("name", ["./own.py", "../own", "", "a..b"])
def test_a_path_is_no_name_of_a_module(name, command):
    code, _, err = command("align", "--model", "none.keras", "one", "--import", name)
    assert code == 2
    assert f"without .py. Received: import={name!r} (it is not a module name)" in err


def test_a_registered_name_that_is_unknown_is_refused():
    message = "Received: unknown class 'own>Nothing'. Import its module first; on the command line"
    with pytest.raises(ValueError, match=message):
        kb.layers.DecoderCell(8, "own>Nothing")


@pytest.mark.slow
def test_a_score_of_ones_own_is_trained_by_its_name(module, command, tmp_path):
    (tmp_path / "pairs.tsv").write_text("one two\teins zwei\nthree\tdrei\nfour\tvier\n" * 20)
    sizes = [word for name in TINY for word in (f"--{name.replace('_', '-')}", TINY[name])]
    train = ["train", "pairs.tsv", "--out", "run", "--attention", NAME, "--epochs", 1, *sizes]
    code, _, err = command(*train)
    assert code == 2 and f"unknown class {NAME!r}" in err
    code, _, err = command(*train, "--import", module)
    assert code == 0, err
    score = kb.load_pipeline("run/translator.keras").model.decoder.cell.attention.score
    assert (type(score).__name__, score.units) == ("PlainScore", 8)


def test_every_command_that_loads_a_model_of_layers_imports_modules():
    commands = {name: cli.command(name).callback for name in cli.COMMANDS}
    takes = {name: inspect.signature(one).parameters for name, one in commands.items()}
    loading = {name for name, given in takes.items() if {"model", "teacher"} & {*given}}
    assert {"translate", "calibrate", "distill"} < loading
    assert [name for name in loading if "modules" not in takes[name]] == []


def test_another_process_knows_that_it_has_loaded_the_modules():
    load = ModuleLoader(("one", "other"))
    again = pickle.loads(pickle.dumps(load))
    assert again == load and hash(again) == hash(load) and load != ModuleLoader(("one",))
