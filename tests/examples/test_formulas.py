"""The example of formulas: its files, its drawings, and the score of a model's file."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import keras_bahdanau as kb

FOLDER = Path(__file__).parents[2] / "examples" / "formulas"
PLUS = [[0, 50, 50, 0, 50, 0], [50, 0, 0, 100]]  # a line to the right, and one downwards
ONE = [[0, 0, 0, 100]]


@pytest.fixture
def data(tmp_path):
    """Files of formulas, as the example reads them."""
    lines = [{"latex": "1", "ink": ONE}, {"latex": "1 + 1", "ink": [*ONE, *PLUS, *ONE]}] * 4
    for name in ("train", "dev"):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_strokes_are_sums_of_their_moves(example, data):
    (ink, latex), *_ = example("formulas").read(data / "dev.jsonl.gz")
    assert latex == "1"
    np.testing.assert_array_equal(ink, [[[0, 0], [0, 100]]])


def test_a_drawing_is_dark_where_the_pen_was(example):
    formulas = example("formulas")
    image = formulas.drawn(formulas.strokes_of(PLUS))
    assert image.dtype == np.uint8 and image.shape == (96, 22)  # 14 pixels, 4 on each side
    middle = image[48, 4:18]
    assert middle.max() < 128  # the line to the right
    assert image[:40].min() == 255 and image[:, :3].min() == 255  # paper above and beside it
    np.testing.assert_array_equal(formulas.drawn([]), np.zeros((0, 0)))


@pytest.mark.slow
def test_a_model_is_trained_exported_and_scored(example, data, capsys):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    train, score = example("train"), example("score")
    train.BEAM_WIDTHS, train.EXPONENTS = (2,), (0.0,)
    train.main(["--data", str(data), "--out", str(data / "run"), "--epochs", "1"])
    model = data / "run" / "formulas.keras"
    pipeline = kb.load_pipeline(model)
    kb.export_litert(pipeline, data / "ink.tflite", max_source_length=64, max_target_length=8)
    found = []
    for path in (model, data / "ink.tflite"):
        files = ["--json", str(data / "scores.json"), "--plot", str(data / "maps.png")]
        score.main([str(data / "dev.jsonl.gz"), "--model", str(path), *files, "--formula", "2"])
        assert "ExpRate" in capsys.readouterr().out
        found.append(json.loads((data / "scores.json").read_text())["exprate"])
    assert found[0] == found[1]
    assert (data / "maps.png").read_bytes().startswith(b"\x89PNG")
