"""The formulas example: its files, its drawings, and a training run at toy size."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "formulas"
DATES = FOLDER.parent / "dates" / "models" / "dates.keras"
ONE = [[0, 0, 0, 100]]
PLUS = [[0, 50, 50, 0, 50, 0], [50, 0, 0, 100]]


@pytest.fixture
def formulas(example):
    pytest.importorskip("PIL", reason="Pillow draws the strokes")
    return example("formulas")


@pytest.fixture
def data(tmp_path):
    """A directory with both files."""
    lines = [{"latex": "1", "ink": ONE}, {"latex": "1 + 1", "ink": [*ONE, *PLUS, *ONE]}] * 4
    for name in ("train", "dev"):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_strokes_are_sums_of_their_moves(formulas, data):
    (ink, latex), *_ = formulas.read(data / "dev.jsonl.gz")
    assert latex == "1"
    np.testing.assert_array_equal(ink, [[[0, 0], [0, 100]]])


def test_a_drawing_is_dark_where_the_pen_was(formulas):
    image = formulas.draw([formulas.stroke_points(stroke) for stroke in PLUS])
    assert image.dtype == np.uint8 and image.shape == (128, 36)  # 28 pixels, plus 4 on each side
    assert image[64, 4:32].max() < 128  # the line to the right
    assert image[:48].min() == 255 and image[:, :2].min() == 255  # blank above and on the left
    np.testing.assert_array_equal(formulas.draw([]), np.zeros((0, 0)))


@pytest.mark.parametrize(
    "line",
    [
        *("1 + 1", "[1]", '{"ink": []}', '{"latex": "1"}', '{"latex": 1, "ink": []}'),
        *('{"latex": "1", "ink": [[0]]}', '{"latex": "1", "ink": [["a", 1]]}'),
        '{"latex": "1", "ink": [[0, NaN]]}',
    ],
)
def test_a_line_that_is_no_formula_is_named(formulas, tmp_path, line):
    path = tmp_path / "dev.jsonl"
    right = '{"latex": "1", "ink": [[0, 0, 1, 1]]}\n'
    path.write_text(f"{4 * right}{line}\n")
    with pytest.raises(ValueError, match=f"Received: path='{path}', line 5: "):
        formulas.read(path)


def test_a_model_of_text_is_refused_in_one_line(formulas, data):
    with pytest.raises(SystemExit, match="whose source is TextSource"):
        formulas.main(["score", str(data / "dev.jsonl.gz"), "--model", str(DATES)])


@pytest.mark.slow
@pytest.mark.parametrize("source", ["ink", "image"])
def test_a_model_is_trained_and_scored(formulas, data, source, capsys):
    formulas.BEAM_WIDTHS, formulas.EXPONENTS, formulas.CTC_SHARES = (2,), (0.0,), (0.2,)
    out = data / "run"
    training = ["train", "--data", str(data), "--source", source, "--out", str(out)]
    formulas.main([*training, "--epochs", "1"])
    files = ["--json", str(data / "scores.json"), "--plot", str(data / "maps.png")]
    scoring = ["score", str(data / "dev.jsonl.gz"), "--model", str(out / "formulas.keras")]
    formulas.main([*scoring, *files, "--formula", "2"])
    assert "ExpRate" in capsys.readouterr().out
    assert 0 <= json.loads((data / "scores.json").read_text())["exprate"] <= 100
    assert (data / "maps.png").read_bytes().startswith(b"\x89PNG")
