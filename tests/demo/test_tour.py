"""The tour: each task's demo in short, with Keras, SavedModel and LiteRT file side by side."""

import dataclasses
import json
import shlex
from typing import NamedTuple

import pytest

from keras_bahdanau import cli
from keras_bahdanau.demo import corpus, speech_task, text_task
from keras_bahdanau.demo.task import task_of
from keras_bahdanau.demo.tour import compared_answers

pytestmark = pytest.mark.slow
TINY = {
    **{"embedding_units": 8, "units": 16, "encoder_units": 8, "attention_units": 8, "epochs": 1},
    **{"ema_momentum": None, "learning_rate": 1e-2},
}


def sentences(train, valid, test):
    """Return short sentences, including the demo's example, which reorders twelve words."""
    some = [one for one in corpus.generate(3000) if one.source.count(" ") < 13]
    count = train + valid + test - 1
    reordered = next(filter(text_task._reorders, some[count:]))
    return some[:train], some[train : train + valid], [*some[train + valid : count], reordered]


def digits(**sizes):
    pytest.importorskip("sklearn", reason="its handwritten digits are on the images")
    from keras_bahdanau.demo import images_task

    return images_task.split(**sizes)


class Short(NamedTuple):
    """A shortened task.

    Attributes:
        split: Function of the sizes of its three parts.
        sizes: Dictionary of these sizes.
        settings: Dictionary of options in addition to `TINY`.
        data: String, the description of the data in the demo's first line.
        verb: String, the first word of the demo's third step.
        files: Files of the test part.
        figures: Names of the scores in the demo's report.
    """

    split: object
    sizes: dict
    settings: dict
    data: str
    verb: str
    files: tuple
    figures: tuple


TASKS = {
    "text": Short(
        sentences,
        {"train": 80, "valid": 10, "test": 60},
        {"vocabulary_size": 150},
        "80 English-French pairs",
        "Translating",
        ("test.en", "test.fr", "test.align"),
        ("bleu", "exact_match", "alignment_error_rate"),
    ),
    "images": Short(
        digits,
        {"train": 32, "valid": 8, "test": 8},
        {"convolutions": "4,8,8", "batch_sentences": 16},
        "32 images of handwritten digits",
        "Reading",
        ("test.tsv", "test/0000.png", "test/0007.png"),
        ("exact_match", "exact_match_of_new_digits", "pointing_accuracy"),
    ),
    "speech": Short(
        speech_task.split,
        {"train": 24, "valid": 6, "test": 6},
        {"convolutions": "4,4"},
        "24 synthetic utterances (whistled tones), no real speech",
        "Transcribing",
        ("test.tsv", "test/0000.wav", "test/0005.wav"),
        ("wer", "exact"),
    ),
}


@pytest.fixture
def command(capsys):
    """`command(*arguments)`: exit code, standard output and standard error, in this process."""

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments])
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("name", TASKS)
def test_the_demo_writes_trains_reads_draws_and_exports(name, command, tmp_path, monkeypatch):
    short, kind = TASKS[name], type(task_of(name))
    monkeypatch.setattr(speech_task.shutil, "which", lambda program: None)  # no espeak-ng
    parts = short.split(**short.sizes)
    monkeypatch.setattr(kind, "data", lambda task: parts)
    own = {**TINY, **short.settings}
    monkeypatch.setattr(kind, "options", dataclasses.replace(kind.options, **own))
    monkeypatch.chdir(tmp_path)
    code, out, err = command("demo", "--task", name, "--out", "tour")
    assert code == 0, err

    tour = tmp_path / "tour"
    made = ["report.json", "alignment.png", "translator.keras", "saved_model/1/saved_model.pb"]
    made += ["translator.tflite", "run/translator.keras", *(f"data/{file}" for file in short.files)]
    assert [file for file in made if not (tour / file).is_file()] == []
    assert (tour / "alignment.png").read_bytes().startswith(b"\x89PNG")
    report = json.loads((tour / "report.json").read_text())
    assert [*report] == [*short.figures, "agreement", "seconds"]

    lines = out.splitlines()
    assert lines[0] == f"1. Data: {short.data}, in tour/data"
    steps = [line for line in lines if line[:2] in ("2.", "3.", "4.")]
    count = short.sizes["test"]
    assert steps == [
        "2. Training, 10 minutes at most",
        f"3. {short.verb} {count} inputs that it has never seen",
        "4. Exporting to TensorFlow Serving and to LiteRT, and comparing all three",
    ]
    keras, served, on_device = (
        [line[18:].strip() for line in lines if line.startswith(f"      {format:<11} ")]
        for format in ("Keras", "SavedModel", "LiteRT")
    )
    assert len(keras) == 3 and served == keras
    # After one epoch, outputs have no end. The LiteRT file stops after 64 tokens, and its beam may
    # then prefer a hypothesis with other last letters.
    assert all(long.startswith(short[:-10]) for long, short in zip(keras, on_device, strict=True))
    assert f"LiteRT agree on {report['agreement']:.1%} of the test" in out

    # The suggested commands work, except those that need the reader's files.
    commands = [line for line in lines if line.startswith("  keras-bahdanau ")]
    assert len(commands) >= 3
    for line in commands:
        _, *arguments = shlex.split(line)
        if not any("YOUR" in argument for argument in arguments):
            code, out, err = command(*arguments)
            assert code == 0 and out, (line, err)
    assert (tmp_path / "picture.png").is_file()

    code, _, err = command("demo", "--task", name, "--out", "tour")
    assert code == 2 and "This demo has already finished. Received: out='tour'" in err


def test_more_sentences_than_a_request_may_have_get_three_equal_answers(toy_translator, tmp_path):
    answers = compared_answers(toy_translator, tmp_path, ["one two"] * 65, ["eins zwei"] * 65)
    assert answers == dict.fromkeys(("Keras", "SavedModel", "LiteRT"), ["eins zwei"] * 65)
