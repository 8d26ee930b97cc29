"""The captions example: its files, and a comparison of models on them."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="its handwritten digits are on the canvases")

from keras_bahdanau.data.readers.manifest import read_manifest  # noqa: E402
from keras_bahdanau.demo import images_task  # noqa: E402
from keras_bahdanau.sources import ImageSource  # noqa: E402

FOLDER = Path(__file__).parents[2] / "examples" / "captions"
CELLS = 96


@pytest.fixture
def captions(example, monkeypatch):
    """The program, with a short training part of the demo, which the program does not use."""
    split = images_task.split
    monkeypatch.setattr(images_task, "split", lambda test: split(train=0, valid=0, test=test))
    return example("captions")


class Reader:
    """A pipeline stand-in that reads some captions and attends to the digits or outside them."""

    source = ImageSource(images_task.HEIGHT, images_task.WIDTH)

    def __init__(self, captions, wrong=(), beside=()):
        self.results = [
            self.result(one, number in wrong, number in beside)
            for number, one in enumerate(captions)
        ]

    def result(self, caption, is_wrong, is_beside):
        words, boxes = caption.text.split(), iter(caption.boxes)
        alignment = np.zeros((len(words) + 1, CELLS))
        for row, word in enumerate(words):
            if word in images_task.NAMES:
                left, top, right, bottom = next(boxes)
                column, line = (left + right) // 2 // 8, (top + bottom) // 2 // 8
                # A box is at most 28 pixels wide, so the column at the other end is outside it.
                column = (11 if left < 48 else 0) if is_beside else column
                alignment[row, 8 * column + line] = 1.0
        tokens = [*(f"▁{word}" for word in words), "</s>"]
        text = "a one above a one" if is_wrong else caption.text
        return SimpleNamespace(text=text, target_tokens=tokens, alignment=alignment)

    def decode(self, images):
        assert len(images) == len(self.results)
        return self.results


@pytest.mark.slow
def test_the_canvases_are_files_with_a_manifest(captions, tmp_path, capsys):
    captions.main(["test", "--out", str(tmp_path), "--count", "6"])
    assert capsys.readouterr().out == f"6 images: {tmp_path / 'test.tsv'}\n"
    expected = captions.chosen(6)
    assert [one.known for one in expected] == [True] * 3 + [False] * 3
    paths, texts = zip(*read_manifest(tmp_path / "test.tsv"), strict=True)
    assert [*texts] == [one.text for one in expected]
    assert all(path.suffix == ".png" for path in paths)
    source = Reader.source
    (pixels, lengths), images = source.batch(paths), np.array([one.image for one in expected])
    np.testing.assert_array_equal(pixels[..., 0], images)
    assert {*lengths.tolist()} == {CELLS}


@pytest.mark.slow
def test_the_canvases_are_those_of_the_demo(example):
    *_, test = images_task.split()
    found = example("captions").chosen()
    assert [one.text for one in found] == [one.text for one in test]
    np.testing.assert_array_equal(found[-1].image, test[-1].image)


@pytest.mark.slow
def test_the_model_in_the_repository_reads_canvases():
    """The seed differs from those of training and test; half of the handwriting is new."""
    pytest.importorskip("ai_edge_litert", reason="a .tflite file runs with the extra litert")
    from keras_bahdanau.exporters import LiteRTPipeline

    *_, some = images_task.split(train=0, valid=0, test=12, seed=1)
    pipeline = LiteRTPipeline(FOLDER / "models" / "captions.tflite")
    found = pipeline.decode([one.image for one in some])
    assert [one.text for one in found] == [one.text for one in some]
    assert len({one.text for one in some}) > 10


def test_a_model_is_scored_by_known_and_by_new_handwriting(captions, tmp_path, monkeypatch):
    some = captions.chosen(8)  # four of each kind
    path = tmp_path / "some.tflite"
    path.write_bytes(b"12345")
    reader = Reader(some, wrong=(0, 4, 5, 6), beside=(0, 1))
    monkeypatch.setattr(captions.kb.exporters, "LiteRTPipeline", lambda path: reader)
    row = captions.measured(path, some)
    assert (row.file, row.exact, row.new_digits, row.size) == ("some.tflite", 0.75, 0.25, 5)
    # Of the correct captions 1, 2, 3 and 7, the first attends outside its digits.
    counts = [len(one.boxes) for one in some]
    assert row.pointing == sum(counts[place] for place in (2, 3, 7)) / sum(
        counts[place] for place in (1, 2, 3, 7)
    )
    reader.results = Reader(some, wrong=range(8)).results
    assert math.isnan(captions.measured(path, some).pointing)


def test_models_are_compared_line_by_line(captions, tmp_path, monkeypatch, capsys):
    some = captions.chosen(4)
    files = [tmp_path / name for name in ("one.keras", "two.keras")]
    readers = dict(zip(files, (Reader(some), Reader(some, wrong=(0, 1))), strict=True))
    for path in files:
        path.write_bytes(bytes(123_456))
    monkeypatch.setattr(captions.kb, "load_pipeline", readers.get)
    arguments = ["compare", *map(str, files), "--count", "4", "--json", str(tmp_path / "rows.json")]
    captions.main(arguments)
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["100.0", "100.0", "100.0", "123", "one.keras"]
    assert second.split() == ["0.0", "100.0", "100.0", "123", "two.keras"]
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["exact"] for row in rows] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "received"),
    [
        ("test --out x --count 1", "Received: 1"),
        ("test --out x --count 1001", "Received: 1001"),
        ("compare absent.tflite", "no such file: 'absent.tflite'"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(captions, arguments, received, capsys):
    with pytest.raises(SystemExit):
        captions.main(arguments.split())
    assert received in capsys.readouterr().err
