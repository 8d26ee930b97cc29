"""The example that adapts a model: its data and its table."""

from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "adapt"


@pytest.fixture
def adapt(example):
    pytest.importorskip("babel", reason="babel has the locales of CLDR")
    return example("adapt")


@pytest.mark.slow
def test_no_date_of_the_tests_is_among_those_of_the_training(adapt, tmp_path):
    adapt.write_data(tmp_path, "ka", 40)
    rows = {
        path.stem: [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        for path in tmp_path.glob("*.tsv")
    }
    assert {name: len(lines) for name, lines in rows.items()} == {
        "new": 500, "mixed": 3000, "valid": 200, "new-test": 40, "old-test": 40,
    }  # fmt: skip
    dates = {name: {line[1] for line in lines} for name, lines in rows.items()}
    trained = dates["new"] | dates["mixed"]
    tests = dates["new-test"] | dates["old-test"]
    assert not trained & tests and not trained & dates["valid"] and not tests & dates["valid"]
    assert {line[2] for line in rows["new"] + rows["new-test"]} == {"ka"}
    assert "ka" not in {line[2] for line in rows["old-test"]}


def test_the_table_has_a_row_for_each_training(adapt):
    table = adapt.table(
        {"before": (0, [30.0, 70.0, 99.94, 100.0]), "after": (2.5, [90, 98, 99, 99])}
    )
    assert table.splitlines()[2:] == [
        "| before | 0.0 | 30.0 | 70.0 | 99.9 | 100.0 |",
        "| after | 2.5 | 90.0 | 98.0 | 99.0 | 99.0 |",
    ]


def test_a_correction_gives_the_letters_of_a_name_and_moves_others_little(example):
    names, draw = example("names"), np.random.default_rng(0)
    readouts, kernel = draw.normal(size=(4000, 8)), draw.normal(size=(8, 10))
    head = names.NameHead(kernel, np.zeros(10), readouts)
    name, letters = draw.normal(size=(3, 8)), np.array([4, 7, names.END])
    before, plain = head.logits(readouts), names.masked(readouts @ kernel)
    np.testing.assert_allclose(before, plain, atol=1e-9)
    assert (head.logits(name).argmax(1) != letters).any()
    for _ in range(names.TIMES):
        head.correct(name, letters)
    corrected = head.logits(name)
    assert corrected.argmax(1).tolist() == letters.tolist()
    rest = np.where(np.arange(10) == letters[:, None], -np.inf, corrected).max(axis=1)
    assert (corrected[range(3), letters] - rest > 0).all()
    assert np.mean(head.logits(readouts).argmax(1) != before.argmax(1)) < 0.05
