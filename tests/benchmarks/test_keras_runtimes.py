"""The comparison of exported Keras models: its table, its verdict, and one complete model."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def figures(milliseconds, kilobytes=100.0, mebibytes=50.0):
    return {
        "p50_ms": milliseconds,
        "file_bytes": kilobytes,
        "memory_mib": mebibytes,
        "start_seconds": 0.2,
        "difference": 1e-7,
    }


def test_the_table_has_figures_or_a_reason_and_a_verdict_on_the_best_of_each_side(example):
    module = example("keras_runtimes")
    ours, int8, ours_onnx, flex, onnx = module.LANES
    rows = {
        ours: figures(2.0),
        int8: figures(1.0),
        ours_onnx: {"error": "ValueError: a | b"},
        flex: figures(3.0, mebibytes=40.0),
        onnx: figures(2.5, kilobytes=90.0),
    }
    lines = [*module.table_of("tagger", rows)]
    assert lines[0].startswith("| tagger | p50, ms | file, kB |")
    assert lines[2] == f"| {ours} | 2.000 | 100 | 50 | 0.20 | 1.0e-07 |"
    assert lines[4] == f"| {ours_onnx} | ValueError: a \\| b |  |  |  |  |"
    assert {line.replace("\\|", "").count("|") for line in lines} == {7}
    verdict = module.verdict({"tagger": rows})
    assert "p50_ms 1 of 1, file_bytes 0 of 1, memory_mib 0 of 1" in verdict


@pytest.mark.slow
def test_a_model_is_written_and_measured_in_each_runtime(example, tmp_path, capsys):
    module, path = example("keras_runtimes"), tmp_path / "figures.json"
    words = ["--models", "tagger", "--rounds", "1", "--calls", "2", "--json", str(path)]
    assert module.main(words) == 0
    (rows,) = json.loads(path.read_text())["models"].values()
    assert rows.keys() == module.LANES.keys()
    measured = [row for row in rows.values() if "error" not in row]
    assert len(measured) >= 3, rows  # newer packages don't contain Flex
    assert all(row["difference"] < 0.1 and row["memory_mib"] > 3 for row in measured)
    assert "| tagger | p50, ms |" in capsys.readouterr().out
