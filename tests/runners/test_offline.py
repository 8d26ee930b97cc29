"""Rows in, the same rows with translations out: in process, pickled, and for every artefact."""

import dataclasses
import json
import math
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

from keras_bahdanau.pipelines import tasks
from keras_bahdanau.pipelines.translation import Translation, confidence_of
from keras_bahdanau.runners import offline
from keras_bahdanau.runners.offline import BatchTranslator
from keras_bahdanau.search import SearchOptions

SENTENCES = ["three one two", "", "five", "one one four", "two"]
BAD = [None, math.nan, 7, "\ud800", b"\xff"]
IN_A_PROCESS = """
import json, pickle, sys

translator, rows = pickle.loads(sys.stdin.buffer.read())
assert "numpy" in sys.modules and not {"keras", "tensorflow"} & {*sys.modules}
rows = translator(rows)
print(json.dumps({name: list(map(str, column)) for name, column in rows.items()}))
print("tensorflow" in sys.modules, translator.bad_rows)
"""


@pytest.fixture(scope="session")
def toy_file(toy_translator, once):
    return once("toy.keras", toy_translator.save)


@pytest.fixture
def translator(toy_file, toy_translator, monkeypatch):
    """A `BatchTranslator` of the toy, which is not loaded again since its graphs are traced."""
    offline._loaded.cache_clear()
    monkeypatch.setattr(tasks, "load_pipeline", lambda path: toy_translator)
    yield BatchTranslator(toy_file)
    offline._loaded.cache_clear()


def in_a_process(translator, rows):
    """Call a pickled translator. Return (columns as strings, TensorFlow was loaded, bad rows)."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS],
        input=pickle.dumps((translator, rows)),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    columns, rest = done.stdout.decode().splitlines()
    loaded, bad = rest.split()
    return json.loads(columns), loaded == "True", int(bad)


def test_rows_keep_their_columns_and_get_their_translations(translator, toy_translator):
    rows = {"id": np.arange(5), "text": np.array(SENTENCES, object)}
    found = translator(rows)
    expected = toy_translator.translate(SENTENCES)
    assert [*found] == ["id", "text", "translation", "score", "confidence"]
    assert found["id"] is rows["id"] and found["text"] is rows["text"] and len(rows) == 2
    assert found["translation"].tolist() == [one.text for one in expected]
    np.testing.assert_allclose(found["score"], [one.score for one in expected], atol=1e-5)
    # For this search, the score is the mean log-probability.
    np.testing.assert_allclose(found["confidence"], np.exp(found["score"]), atol=1e-5)


def test_a_row_without_a_text_is_empty_and_counted_and_disturbs_no_other(translator):
    alone = translator({"text": SENTENCES})
    mixed = translator({"text": [*BAD, *SENTENCES]})
    assert mixed["translation"].tolist() == [""] * len(BAD) + alone["translation"].tolist()
    assert np.isnan(mixed["score"][: len(BAD)]).all()
    assert np.isnan(mixed["confidence"][: len(BAD)]).all()
    np.testing.assert_allclose(mixed["score"][len(BAD) :], alone["score"], atol=1e-5)
    assert (translator.rows, translator.bad_rows) == (2 * len(SENTENCES) + len(BAD), len(BAD))


def test_no_rows_give_no_rows(translator):
    found = translator({"text": []})
    assert [len(column) for column in found.values()] == [0, 0, 0, 0]
    assert found["score"].dtype == np.float32


def test_a_model_is_loaded_once_whatever_asks_for_it(translator, toy_file, tmp_path):
    translator({"text": ["one"]})
    model = offline.load_model(translator.path)
    BatchTranslator(toy_file, batch_size=1)({"text": ["two"]})
    pickle.loads(pickle.dumps(translator))({"text": ["two"]})
    assert offline._loaded.cache_info().misses == 1
    assert offline.load_model(translator.path) is model
    copied = shutil.copy(toy_file, tmp_path / "copied.keras")
    BatchTranslator(copied)({"text": ["two"]})
    shutil.copy(toy_file, copied)  # a new modification time
    os.utime(copied, ns=(0, 0))
    BatchTranslator(copied)({"text": ["two"]})
    assert offline._loaded.cache_info().misses == 3


def test_options_change_the_search_and_the_names(translator, toy_file, toy_translator, monkeypatch):
    decode, asked = toy_translator.decode, []

    def recorded(inputs, batch_size, search):
        asked.append((batch_size, search))
        return decode(inputs)

    monkeypatch.setattr(toy_translator, "decode", recorded)
    translator = BatchTranslator(toy_file, "en", "de_", 7, beam_width=2, max_length=9)
    found = translator({"en": ["one two", "two"]})
    assert [*found] == ["en", "de_translation", "de_score", "de_confidence"]
    expected = dataclasses.replace(toy_translator.search, beam_width=2, max_length=9)
    assert asked == [(7, expected)]


@pytest.mark.parametrize(
    "search",
    [
        SearchOptions(),
        SearchOptions(length_normalization=0.0),
        SearchOptions(length_penalty="gnmt", length_normalization=0.7),
        SearchOptions(coverage_penalty=0.2),
    ],
)
def test_confidence_is_the_mean_probability_of_a_token_under_any_penalty(search):
    # Two tokens of 0.9 and 0.4; the second source token received an attention of 0.5 in total.
    alignment = np.array([[0.75, 0.25], [0.75, 0.25]], np.float32)
    penalty = {"power": 2.0, "gnmt": 7 / 6}[search.length_penalty] ** search.length_normalization
    score = math.log(0.36) / penalty + search.coverage_penalty * math.log(0.5)
    result = Translation("x", score, ["a", "b"], ["x", "</s>"], alignment, True)
    assert confidence_of(result, search) == pytest.approx(0.6)  # sqrt(0.9 * 0.4)
    longer = dataclasses.replace(result, score=1e-7)  # above 0 only because of rounding
    assert confidence_of(longer, SearchOptions()) == 1.0


@pytest.mark.parametrize(
    "arguments, rows, kind, message",
    [
        ({}, {"sentence": ["one"]}, ValueError, "column='text', rows with .'sentence'."),
        ({}, {"text": ["one"], "score": [1]}, ValueError, "rows with .'score'.. Set a prefix"),
        ({}, [{"text": "one"}], TypeError, "Received: rows of type list"),
        ({"batch_size": 0}, {}, ValueError, "batch_size=0"),
        ({"beam_width": 0}, {}, ValueError, "beam_width=0"),
        ({"beams": 3}, {}, TypeError, "fields of SearchOptions. Received: beams"),
    ],
)
def test_wrong_rows_and_options_are_named(toy_file, arguments, rows, kind, message):
    with pytest.raises(kind, match=message):
        BatchTranslator(toy_file, **arguments)(rows)


@pytest.mark.parametrize("name", ["none.keras", "none.tflite", "versions"])
def test_a_model_that_is_not_there_is_named_before_any_row_is_read(tmp_path, name):
    (tmp_path / "versions" / "1").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match=f"one version of .* Received: path=.*{name}'"):
        BatchTranslator(tmp_path / name)


def test_an_artefact_searches_as_it_was_exported_to(toy_litert):
    with pytest.raises(ValueError, match="A .tflite file has a fixed .*Received: beam_width=2"):
        BatchTranslator(toy_litert, beam_width=2)


def test_a_litert_file_translates_the_same_and_takes_the_same_bad_rows(translator, toy_litert):
    rows = {"text": [*SENTENCES, *BAD]}
    expected, found = translator(rows), BatchTranslator(toy_litert)(rows)
    assert found["translation"].tolist() == expected["translation"].tolist()
    for name in ("score", "confidence"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-4)


def test_a_data_frame_stays_one(translator):
    pandas = pytest.importorskip("pandas", reason="needs pandas, of the extra offline")
    frame = pandas.DataFrame({"id": [3, 4, 5], "text": ["one", None, "two"]}, index=[7, 8, 9])
    (found,) = translator.frames(iter([frame]))
    assert [*found.columns] == ["id", "text", "translation", "score", "confidence"]
    assert found.index.tolist() == [7, 8, 9] and found["id"].tolist() == [3, 4, 5]
    assert found["translation"].tolist() == ["eins", "", "zwei"]
    assert found["score"].isna().tolist() == [False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["images", "audio"])
def test_rows_name_files_of_other_sources_or_hold_them(name, toy_source, tmp_path):
    import toy_sources

    from keras_bahdanau.pipelines import load_pipeline

    case = toy_sources.CASES[name]
    inputs = [case.input_of(numbers) for numbers in toy_sources.NUMBERS[:2]]
    paths = [case.write(one, tmp_path / f"{number}") for number, one in enumerate(inputs)]
    expected = [one.text for one in load_pipeline(toy_source(name)).decode(paths)]
    rows = {"path": [*map(str, paths), None, "no.file", *(one.read_bytes() for one in paths)]}
    translator = BatchTranslator(toy_source(name), column="path")
    assert translator(rows)["translation"].tolist() == [*expected, "", "", *expected]
    assert translator.bad_rows == 2


@pytest.mark.slow
def test_a_pickled_object_loads_its_model_where_it_is_called(translator):
    expected = translator({"text": SENTENCES})
    found, loaded, bad = in_a_process(pickle.loads(pickle.dumps(translator)), {"text": SENTENCES})
    assert found["translation"] == expected["translation"].tolist()
    assert loaded


@pytest.mark.slow
def test_a_saved_model_translates_the_same_without_python_tensorflow(translator, toy_saved_model):
    rows = {"text": [*SENTENCES, None, 7, "a much longer sentence " * 40]}
    expected = translator(rows)
    found, loaded, bad = in_a_process(BatchTranslator(toy_saved_model), rows)
    assert found["translation"] == expected["translation"].tolist()
    for name in ("score", "confidence"):
        numbers = [*map(float, found[name])]
        np.testing.assert_allclose(numbers, expected[name], atol=1e-5)
    assert not loaded and bad == 2


@pytest.mark.slow
def test_flac_is_no_input_of_a_saved_model_which_reads_wav(toy_artefact, tmp_path):
    import toy_sources

    case = toy_sources.CASES["audio"]
    wav = case.write(case.input_of((0, 1)), tmp_path / "a")
    (tmp_path / "b.flac").write_bytes(b"fLaC" + bytes(100))
    rows = {"path": [str(wav), str(tmp_path / "b.flac"), b"fLaC"]}
    found, _, bad = in_a_process(
        BatchTranslator(toy_artefact("audio", "saved-model"), column="path"), rows
    )
    assert found["translation"] == ["eins zwei", "", ""] and bad == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tflite", "saved_model"])
def test_threads_share_a_batch_translator(request, kind):
    fixture = {"tflite": "toy_litert", "saved_model": "toy_saved_model"}[kind]
    program = [sys.executable, "-c", IN_THREADS, str(request.getfixturevalue(fixture))]
    done = subprocess.run(program, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True 2070\n"), done.stderr


IN_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from keras_bahdanau.runners.offline import BatchTranslator

translator = BatchTranslator(sys.argv[1])
words = ["one", "two", "three four", "", "five one two", "four", "two two"]
sets = [{"text": [word]} for word in words]
alone = [translator(rows)["translation"].tolist() for rows in sets * 10]
with ThreadPoolExecutor(8) as threads:
    calls = [sets[number % 7] for number in range(2000)]
    texts = [rows["translation"].tolist() for rows in threads.map(translator, calls)]
print(texts == [alone[number % 7] for number in range(2000)], translator.rows)
"""
