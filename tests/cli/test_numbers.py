"""Numeric options: each has an upper bound that is checked before TensorFlow is loaded."""

import inspect
import io
import json
import sys
import typing
import zipfile
from pathlib import Path

import pytest

from keras_bahdanau import cli

COMMANDS = {name: cli.command(name).callback for name in cli.COMMANDS}
ARGUMENTS = {
    "prepare": "good.en good.de --out new",
    "train": "good.en good.de --out new",
    "distill": "good.en good.de --teacher card.keras --out new",
    "translate": "good.en --model card.keras",
    "read": "good.en --model files.keras",
    "transcribe": "good.en --model files.keras",
    "evaluate": "good.en good.de --model card.keras",
    "tune": "good.en good.de --model card.keras",
    "calibrate": "good.en good.de --model card.keras",
    "align": "one --model card.keras",
    "export": "--model card.keras --format litert --out new.tflite",
}
CARD = {"source": {}, "target": {}}
LISTS = {
    "beam_widths": "beam_width",
    "length_normalizations": "length_normalization",
    "ctc_weights": "ctc_weight",
}


def numbers_of(function):
    """Yield the names of a command's numeric options."""
    for name, parameter in inspect.signature(function).parameters.items():
        kind = parameter.annotation
        if typing.get_origin(kind) is typing.Annotated:
            kind = typing.get_args(kind)[0]
        if {int, float} & {kind, *typing.get_args(kind)} or name in LISTS:
            yield name


NUMBERS = [(name, option) for name, function in COMMANDS.items() for option in numbers_of(function)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The current directory, with sentences and models that consist only of a card."""
    monkeypatch.chdir(tmp_path)
    for name in ("good.en", "good.de"):
        (tmp_path / name).write_text("one\ntwo three\n")
    for inputs, name in (
        ("lines", "card.keras"),
        ("files", "files.keras"),
        ("arrays", "arrays.keras"),
    ):
        with zipfile.ZipFile(name, "w") as archive:
            card = {**CARD, "search": {}, "inputs": inputs}
            archive.writestr("pipeline.json", json.dumps(card))
    return tmp_path


@pytest.fixture
def command(files, monkeypatch, capsys):
    """`command(*arguments)`: exit code and errors of a command that must not load TensorFlow."""

    def load_tensorflow(*_, **__):
        raise AssertionError("TensorFlow is loaded")

    for name, module in list(sys.modules.items()):
        if name.startswith("keras_bahdanau.cli.") and hasattr(module, "load_tensorflow"):
            monkeypatch.setattr(module, "load_tensorflow", load_tensorflow)

    def run(*arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        return ended.value.code, capsys.readouterr().err

    return run


def test_every_command_with_numbers_is_tried():
    assert {name for name, _ in NUMBERS} == set(ARGUMENTS)
    assert set(LISTS) < {option for _, option in NUMBERS}


@pytest.mark.few(7)
@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_a_number_has_an_upper_bound(command, files, name, option):
    before = sorted(files.iterdir())
    switch = f"--{option.replace('_', '-')}"
    for value in ("1000000000000", "1" + "0" * 400):
        code, said = command(name, *ARGUMENTS[name].split(), switch, value)
        assert (code, said.count("\n")) == (2, 1)
        assert f"Received: {LISTS.get(option, option)}=" in said
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e400", "0x10", "1e20", "１e9", "9" * 5000])
@pytest.mark.parametrize(
    ("name", "option"),
    [("tune", "tolerance"), ("translate", "batch_size"), ("tune", "beam_widths")],
)
def test_what_is_no_good_number_is_refused(command, name, option, value):
    switch = f"--{option.replace('_', '-')}={value}"
    code, said = command(name, *ARGUMENTS[name].split(), switch)
    assert code == 2 and "Traceback" not in said
    assert switch.split("=")[0] in said or "Received: " in said


def test_a_card_with_a_number_above_its_bound_gets_one_line(command):
    with zipfile.ZipFile("card.keras", "w") as archive:
        archive.writestr("pipeline.json", json.dumps({**CARD, "search": {"beam_width": 10_000}}))
    code, said = command("translate", "--model", "card.keras")
    assert (code, said.count("\n")) == (2, 1)
    assert "`beam_width` must be an integer in [1, 1000]. Received: beam_width=10000" in said


def test_models_of_other_inputs_are_not_compared(command):
    """Also, a tag is not removed from inputs that are not text."""
    lines, files = "good.en good.de --model card.keras", "good.tsv --model files.keras"
    Path("good.tsv").write_text("good.en\tone\n")
    for arguments, found, own in (
        (f"{lines} --tag <2de> --compare files.keras", "files", "lines"),
        (f"{files} --compare card.keras", "lines", "files"),
    ):
        code, said = command("evaluate", *arguments.split())
        assert (code, said.count("\n")) == (2, 1)
        assert f"which reads {found}, and a model that reads {own}. Give another" in said


def test_options_of_other_inputs_are_refused(command):
    for arguments, received in (
        ("translate --model files.keras", "model='files.keras' without files"),
        ("read good.en --model files.keras --alignment", "alignment=True with"),
        ("read good.en --model files.keras --tag <de>", "tag='<de>' with"),
        ("translate good.en --names --model card.keras", "names=True with"),
        ("translate good.en good.de --model card.keras", "2 files, path='good.de'"),
    ):
        code, said = command(*arguments.split())
        assert (code, said.count("\n")) == (2, 1) and f"Received: {received}" in said


def test_a_command_takes_what_its_model_reads(command):
    for arguments in ("translate --model arrays.keras", "read x.png --model arrays.keras"):
        code, said = command(*arguments.split())
        assert code == 2 and "which reads arrays. Use it from Python: `load_pipeline`." in said
    code, said = command("align", "absent.png", "--model", "files.keras")
    assert code == 2 and "path='absent.png'" in said
    code, said = command("read", "absent.png", "--model", "files.keras")
    assert code == 2 and "path='absent.png', no such file" in said


def test_a_manifest_stands_alone(command):
    code, said = command("train", "good.en", "good.de", "--out", "new", "--source", "image")
    assert code == 2 and "Received: a second file, 'good.de'. Omit it." in said
    code, said = command("evaluate", "good.en", "--model", "files.keras")
    assert code == 2 and "'good.en', whose line 1 has 1: 'one'" in said


def test_widths_and_depths_are_bounded_together(command):
    options = "--units 10000 --depth 4 --decoder-depth 1"
    code, said = command("train", *ARGUMENTS["train"].split(), *options.split())
    assert code == 2 and "Received: depth=4, decoder_depth=1, units=10000" in said
