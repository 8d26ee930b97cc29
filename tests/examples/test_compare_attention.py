"""The example that compares attention scores, at toy size."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "compare_attention"


@pytest.mark.slow
def test_each_configuration_has_a_row(example, tmp_path, capsys):
    compare = example("compare")
    compare.OPTIONS.update(embedding_units=8, units=8, attention_units=8, vocabulary_size=200)
    names = ["additive", "none"]
    compare.main([*names, "--out", str(tmp_path), "--pairs", "60", "--epochs", "1"])
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [row["configuration"] for row in rows] == names
    assert rows[0]["weights"] > rows[1]["weights"]  # attention adds weights
    assert capsys.readouterr().out.splitlines()[-4].startswith("| configuration | exact | BLEU |")


@pytest.mark.slow
def test_each_configuration_is_a_training(example):
    compare = example("compare")
    for changes in compare.CONFIGURATIONS.values():
        assert compare.TrainingOptions(**{**compare.OPTIONS, **changes}).resolved()


def test_an_unknown_configuration_is_refused(example, capsys):
    with pytest.raises(SystemExit):
        example("compare").main(["additve"])
    assert "NAME must be one of additive, none" in capsys.readouterr().err
