"""The experiment that compares architectures, at toy size."""

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_pairs

import keras_bahdanau as kb

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "experiments" / "multi30k" / "architectures.py"


@pytest.fixture(scope="module")
def example():
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        spec = importlib.util.spec_from_file_location("architectures", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(SCRIPT.parent))
        sys.modules.pop("scoring", None)


@pytest.fixture
def data(tmp_path):
    pairs = toy_pairs()
    (tmp_path / "tok").mkdir()
    parts = {"train": pairs[20:], "val": pairs[:9], "test_2016_flickr": pairs[9:20]}
    for part, rows in parts.items():
        for side, language in enumerate(("en", "de")):
            content = "".join(f"{row[side]}\n" for row in rows).encode()
            (tmp_path / "tok" / f"{part}.{language}.gz").write_bytes(gzip.compress(content))
    return tmp_path


def test_all_systems_have_the_same_subwords_minutes_and_seed(example, data):
    arguments = example.parsed(["train", "--data", str(data), "--out", "x", "--minutes", "7"])
    found = {name: example.options_of(name, arguments).resolved() for name in example.SYSTEMS}
    assert len(found) == 6
    same = {
        (one.vocabulary_size, one.model_type, one.joint, one.minutes, one.seed)
        for one in found.values()
    }
    assert same == {(6000, "bpe", True, 7.0, 1)}
    assert {one.preset for one in found.values()} == {
        *("small", "rnnsearch", "ssru-student", "transformer-tiny")
    }
    ours, theirs = found["small"], found["rnnsearch-trained-as-small"]
    assert all(getattr(ours, name) == getattr(theirs, name) for name in example.AS_SMALL)


def test_measuring_needs_the_data(example, capsys):
    with pytest.raises(SystemExit) as stop:
        example.parsed(["measure", "--out", "x"])
    assert stop.value.code == 2
    assert "--data must name the directory with tok/ to measure" in capsys.readouterr().err


@pytest.mark.parametrize("steps", [3, 6, 7])
def test_the_memory_of_a_hypothesis_is_that_of_the_states_of_a_search(example, steps):
    cell = kb.layers.SelfAttentionCell(8, heads=2, length=6)
    states = cell.truncate_cache([np.zeros((1, size)) for size in cell.state_sizes], steps)
    assert example.numbers(cell, steps) == sum(state.size for state in states)


def test_it_runs_from_end_to_end_and_decodes_the_test_once(example, data, tmp_path, capsys):
    small = "vocabulary_size=50 units=8 embedding_units=8 epochs=1 depth=1 decoder_depth=1".split()
    settings = [word for one in small for word in ("--set", one)]
    out = tmp_path / "out"
    systems = ["min-gru", "ssru-student", "transformer-tiny"]
    common = ["--data", str(data), "--out", str(out), "--systems", *systems, *settings]
    example.main(["train", *common, "--test"])
    before = (out / "min-gru.test.json").stat().st_mtime_ns
    example.main(["train", *common, "--test"])
    assert (out / "min-gru.test.json").stat().st_mtime_ns == before
    example.main(["measure", *common])
    capsys.readouterr()
    example.main(["table", "--out", str(out)])
    head, _, *rows = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *rows)]
    assert {len(row) for row in cells} == {15}
    assert [row[0] for row in cells[1:]] == [
        f"{one}, {part}" for one in systems for part in ("val", "test")
    ]
    assert all(all(row) for row in cells[1:])
    found = json.loads((out / "transformer-tiny.measured.json").read_text())
    # For each token, a key and a value with 8 elements each, and a flag; 4 bytes per element.
    of_length = {"16": 16, "64": 64, "256": 128}  # the window has the length of the longest target
    expected = {length: 4 * kept * (2 * 8 + 1) for length, kept in of_length.items()}
    assert found["hypothesis_bytes"] == expected
    found = json.loads((out / "min-gru.measured.json").read_text())
    assert len({*found["hypothesis_bytes"].values()}) == 1
