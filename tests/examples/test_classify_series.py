"""The comparison of time series classifiers, at toy size."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "classify_series" / "classify.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("classify", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def files():
    if importlib.util.find_spec("aeon") is None:
        pytest.skip("needs pip install --no-deps aeon")


def test_a_patch_has_values_of_all_channels_and_padding_follows_the_last(example):
    long, short = np.arange(10.0).reshape(5, 2), np.float64([[7, 8]])
    rows = example.patches([long, short], 2)
    assert rows.shape == (2, 3, 4)
    np.testing.assert_array_equal(rows[0], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 8, 9]])
    np.testing.assert_array_equal(rows[1, 0], [7, 8, 7, 8])
    assert (rows[1, 1:] == example.PADDING).all()


@pytest.mark.slow
def test_each_set_is_read_whole(example, files):
    sizes = {}
    for name in example.SETS:
        x, y, x_test, y_test = example.load(name, on_valid=False)
        sizes[name] = len(x), len(x_test), int(y.max()) + 1
        assert {*y} == {*y_test} and np.isfinite(x).all() and x.shape[1] <= example.LENGTH
    expected = {"ItalyPowerDemand": (67, 1029, 2), "JapaneseVowels": (270, 370, 9)}
    expected |= {"BasicMotions": (40, 40, 4), "GunPoint": (50, 150, 2)}
    expected |= {"ArrowHead": (36, 175, 3), "OSULeaf": (200, 242, 6)}
    assert sizes == expected


@pytest.mark.slow
def test_a_third_of_the_training_part_is_held_out(example, files):
    x, y, x_valid, y_valid = example.load("ArrowHead", on_valid=True)
    assert (len(x), len(x_valid)) == (24, 12)
    np.testing.assert_array_equal(np.bincount(y_valid), [4, 4, 4])


@pytest.mark.slow
def test_it_compares_all_ways(example, files, monkeypatch, tmp_path, capsys):
    out = tmp_path / "results.jsonl"
    arguments = ["JapaneseVowels", "--seeds", "1", "--steps", "20", "--out", out]
    monkeypatch.setattr(sys, "argv", [*map(str, [SCRIPT, *arguments])])
    example.main()
    row, mean = map(json.loads, out.read_text().splitlines())
    assert row["command"] == "classify.py JapaneseVowels" and row["classes"] == 9
    for kind in example.KINDS:
        assert 12 < float(row[kind].split()[0]) <= 100  # guessing is right in 11%
        assert mean[kind] == row[kind].split()[0]
    assert json.dumps(row) in capsys.readouterr().out
