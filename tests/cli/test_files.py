"""Commands that read files: from a manifest to a model, its output lines, scores and plots."""

import io
import sys
from pathlib import Path
from typing import NamedTuple

import keras
import matplotlib.pyplot as plt
import numpy as np
import pytest

from keras_bahdanau import ImageToText, SpeechToText, cli, load_pipeline
from keras_bahdanau.sources.sounds import encoded

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = (
    "--vocabulary-size 12 --target-model-type char --embedding-units 8 --units 8 --epochs 1 "
    "--encoder-units 4 --attention-units 8 --batch-sentences 8"
)


def write_image(path, number):
    image = np.full((16, 24, 1), 255, np.uint8)
    image[4 * number : 4 * number + 4] = 0
    path.write_bytes(keras.utils.array_to_img(image, scale=False)._repr_png_())


def write_sound(path, number):
    steps = np.arange(3200) / 16_000
    wave = np.sin(2 * np.pi * 300 * 2**number * steps).astype(np.float32)
    path.write_bytes(encoded(wave[:, None], 16_000))


class Kind(NamedTuple):
    """A source given by name, the ending of its files, and a function that writes them."""

    source: str
    ending: str
    write: object
    settings: str
    pipeline: type
    command: str


KINDS = {
    "image": Kind(
        "image:height=16,width=32",
        "png",
        write_image,
        "--convolutions 4,4,4 --encoder rows",
        ImageToText,
        "read",
    ),
    "speech": Kind(
        "speech:bands=20",
        "wav",
        write_sound,
        "--convolutions 4,4 --ctc-weight 0.3",
        SpeechToText,
        "transcribe",
    ),
}


@pytest.fixture
def command(capsys, monkeypatch):
    """`command(line)`: (exit code, standard output, standard error), run in this process."""

    def run(line):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        with pytest.raises(SystemExit) as ended:
            cli.main(line.split())
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_becomes_a_model_that_reads_files(command, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind = KINDS[kind]
    lines = []
    for number in range(8):
        name = f"{number}.{kind.ending}"
        kind.write(tmp_path / name, number % 4)
        lines.append(f"{name}\t{'abcd'[number % 4]}\n")
    (tmp_path / f"broken.{kind.ending}").write_bytes(b"no such thing")
    broken = f"broken.{kind.ending}\ta\n"
    (tmp_path / "train.tsv").write_text("".join([*lines, broken]))
    (tmp_path / "dev.tsv").write_text("".join([*lines[:2], broken]))

    code, out, err = command(
        f"train train.tsv --valid-source dev.tsv --source {kind.source} --out run "
        f"{TINY} {kind.settings}"
    )
    assert code == 0, err
    assert "1 training pair with an empty side is left out\n1 file is a text, not " in out
    assert f"broken.{kind.ending}" in out
    pipeline = load_pipeline(tmp_path / "run" / "translator.keras")
    assert type(pipeline) is kind.pipeline

    code, out, err = command(
        f"{kind.command} --model run 0.{kind.ending} broken.{kind.ending} 1.{kind.ending} --names"
    )
    names = [line.split("\t")[0] for line in out.splitlines()]
    assert (code, names) == (0, [f"{name}.{kind.ending}" for name in ("0", "broken", "1")])
    assert out.splitlines()[1].endswith("\t")
    assert "1 file is a text, not " in err and f": broken.{kind.ending}. Use " in err
    assert command(f"{kind.command} --model run dev.tsv")[1].count("\n") == 3

    code, out, err = command("evaluate --model run dev.tsv --json scores.json")
    assert code == 0 and out.startswith("WER"), err  # the metric of both presets
    code, out, err = command(f"align --model run 0.{kind.ending} --plot picture.png")
    assert (code, out.count("\n")) == (0, 1), err
    assert plt.imread(tmp_path / "picture.png").std() > 0.05  # something is drawn


def test_a_model_of_images_is_not_compared_with_one_of_speech(command, tmp_path, monkeypatch):
    from keras_bahdanau import evaluation

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluation, "evaluate", None)  # calling it would raise an error
    write_image(tmp_path / "one.png", 1)
    (tmp_path / "test.tsv").write_text("one.png\ta\none.png\tb\n")
    images, speech = (EXAMPLES / one for one in ("captions/models/captions", "an4/models/an4"))
    code, out, err = command(f"evaluate test.tsv --model {images}.tflite --compare {speech}.tflite")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "an4.tflite', which reads recordings, and a model that reads images" in err


@pytest.mark.parametrize(
    "model, argument, message",
    [
        ("captions/models/captions", ".", "path='.', a directory. Give the path"),
        ("captions/models/captions", "absent.png", "path='absent.png', no such file"),
        ("formulas/models/ink", "one", "which reads arrays. Use it from Python"),
    ],
)
def test_what_is_no_file_to_align_is_named(command, model, argument, message):
    code, out, err = command(f"align --model {EXAMPLES / model}.tflite {argument}")
    assert (code, out, err.count("\n")) == (2, "", 1) and message in err
