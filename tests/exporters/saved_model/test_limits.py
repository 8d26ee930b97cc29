"""No request exceeds the batch limits on a SavedModel's card or affects another row."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from toy_requests import BYTES, CUT, LONG, LONGEST, LONGEST_TARGET, SHORT, texts

from keras_bahdanau.exporters import describe, export_saved_model, run_in_clean_process
from keras_bahdanau.exporters.saved_model.saved_model_exporter import SavedModelExporter
from keras_bahdanau.exporters.saved_model.version_card import CARD_PATH

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "worst_batch.py"
IDS = [5] * 600
END = 3


def ids(name, *rows):
    width = max(map(len, rows))
    padded = [[*row, *[0] * (width - len(row))] for row in rows]
    lengths = [len(row) for row in rows]
    return {name: np.array(padded, np.int32), f"{name}_length": np.array(lengths, np.int32)}


BEGINNINGS = {  # an input that is too long, and its beginning
    "alone": [("translate_with_alignment", texts(text)) for text in (LONG, CUT)],
    "beside": [("translate_with_alignment", texts(*SHORT, text)) for text in (LONG, CUT)],
    "ids": [("decode_ids", ids("source", row)) for row in (IDS, [*IDS[: LONGEST - 1], END])],
}


def assert_same_bits(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def without_mark(answer):
    return {name: value for name, value in answer.items() if name != "truncated"}


@pytest.mark.slow
@pytest.mark.parametrize("requests", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_row_that_is_too_long_is_answered_as_its_beginning(toy_saved_model, requests):
    long, cut = run_in_clean_process(toy_saved_model, requests)
    assert long["truncated"][-1] and not cut["truncated"].any()
    assert_same_bits(without_mark(long), without_mark(cut))


@pytest.mark.slow
def test_a_row_with_too_many_bytes_is_cut_before_it_is_split(toy_answers, toy_translator):
    (expected,) = toy_translator.translate([BYTES])
    found = toy_answers["bytes"]
    assert found["truncated"].tolist() == [True] and expected.truncated
    assert found["translation"][0].decode() == expected.text
    assert found["source_length"][0] == len(expected.source_tokens) < 10


def test_rows_beside_a_long_one_are_answered_as_alone(toy_answers):
    """Floats match approximately: batches of different widths differ in the last bits."""
    beside = toy_answers["beside long"]
    assert beside["truncated"].tolist() == [False] * len(SHORT) + [True]
    assert beside["source_tokens"].shape == (len(SHORT) + 1, LONGEST)
    for row in range(len(SHORT)):
        alone = toy_answers[f"alone {row}"]
        for name, (value,) in alone.items():
            there = (
                beside[name][row][tuple(slice(0, size) for size in value.shape)]
                if np.ndim(value)
                else beside[name][row]
            )
            if np.asarray(value).dtype == np.float32:
                np.testing.assert_allclose(there, value, atol=1e-6, err_msg=name)
            else:
                np.testing.assert_array_equal(there, value, err_msg=name)


@pytest.mark.parametrize("row", [0, 2])
def test_a_row_has_the_same_bits_beside_any_rows_of_the_same_number_and_width(toy_answers, row):
    one, other = (
        {name: value[row] for name, value in toy_answers[request].items()}
        for request in ("beside long", "beside others")
    )
    assert one["alignment"].shape[1] == LONGEST and one["alignment"].any()
    # Lists are as long as the longest in the batch: after a row's values, they are empty or 0.
    for name in ("target_tokens", "alignment"):
        time = min(len(one[name]), len(other[name]))
        assert not one[name][time:].any() and not other[name][time:].any()
        one[name], other[name] = one[name][:time], other[name][:time]
    assert_same_bits(one, other)


@pytest.mark.parametrize("name", ["best", "nbest"])
def test_every_signature_marks_what_was_cut(toy_answers, name):
    assert toy_answers[name]["truncated"].tolist() == [False, True]


def test_a_given_target_is_cut_and_marked_too(toy_answers):
    assert toy_answers["score"]["truncated"].tolist() == [False, True]
    assert toy_answers["score"]["length"].tolist() == [2, LONGEST_TARGET]
    np.testing.assert_allclose(
        toy_answers["score"]["score"][1], toy_answers["cut score"]["score"][0]
    )
    assert toy_answers["score long"]["truncated"].tolist() == [True]


def test_nothing_to_score_has_no_score(toy_answers):
    answer = toy_answers["score nothing"]
    assert {"score", "length", "confidence", "token_log_probs", "target_tokens"} <= {*answer}
    assert {len(value) for value in answer.values()} == {0}


REFUSED = """
import sys
import numpy as np
from keras_bahdanau.exporters.cpp_loader import SavedModelSession
one, two = np.zeros((1, 2), np.int32), np.zeros((2, 2), np.int32)
with SavedModelSession(sys.argv[1], text_operations=False) as session:
    for given in (
        {"source": two, "source_length": one[0, :1]},
        {"source": one, "source_length": two[0]},
        {"source": two, "source_length": one[0, :0]},
        {"source": np.zeros((65, 1), np.int32), "source_length": np.ones(65, np.int32)},
        {"source": one[0], "source_length": two[0]},
        {"source": one, "source_length": one},
    ):
        try:
            session.run("serving_default", **given)
        except RuntimeError as error:
            print(str(error).splitlines()[0])
    session.run("serving_default", source=two, source_length=two[0])
"""


@pytest.mark.slow
def test_a_request_of_other_shapes_or_too_many_rows_is_refused_as_a_whole(toy_ids_model):
    done = subprocess.run(
        [sys.executable, "-c", REFUSED, toy_ids_model], capture_output=True, text=True, check=True
    )
    rows = "All inputs of a request must have as many rows, at most 64. Received:] [{}]"
    first, second, third, many, flat, deep = done.stdout.splitlines()
    for line, received in ((first, "2 1"), (second, "1 2"), (third, "2 0"), (many, "65 65")):
        assert line.endswith(rows.format(received))
    assert "[2] is not compatible with expected shape [?,?]" in flat
    assert "[1,2] is not compatible with expected shape [?]" in deep


def test_the_card_states_the_limits(toy_saved_model):
    card = json.loads((toy_saved_model / CARD_PATH).read_bytes())
    limits = {name: value for name, value in card.items() if name.startswith("max_")}
    size, work = limits.pop("max_batch_bytes"), limits.pop("max_batch_operations")
    assert limits == {
        "max_rows": 64,
        "max_source_length": LONGEST,
        "max_source_bytes": 32 * LONGEST,
        "max_target_length": LONGEST_TARGET,
    }
    assert size > 4 * 64 * 5 * LONGEST_TARGET * LONGEST  # the alignments of 5 hypotheses alone
    assert work > 64 * 5 * LONGEST_TARGET**2 * LONGEST  # every step writes them
    described = describe(toy_saved_model)
    assert "512 positions or 16,384 bytes" in described
    assert f"{work / 1e9:,.1f} billion operations suffice for any batch" in described


@pytest.mark.parametrize("value", [0, 100_001, 2.5, "9"])
def test_a_limit_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="`max_source_length` must be an integer in"):
        SavedModelExporter(max_source_length=value)


@pytest.mark.slow
def test_an_export_may_have_a_limit_of_its_own(toy_translator, tmp_path):
    lines = []
    path = export_saved_model(toy_translator, tmp_path, say=lines.append, max_source_length=9)
    assert "100.00%" in "\n".join(lines)  # compared with Keras under the same limit
    assert json.loads((path / CARD_PATH).read_bytes())["max_source_length"] == 9
    (found,) = run_in_clean_process(path, [("translate_with_alignment", texts("one " * 20))])
    assert found["truncated"].tolist() == [True] and found["source_length"].tolist() == [9]


@pytest.mark.slow
@pytest.mark.parametrize("replace_unknown", [False, True])
def test_the_worst_batch_takes_no_more_memory_than_the_card_says(
    toy_translator, tmp_path, monkeypatch, replace_unknown
):
    monkeypatch.setattr(type(toy_translator.source), "edge_cases", ["", "one"])
    options = dataclasses.replace(
        toy_translator.search,
        min_length=LONGEST_TARGET,  # no hypothesis can end earlier
        replace_unknown=replace_unknown,
    )
    path = export_saved_model(toy_translator.searching(options), tmp_path / "worst")
    done = subprocess.run(
        [sys.executable, BENCHMARK, path, "--word", "one " if not replace_unknown else "o☃☃☃☃ "],
        capture_output=True,
        text=True,
        check=True,
    )
    print(done.stdout)  # with -s, prints the table in CHANGELOG
    *lines, last = done.stdout.splitlines()[1:]
    rows = [line.split() for line in lines]
    assert [int(row[1]) for row in rows] == [1, 64] * 4
    taken = [float(row[4]) for row in rows]
    bound = float(rows[0][5])
    assert bound / 20 < max(taken) <= bound
    # Seconds depend on the machine, so the bound is on the number of operations.
    slowest = max(float(row[3]) for row in rows)
    work = json.loads((path / CARD_PATH).read_bytes())["max_batch_operations"]
    assert last.startswith(f"{slowest:.2f} s for at most {work / 1e9:,.1f} billion operations: ")
