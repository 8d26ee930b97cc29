"""The forecasting comparison, at toy size."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "forecasting" / "forecasting.py"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("statsmodels", reason='needs pip install -e ".[all,forecasting]"')
    spec = importlib.util.spec_from_file_location("forecasting", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_each_series_is_read_whole(example):
    lengths = {name: len(example.load(name)) for name in example.SERIES}
    expected = {"sunspots": 309, "co2": 444, "elnino": 732, "elec_equip": 257, "demand": 3600}
    assert lengths == expected
    assert all(np.isfinite(example.load(name)).all() for name in example.SERIES)


@pytest.mark.slow
def test_it_compares_all_methods(example, monkeypatch, tmp_path, capsys):
    out = tmp_path / "results.jsonl"
    arguments = ["elec_equip", "--seeds", "1", "--epochs", "1", "--out", out]
    monkeypatch.setattr(sys, "argv", [*map(str, [SCRIPT, *arguments])])
    example.main()
    row = json.loads(out.read_text())
    assert row["command"] == "forecasting.py elec_equip" and row["season"] == 12
    columns = ("seasonal naive", "exponential smoothing", "GRU without attention", "Forecaster")
    assert all(0 < float(row[column].split()[0]) < 10 for column in columns)
    assert json.dumps(row) in capsys.readouterr().out
