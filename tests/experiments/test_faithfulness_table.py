"""The table of faithfulness measures, at toy size."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments" / "faithfulness"


def test_the_shortest_form_has_a_row_for_each_model(example, tmp_path, capsys):
    measure = example("measure")
    measure.OPTIONS |= {"units": 16, "embedding_units": 16, "attention_units": 16}
    lines = tmp_path / "dates.txt"
    lines.write_text("3 May 2021\n12.04.1999\n", encoding="utf-8")
    model = FOLDER.parents[1] / "examples" / "dates" / "models" / "dates.keras"
    command = ["dot", "--quick", "--out", tmp_path / "out", "--published", model, lines]
    measure.main([*map(str, command)])
    rows = [*map(json.loads, (tmp_path / "out" / "results.jsonl").read_text().splitlines())]
    names = ["demo: dot", "classifier: one word", "classifier: all words", "dates"]
    assert [row["model"] for row in rows] == names
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(names)
    measure.seed_rows = None  # a second run measures nothing
    measure.main([*map(str, command)])
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")] == table
    assert rows[0]["alignment_error_rate"] is not None and rows[1]["agreement"] is None


def test_an_unknown_mechanism_is_named(example, capsys):
    with pytest.raises(SystemExit):
        example("measure").main(["nothing"])
    assert "NAME must be one of additive" in capsys.readouterr().err
