"""The comparison of LiteRT files, with a file from this repository."""

import gzip
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the files")
FOLDER = Path(__file__).parents[2] / "experiments" / "multi30k"
MODEL = FOLDER.parents[1] / "examples" / "multi30k" / "models" / "small-de.tflite"
PAIRS = ("a man in an orange hat .", "ein mann mit einem orangefarbenen hut ."), ("dogs", "hunde")


def test_each_file_has_a_row_for_each_search(example, tmp_path, capsys):
    (tmp_path / "tok").mkdir()
    for number, language in enumerate(("en", "de")):
        content = "".join(f"{pair[number]}\n" for pair in PAIRS).encode()
        (tmp_path / "tok" / f"val.{language}.gz").write_bytes(gzip.compress(content))
    out = tmp_path / "devices.json"
    example("devices").main([str(MODEL), str(MODEL), "--data", str(tmp_path), "--out", str(out)])
    rows = json.loads(out.read_text())["rows"]
    assert [row["search"] for row in rows] == ["greedy", "beam"] * 2
    assert {row["bytes"] for row in rows} == {MODEL.stat().st_size}
    greedy, beam = rows[:2]
    assert all(row["p50_ms"] > 0 for row in rows)
    assert [row["bleu"] for row in rows[2:]] == [greedy["bleu"], beam["bleu"]]
    lines = capsys.readouterr().out.splitlines()[-4:]
    assert lines[0].startswith("| small-de.tflite, greedy | 6.39 |")
    assert lines[1].endswith(" 1.00 |")  # the beam of the first file


@pytest.mark.parametrize("absent", ["data", "file"])
def test_what_is_absent_is_named_before_anything_is_read(example, tmp_path, capsys, absent):
    if absent == "file":
        (tmp_path / "tok").mkdir()
    files = [str(MODEL), str(tmp_path / "none.tflite")]
    with pytest.raises(SystemExit) as ended:
        example("devices").main([*files, "--data", str(tmp_path), "--out", "out.json"])
    assert ended.value.code == 2
    name = {"data": "tok", "file": "none.tflite"}[absent]
    assert f"there is no '{tmp_path / name}'" in capsys.readouterr().err
