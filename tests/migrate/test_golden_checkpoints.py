"""Migrated checkpoints of TensorFlow Addons 0.23 and two tutorials give the same outputs.

tests/golden/addons/make.py writes them in a separate environment.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from keras_bahdanau import SearchOptions, migrate
from keras_bahdanau.search import search_model

GOLDEN = Path(__file__).parents[1] / "golden" / "addons"
ENVIRONMENT = Path(__file__).parents[2] / "benchmarks" / ".envs" / "addons" / "bin" / "python"
START, END, STEPS = 1, 2, 12
SOURCE = np.array([[3, 4, 5, 6], [7, 8, 0, 0], [9, 0, 0, 0]], "int32")
TARGET_IN = np.array([[1, 3, 4, 5, 6], [1, 7, 8, 9, 10], [1, 11, 3, 3, 4]], "int32")
OF_ADDONS = {
    "luong_lstm": {},
    "bahdanau_gru": {"bridge": "bridge"},
    "normalized_reset_before": {"bridge": "zeros"},
    "scaled_cell_output": {
        "bridge": "zeros",
        "output_attention": False,
        "attention_activation": "tanh",
    },
    "hardmax": {"output_attention": False, "probability_fn": "hardmax"},
    "bahdanau_monotonic": {"bridge": "bridge"},
    "luong_monotonic_hard": {"mode": "hard"},
}
OF_TUTORIALS = {
    "tutorial_2019": {},
    "tutorial_2019_mended": {"restarts": False},
    "tutorial_2021": {},
}
CASES = [*OF_ADDONS, *OF_TUTORIALS]
SLOW = {  # similar cases are fast, and the beam search of "luong_lstm" is
    *("luong_lstm", "bahdanau_gru"),
    *("normalized_reset_before", "scaled_cell_output", "hardmax", "luong_monotonic_hard"),
    "tutorial_2019_mended",
}
SOME_SLOW = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES]


def migrated(name, folder=GOLDEN):
    if name in OF_TUTORIALS:
        return migrate.from_tutorial(folder / name, **OF_TUTORIALS[name])
    return migrate.from_addons(folder / name, **OF_ADDONS[name])


def answers(name, folder=GOLDEN):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def beam(model, width):
    """Run a beam search, and return its `SearchResult` as arrays."""
    options = SearchOptions(
        beam_width=width, length_normalization=0.0, max_length=STEPS, max_length_offset=STEPS
    )
    result = search_model(model, SOURCE, options, start=START, end=END)
    return result._replace(**{key: np.asarray(array) for key, array in result._asdict().items()})


def assert_same_logits(name, folder=GOLDEN):
    logits = migrated(name, folder)((SOURCE, TARGET_IN))
    np.testing.assert_allclose(logits, answers(name, folder)["logits"], atol=1e-5)


def assert_same_beam(name, width, folder=GOLDEN):
    """Compare beams. Addons sorts hypotheses by score; this package puts finished ones first."""
    found, expected = beam(migrated(name, folder), width), answers(name, folder)[f"beam_{width}"]
    for row, ended in enumerate(expected["ended"]):
        order = np.argsort(np.logical_not(ended), kind="stable")
        for place, rank in enumerate(order):
            length = found.lengths[row, place]
            assert found.ids[row, place, :length].tolist() == expected["ids"][row][rank]
            assert found.finished[row, place] == ended[rank]
        log_probs = np.array(expected["log_probs"][row])[order]
        np.testing.assert_allclose(found.scores[row], log_probs, atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SOME_SLOW)
def test_logits_are_those_of_the_old_program(name):
    assert_same_logits(name)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", OF_ADDONS)
@pytest.mark.parametrize("width", [5, 3])
def test_the_beam_is_that_of_addons(name, width):
    assert_same_beam(name, width)


@pytest.fixture(scope="module")
def made_anew(tmp_path_factory):
    """Directory of checkpoints that tests/golden/addons/make.py writes for these tests."""
    python = os.environ.get("ADDONS_PYTHON", str(ENVIRONMENT))
    if not os.path.exists(python):
        pytest.skip("`python benchmarks/environments.py addons` makes an environment of Addons")
    folder = tmp_path_factory.mktemp("addons")
    subprocess.run([python, GOLDEN / "make.py", folder], check=True, capture_output=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_checkpoints_that_are_made_anew_answer_alike(name, made_anew):
    assert_same_logits(name, made_anew)
    if name in OF_ADDONS:
        assert_same_beam(name, 3, made_anew)
        assert_same_beam(name, 5, made_anew)


@pytest.mark.slow
def test_addons_has_no_other_names(made_anew):
    assert (made_anew / "names.json").read_bytes() == (GOLDEN / "names.json").read_bytes()
