"""The table of runtimes: its arithmetic, with one-line Python programs as runtimes."""

import argparse
import json
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
DATES = FOLDER.parent / "examples" / "dates" / "models" / "dates.tflite"
UPPER = """
import json, sys
for line in sys.stdin:
    found = {"text": line.strip().upper(), "score": -1}
    print(json.dumps({"hypotheses": [found]}), flush=True)
"""
TITLE = UPPER.replace("upper", "title").replace("-1", "-1 - len(line) / 16")
FAILING = "raise SystemExit('no such signature')"
ENDING = UPPER.replace("import", "import itertools,").replace(
    "in sys.stdin", "in itertools.islice(sys.stdin, 4)"
)


@pytest.fixture
def imported(monkeypatch, example):
    """Function that imports one of the benchmarks' modules."""
    monkeypatch.syspath_prepend(FOLDER / "workers")
    return example


def runtimes_of(programs, tmp_path, **programs_of_names):
    """Return runtimes that are one-line programs, by name."""

    def of(name, code):
        settings = {"program": lambda self: [sys.executable, "-c", code]}
        settings |= {"ships": lambda self: [DATES], "name": name, "test": f"make {name}"}
        return type(name, (programs.Runtime,), settings)(tmp_path)

    return [of(*item) for item in programs_of_names.items()]


@pytest.fixture
def rows(imported, tmp_path):
    """Figures of four runtimes: the second changes texts, the third and later the fourth fail."""
    module, programs = imported("runtimes"), imported("runtime_programs")
    kinds = {"first": UPPER, "second": TITLE, "third": FAILING, "fourth": ENDING}
    found = runtimes_of(programs, tmp_path, **kinds)
    served = runtimes_of(programs, tmp_path, served=UPPER)[0]
    served.model = "saved_model"
    models = {"float32": DATES, "int8": None, "saved_model": None}
    options = argparse.Namespace(timed=2, rounds=1)
    return module.measured([*found, served], models, ["a", "B", "cd"], ["beam"], options)


def test_texts_and_scores_are_held_against_those_of_the_first_runtime(rows):
    figures = [row["lanes"]["float32"]["beam"] for row in rows[:4]]
    assert [one.get("equal") for one in figures] == [3, 2, None, 3]
    # "A" and "B" with a line feed; the first runtime does not answer "Cd".
    assert [one.get("score_difference") for one in figures] == [0, 2 / 16, None, 0]
    assert "no such signature" in figures[2]["error"]
    assert figures[3]["equal"] == 3 and figures[3]["error"].startswith("A runner ended: ")
    assert "p50_ms" not in figures[3]
    for one in figures[:2]:
        assert 0 < one["p50_ms"] <= one["p95_ms"] < 1000 * one["start_seconds"]
        assert one["memory_mib"] > 3
    assert rows[4] == {"name": "served", "test": "make served", "error": "needs --saved-model"}


def test_the_table_has_a_row_for_each_runtime_and_a_reason_for_none(imported, rows):
    module = imported("runtimes")
    processor = {"processor": "CPU 1", "system": "Linux"}
    result = {"processor": processor, "searches": ["beam", "greedy"], "runtimes": rows}
    result |= {"file_bytes": {"float32": 1e6}, "texts": 3, "timed_texts": 2, "date": "today"}
    heading, _, *lines = module.table(result).splitlines()
    assert heading.startswith("CPU 1, Linux, one thread, today; models: float32 1.0 MB; 3 texts")
    assert {line.count("|") for line in lines} == {11}
    assert re.match(r"\| second \| 0\.3 \| [\d.e-]+ / - \| [\d.e-]+ / - \| - / - ", lines[3])
    assert lines[3].endswith(" | 2 / - | - / - | 0.1 / - | `make second` |")
    assert lines[6].startswith("| served | needs --saved-model |")


def test_texts_come_from_lines_or_from_a_conformance_file_and_fit_the_model(imported, tmp_path):
    module = imported("runtimes")
    (tmp_path / "lines").write_text("3 May 2021\n\nein Tag\n" + "9" * 60)
    inputs = [{"text": "3 May 2021"}, {"text": ""}, {"text": "a\nb"}]
    (tmp_path / "all.json").write_text(json.dumps({"answers": {"inputs": inputs}}))
    assert module.texts_of(tmp_path / "all.json") == ["3 May 2021"]
    texts = module.texts_of(tmp_path / "lines")
    assert texts == ["3 May 2021", "ein Tag", "9" * 60]
    assert module.fitting(texts, DATES) == texts[:2]


def test_runtimes_in_javascript_name_the_packages_that_they_lack(imported, tmp_path):
    programs = imported("runtime_programs")
    names = [kind.name for kind in programs.RUNTIMES]
    assert len(set(names)) == len(names) == 7
    for kind in (programs.Node, programs.Browser):
        assert "--node-modules" in kind(tmp_path).lacking()
