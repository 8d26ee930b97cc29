"""Files that earlier releases wrote can still be loaded and give the same answers."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator, check, run_in_clean_process

RELEASES = sorted((Path(__file__).parent / "golden").glob("[0-9]*.*"))


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request):
    return request.param


@pytest.fixture
def answers(release):
    return json.loads((release / "answers.json").read_text(encoding="utf-8"))


def assert_same(text, score, alignment, answer):
    assert text == answer["text"]
    assert score == pytest.approx(answer["score"], abs=1e-4)
    expected = np.reshape(answer["alignment"], np.shape(alignment))
    np.testing.assert_allclose(alignment, expected, atol=1e-4)


def test_there_is_a_release():
    assert RELEASES


def test_the_keras_file_answers_as_it_did(release, answers):
    translator = kb.Translator.load(release / "translator.keras")
    results = translator.translate([answer["sentence"] for answer in answers])
    for result, answer in zip(results, answers, strict=True):
        assert_same(result.text, result.score, result.alignment, answer)
        assert result.source_tokens == answer["source_tokens"]
        assert result.target_tokens == answer["target_tokens"]


@pytest.mark.slow
def test_the_saved_model_answers_as_it_did(release, answers, tmp_path):
    shutil.unpack_archive(release / "saved_model.zip", tmp_path)
    assert check(tmp_path) == []
    text = np.array([answer["sentence"] for answer in answers], dtype=object)
    (found,) = run_in_clean_process(tmp_path / "1", [("translate_with_alignment", {"text": text})])
    for row, answer in enumerate(answers):
        targets, sources = found["target_length"][row], found["source_length"][row]
        alignment = found["alignment"][row, :targets, :sources]
        assert_same(found["translation"][row].decode(), found["score"][row], alignment, answer)


def test_the_litert_file_answers_as_it_did(release, answers):
    assert check(release / "translator.tflite") == []
    translator = OnDeviceTranslator(release / "translator.tflite")
    results = translator.translate([answer["sentence"] for answer in answers])
    for result, answer in zip(results, answers, strict=True):
        assert_same(result.text, result.score, result.alignment, answer)
