"""A pipeline in bfloat16: its outputs, its file and its exports."""

import json
import subprocess
import sys

import numpy as np
import pytest
import toy_sources

import keras_bahdanau as kb
from keras_bahdanau.exporters import check
from keras_bahdanau.models.precision import precision_of
from keras_bahdanau.training import TrainingOptions, train

SENTENCES = ["one two three", "four", "five five", ""]
COMMAND = [sys.executable, "-m", "keras_bahdanau.cli"]


@pytest.fixture(scope="module")
def path(toy_translator, once):
    return once("of_any_precision.keras", toy_translator.save)


@pytest.fixture(scope="module")
def fast(path):
    return kb.Translator.load(path, precision="bfloat16")


@pytest.mark.slow
@pytest.mark.parametrize("beam_width", [1, 4])
def test_it_translates_as_in_float32_where_no_choice_is_close(fast, toy_translator, beam_width):
    search = kb.SearchOptions(beam_width=beam_width)
    found, expected = (one.decode(SENTENCES, search=search) for one in (fast, toy_translator))
    assert [one.text for one in found] == [one.text for one in expected]
    scores = np.array([[one.score for one in part] for part in (found, expected)])
    assert 1e-6 < np.abs(scores[0] - scores[1]).max() < 0.1  # from lower-precision products


def test_each_function_that_loads_knows_it(path, fast):
    loaded = kb.load_pipeline(path, precision="bfloat16")
    assert precision_of(loaded.model) == precision_of(fast.model) == "bfloat16"
    assert precision_of(kb.load_pipeline(path).model) == "float32"
    with pytest.raises(ValueError, match="Received: precision='int8'"):
        kb.load_pipeline(path, precision="int8")


@pytest.mark.slow
def test_a_file_keeps_it_until_another_one_is_asked_for(fast, tmp_path):
    fast.save(tmp_path / "fast.keras")
    again = kb.load_pipeline(tmp_path / "fast.keras")
    assert precision_of(again.model) == "bfloat16"
    scores = [[one.score for one in each.decode(SENTENCES)] for each in (again, fast)]
    assert scores[0] == scores[1]
    whole = kb.load_pipeline(tmp_path / "fast.keras", precision="float32")
    assert precision_of(whole.model) == "float32"


@pytest.mark.slow
def test_a_saved_model_multiplies_so_and_says_so(fast, tmp_path):
    # The export compares it in the C++ loader.
    version = kb.export_saved_model(fast, tmp_path / "served")
    card = json.loads((version / "assets.extra" / "card.json").read_text())
    assert card["precision"] == "bfloat16"
    assert card["parity"][1]["equal"] == 1.0 and not card["parity"][1]["exact"]
    assert check(version) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", toy_sources.CASES)
def test_each_source_is_read_as_in_float32(toy_source, name):
    inputs = [one for one, _ in toy_sources.toy_pairs_of(name)]
    found, expected = (
        kb.load_pipeline(toy_source(name), precision=one).decode(inputs)
        for one in ("bfloat16", "float32")
    )
    equal = [one.text == other.text for one, other in zip(found, expected, strict=True)]
    assert np.mean(equal) >= 0.9  # two texts may have nearly equal scores
    np.testing.assert_allclose(
        *([one.score for one in part] for part in (found, expected)), atol=0.2
    )


@pytest.mark.slow
def test_a_training_goes_on_in_float32(fast, tmp_path):
    fast.save(tmp_path / "fast.keras")
    pairs = [("one two", "eins zwei"), ("four", "vier")]
    options = TrainingOptions(epochs=1)
    path = train(pairs, pairs, tmp_path / "run", options, initial=tmp_path / "fast.keras")
    trained = kb.load_pipeline(path).model
    assert {weight.dtype for weight in trained.weights} == {"float32"}


def test_litert_has_no_such_products(fast, tmp_path):
    with pytest.raises(ValueError, match="Received: a model in bfloat16. Load it with prec"):
        kb.export_litert(fast, tmp_path / "fast.tflite")
    assert not list(tmp_path.iterdir())


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.slow
def test_the_command_line_takes_it(path, fast, tmp_path):
    (tmp_path / "sentences").write_text("one two three\nfour\n")
    ran = run("translate", tmp_path / "sentences", "--model", path, "--precision", "bfloat16")
    assert (ran.returncode, ran.stdout) == (0, "eins zwei drei\nvier\n"), ran.stderr


def test_what_runs_in_other_precisions_refuses_it(path, toy_litert, tmp_path):
    given = ["--model", path, "--precision", "bfloat16"]
    (tmp_path / "sentences").write_text("four\n")
    ran = run("export", *given, "--format", "browser", "--out", tmp_path / "page")
    assert ran.returncode == 2 and "Received: precision='bfloat16', format='browser'" in ran.stderr
    ran = run("translate", tmp_path / "sentences", "--model", toy_litert, "--precision", "float32")
    assert ran.returncode == 2 and "Received: precision='float32'" in ran.stderr
