"""The arithmetic of the GPU benchmark; what it measures is not run here."""

import importlib
import pathlib

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("gpu")


def test_operations_of_a_target_token_are_those_of_its_products(gpu):
    size = {"source_time": 6, "target_time": 3, "vocabulary": 7}
    size |= {"embedding": 5, "units": 4, "attention": 3}
    directions = 2 * (5 + 2) * 3 * 2  # (embedding and state) x gates, for both
    keys = 4 * 3
    encoder = 6 * (directions + keys)
    cell = (5 + 4 + 4) * 3 * 4  # (embedding, context and state) x gates
    query = 4 * 3
    attended = 6 * (3 + 4)
    output = (4 + 4 + 5) * 5 + 5 * 7
    step = cell + query + attended + output
    assert gpu.operations(size, "greedy") == 2 * (encoder / 3 + step)
    assert gpu.operations(size, "beam 5") == 2 * (encoder / 3 + 5 * step)
    assert gpu.operations(size, "training") == 3 * gpu.operations(size, "greedy")


def test_the_ratio_is_to_the_faster_form_of_the_peer(gpu, capsys):
    lanes = {
        "keras_bahdanau": {"median": 30.0},
        "PyTorch": {"median": 10.0},
        "PyTorch, compiled": {"median": 20.0},
    }
    settings = {"size": gpu.TINY, "precision": "float32"}
    peak = 300 * gpu.operations(gpu.TINY, "training")
    found = gpu._told("training", "tiny", settings, lanes, peak)
    assert found["ratio"] == 1.5
    assert found["share_of_peak"] == pytest.approx(0.1)
    assert "10.0%" in capsys.readouterr().out


def test_without_a_peer_there_is_no_ratio(gpu, capsys):
    settings = {"size": gpu.TINY, "precision": "float32"}
    found = gpu._told("greedy", "tiny", settings, {"keras_bahdanau": {"median": 1.0}}, 1e9)
    assert found["ratio"] is None
    assert "-" in capsys.readouterr().out
