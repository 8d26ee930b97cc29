"""The text lines example: its files, its scores, and a training run on lines of bars."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from keras_bahdanau.cli import main

FOLDER = Path(__file__).parents[2] / "examples" / "text_lines"
BARS = {"a": 4, "b": 16, "ſ": 28, "z": 40}  # letter -> top edge of its bar, in pixels
HEIGHT, STEP = 48, 24  # height of a line and width of a letter, in pixels


@pytest.fixture
def text_lines(example):
    return example("text_lines")


def png(text):
    """Return the bytes of a line: a bar 16 pixels wide per letter, nothing for a space."""
    image = np.full((HEIGHT, STEP * len(text)), 255, np.uint8)
    for place, letter in enumerate(text):
        if letter in BARS:
            image[BARS[letter] :][:6, STEP * place + 4 : STEP * place + 20] = 0
    content = io.BytesIO()
    Image.fromarray(image).save(content, "PNG")
    return content.getvalue()


def write_archives(folder, texts, image_of=png):
    """Write both parts with the same texts."""
    for part in ("train", "dev"):
        with gzip.open(folder / f"{part}.tsv.gz", "wt", encoding="utf-8") as file:
            file.write("".join(f"{n}.png\t1850\t{text}\n" for n, text in enumerate(texts)))
        with tarfile.open(folder / f"{part}.tar.gz", "w:gz") as archive:
            for number, text in enumerate(texts):
                member, content = tarfile.TarInfo(f"./{number}.png"), image_of(text)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def test_the_images_of_the_lines_are_unpacked_with_manifests(text_lines, tmp_path, capsys):
    write_archives(tmp_path, ["a b", "b", "z a", "zz"], lambda text: text.encode())
    text_lines.main(["prepare", str(tmp_path), "--out", str(tmp_path / "data")])
    assert "4 of train, 4 of dev, 2 of them to choose" in capsys.readouterr().out
    valid = (tmp_path / "data" / "valid.tsv").read_text("utf-8")
    assert valid == "dev/0.png\ta b\ndev/3.png\tzz\n"
    pairs = text_lines.read_pairs(tmp_path / "data" / "train.tsv")
    assert [(path.read_text("utf-8"), text) for path, text in pairs] == [
        (text, text) for text in ("a b", "b", "z a", "zz")
    ]


@pytest.mark.parametrize("name", ["../0.png", "a/0.png", ""])
def test_a_name_that_leaves_the_folder_is_refused(text_lines, tmp_path, name):
    write_archives(tmp_path, ["a"], str.encode)
    with gzip.open(tmp_path / "train.tsv.gz", "wt") as file:
        file.write(f"{name}\t1850\ta\n")
    with pytest.raises(SystemExit, match="A line must be the name of a PNG file"):
        text_lines.main(["prepare", str(tmp_path), "--out", str(tmp_path / "data")])


def test_an_image_that_the_archive_lacks_is_named(text_lines, tmp_path):
    write_archives(tmp_path, ["a"], str.encode)
    with gzip.open(tmp_path / "dev.tsv.gz", "at") as file:
        file.write("other.png\t1850\tb\n")
    with pytest.raises(SystemExit, match="without 1 of them, such as 'other.png'"):
        text_lines.main(["prepare", str(tmp_path), "--out", str(tmp_path / "data")])


def test_a_text_is_scored_as_it_is_and_in_the_spelling_of_today(text_lines):
    references = ["ſchoͤn", "das iſt es"]  # 6 and 10 characters, 4 words
    row = text_lines.measured("attention", ["schön", "das iſt er"], references)
    # "s" and "ö" for "ſ", "o" and a mark: 3 edits; "r": 1 edit.
    assert row.cer == round(100 * 4 / 16, 2) and row.interval[0] <= row.cer <= row.interval[1]
    assert row.modern_cer == round(100 * 1 / 15, 2)
    assert (row.wer, row.exact) == (50.0, 0.0)


@pytest.mark.slow
def test_lines_are_learnt_scored_drawn_and_exported(text_lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    write_archives(tmp_path, ["".join(draw.choice([*BARS, " "], 6)) + "a" for _ in range(16)])
    text_lines.main(["prepare", ".", "--out", "data"])
    options = "--units 12 --encoder-units 8 --embedding-units 8 --attention-units 8 --epochs 1"
    options += " --convolutions 4,4,6 --depth 2 --coverage convolution --ctc-weight 0.3"
    run_command(
        "train data/train.tsv --valid-source data/valid.tsv --source image:height=48,width=784 "
        f"--target-model-type char --vocabulary-size 20 --best-by cer {options} --out run"
    )
    capsys.readouterr()
    text_lines.main("score data/dev.tsv --model run".split())
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["search"] for row in rows] == [*text_lines.SEARCHES]
    text_lines.main("draw data/dev/0.png --model run --out map.png".split())
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    run_command(
        "export --model run --format litert --max-source-length 126 --max-target-length 12 "
        "--signatures greedy --sentences data/valid.tsv --allow-differences --out line.tflite"
    )
    run_command("evaluate --model line.tflite data/valid.tsv")


def run_command(line):
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert not ended.value.code
