"""The Node program for devices gives Python's answers for models of images, sound and ink."""

import json
from pathlib import Path

import keras
import node_packages
import numpy as np
import pytest
import toy_sources

import keras_bahdanau as kb
from keras_bahdanau import SearchOptions
from keras_bahdanau.exporters import LiteRTPipeline, OnDevicePipeline
from keras_bahdanau.pipelines.tasks import pipeline_of

LACKING = node_packages.lacking("@litertjs/core")
PROGRAM = Path(__file__).parents[3] / "export" / "on_device" / "translate.mjs"
READINGS = Path(__file__).parents[2] / "support" / "readings.mjs"
ROWS = [(0, 1), (3, 2), (1,), (2, 2, 1), (3, 0, 2, 1, 1, 0), ()]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"needs {LACKING}"),
]


def write_json(ink, path):
    path = path.with_suffix(".json")
    path.write_text(json.dumps([stroke.tolist() for stroke in ink]))
    return path


WRITE = {"images": toy_sources.write_png, "audio": toy_sources.write_wav, "ink": write_json}


@pytest.fixture(scope="module", params=["images", "audio", "ink"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(kind, tmp_path_factory):
    """A file of a model with random weights, for up to 64 positions."""
    keras.utils.set_random_seed(5)
    case = toy_sources.CASES[kind]
    source = case.source_of(None)
    texts = [toy_sources.text_of(numbers) for numbers in toy_sources.NUMBERS]
    target = kb.text.Subwords.train(texts, 8, model_type="word")
    sizes = {"embedding_units": 8, "units": 12, "attention_units": 8}
    small = kb.presets.small(source, target, dropout=0.0, **sizes)
    search = SearchOptions(beam_width=3, max_length=6)
    path = tmp_path_factory.mktemp(kind) / "model.tflite"
    kb.export_litert(
        pipeline_of(source, small, target, search),
        path,
        **{"max_source_length": 64, "max_target_length": 8, "allow_differences": True},
        signatures=("greedy", "nbest", "prefix"),
    )
    return path


@pytest.fixture(scope="module")
def inputs(kind, model):
    """Paths of the files and their contents: inputs of the greatest length, and an empty one."""
    case = toy_sources.CASES[kind]
    rows = [row for row in ROWS if row or kind != "images"]  # an image file can't be empty
    # A sound file has at least one sample.
    empty = (np.zeros(800), 16_000) if kind == "audio" else case.empty
    given = [case.input_of(row) if row else empty for row in rows]
    paths = [WRITE[kind](one, model.parent / f"input{number}") for number, one in enumerate(given)]
    return paths, given if kind == "ink" else paths


def features(source, one):
    """Return the inputs of a model file for one example, and the labels of its positions."""
    padded = source.rows([one]).padded([0], (1, 64))
    named = {name: array[0] for name, array in source.named(padded).items()}
    return named, source.labels(padded)[0]


def test_files_get_the_texts_and_scores_of_python(model, inputs):
    paths, given = inputs
    expected = LiteRTPipeline(model).decode_nbest(given, 3)
    code, lines, error = node_packages.run(PROGRAM, "--json", "--nbest", "3", model, *paths)
    assert code == 0, error
    found = [json.loads(line)["hypotheses"] for line in lines]
    texts = [[one.text for one in row] for row in expected]
    assert [[one["text"] for one in row] for row in found] == texts
    assert len(texts) == len(paths) and max(map(len, texts)) == 3
    scores = [one["score"] for row in found for one in row]
    assert scores == pytest.approx([one.score for row in expected for one in row], abs=1e-5)


def test_files_of_another_size_or_rate_get_the_texts_of_python(kind, model, tmp_path):
    write = toy_sources.CASES[kind].write_other
    if write is None:
        pytest.skip("ink has neither")
    paths = [write(row, tmp_path / f"{number}") for number, row in enumerate(ROWS[:4])]
    expected = LiteRTPipeline(model).decode(paths)
    code, lines, error = node_packages.run(PROGRAM, "--json", model, *paths)
    assert code == 0, error
    (found,) = zip(*(json.loads(line)["hypotheses"] for line in lines), strict=True)
    assert [one["text"] for one in found] == [one.text for one in expected]
    scores = [one["score"] for one in found]
    assert scores == pytest.approx([one.score for one in expected], abs=1e-3)


def test_each_search_has_its_line_for_a_file(model, inputs):
    paths, given = inputs
    pipeline = LiteRTPipeline(model)
    code, lines, error = node_packages.run(PROGRAM, model, *paths)
    assert (code, lines) == (0, [one.text for one in pipeline.decode(given)]), error
    code, lines, _ = node_packages.run(PROGRAM, "--greedy", model, *paths)
    greedy = OnDevicePipeline(model, greedy=True)
    assert lines == [greedy.decode(*features(pipeline.source, one)).text for one in given]
    code, lines, _ = node_packages.run(PROGRAM, "--prefix", "zwei", model, *paths)
    begun = pipeline.decode(given, prefixes=["zwei"] * len(given))
    assert lines == [one.text for one in begun] and lines[0].startswith("zwei")


def test_attention_is_that_of_python_and_knows_its_places(model, inputs):
    paths, given = inputs
    code, (line,), error = node_packages.run(READINGS, PROGRAM, model, *paths)
    assert code == 0, error
    expected = LiteRTPipeline(model).decode(given)
    for found, one in zip(json.loads(line), expected, strict=True):
        assert found["labels"] == one.source_tokens
        np.testing.assert_allclose(found["alignment"], one.alignment.tolist(), atol=1e-5)
        assert found["confidence"] == pytest.approx(one.confidence, abs=1e-4)
        assert -(-found["positions"] // found["reduction"]) == len(one.source_tokens)


def test_what_it_cannot_read_is_refused_in_one_line(kind, model, inputs, tmp_path):
    long = WRITE[kind](toy_sources.CASES[kind].input_of((1, 2, 3, 0) * 8), tmp_path / "long")
    paths, _ = inputs
    (tmp_path / "wrong").write_bytes(b"no such file")
    for arguments, why in (
        ([], "must name files for a model of "),
        ([tmp_path / "missing"], "A file must be readable. Received: "),
        ([tmp_path], "A file must be readable. Received: "),
        *([([long], "64 positions in this file. Received: ")] if kind != "images" else []),
        ([tmp_path / "wrong"], f"Received: '{tmp_path / 'wrong'}', "),
    ):
        code, lines, error = node_packages.run(PROGRAM, model, *arguments)
        assert (code, lines) == (2, [])
        assert why in error.splitlines()[-1]
    code, lines, error = node_packages.run(PROGRAM, model, paths[0], tmp_path / "missing")
    assert (code, len(lines)) == (2, 1)  # after the answers to earlier files


def test_another_source_is_refused(tmp_path):
    keras.utils.set_random_seed(0)
    source = kb.sources.FeatureSource(3)
    target = kb.text.Subwords.train(["a b"], 8, model_type="word", exact=False)
    small = kb.presets.small(source, target, embedding_units=8, units=8, attention_units=8)
    path = tmp_path / "frames.tflite"
    kb.export_litert(
        kb.Pipeline(source, small, target), path, allow_differences=True, signatures=()
    )
    assert OnDevicePipeline(path).card["source"]["class_name"] == "FeatureSource"
    code, lines, error = node_packages.run(PROGRAM, path, "one.json")
    assert (code, lines) == (2, [])
    assert "Received: a model of FeatureSource. Use OnDevicePipeline" in error.splitlines()[-1]
