"""The tables on the examples' pages match the result files."""

import importlib.util
import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
RESULTS = sorted(EXAMPLES.glob("*/results.jsonl"))


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("examples_tables", EXAMPLES / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_table_is_that_of_its_file(tables, capsys):
    assert not tables.main(["--check"]), capsys.readouterr().out


def test_numbers_stay_as_they_are_written(tables):
    lines = ['{"file": "a.tflite", "WER": 8.60, "kB": 350}', '{"file": "b.tflite", "WER": 9}']
    assert tables.table(lines) == [
        "| file | WER | kB |",
        "| --- | --: | --: |",
        "| `a.tflite` | 8.60 | 350 |",
        "| `b.tflite` | 9 |  |",
    ]


def test_a_page_has_one_place_for_its_table(tables):
    page = f"# A\n\n{tables.COMMENT}\n| old |\n\nText\n"
    new = f"# A\n\n{tables.COMMENT}\n| new |\n\nText\n"
    assert tables.replaced(page, ["| new |"]) == tables.replaced(new, ["| new |"]) == new
    assert tables.replaced(f"# A\n\n{tables.COMMENT}\nText\n", ["| new |"]) == new
    with pytest.raises(ValueError, match="must have the line"):
        tables.replaced("# A\n", [])


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.parent.name)
def test_each_device_file_has_its_row(path):
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    files = {file.name for file in path.parent.glob("models/*.tflite")}
    assert files <= {row.get("file") for row in rows}
