"""Confidence computed in a graph and in artefacts equals the confidence computed by the host."""

import json

import numpy as np
import pytest

from keras_bahdanau import export_litert, export_saved_model
from keras_bahdanau.exporters.answer_fields import graph_confidence
from keras_bahdanau.exporters.card import read_packed_card
from keras_bahdanau.exporters.litert.litert_pipeline import LiteRTTranslator
from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator
from keras_bahdanau.pipelines.confidence import (
    TEXT_FEATURES,
    WORD_FEATURES,
    Calibration,
    calibration_of,
    text_confidence,
)
from keras_bahdanau.pipelines.tasks import Translator
from keras_bahdanau.search import SearchOptions, SearchResult

CALIBRATION = Calibration(
    text={"bias": 2.0, **dict(zip(TEXT_FEATURES, (3.0, 1.5, 0.1, -0.5, 1.0, 0.7), strict=True))},
    word={"bias": 1.0, **dict.fromkeys(WORD_FEATURES, 0.5)},
)
SENTENCES = ["one two", "", "five three one four", "two ☃"]


@pytest.mark.parametrize("calibration", [None, CALIBRATION])
def test_the_graph_gives_what_the_host_gives(calibration):
    random = np.random.default_rng(0)
    lengths = np.array([[4, 2], [1, 0], [0, 0], [2, 1]], "int32")
    sources = np.array([3, 1, 0, 0], "int32")
    real = np.arange(5) < lengths[..., None]  # (batch, beam, target_time)
    log_probs = np.where(real, -random.exponential(size=real.shape), 0).astype("float32")
    entropies = np.where(real, random.exponential(size=real.shape), 0).astype("float32")
    attended = real[..., None] & (np.arange(3) < sources[:, None, None, None])
    alignment = np.where(attended, random.random(attended.shape), 0).astype("float32")
    scores = np.where([[True, True], [True, False], [True, False], [True, True]], 0, -1e9)
    result = SearchResult(None, lengths, scores, alignment, None, log_probs, entropies)
    found = graph_confidence(result, sources, calibration).numpy()
    for (row, rank), length in np.ndenumerate(lengths):
        parts = log_probs[row, rank, :length], entropies[row, rank, :length]
        weights = alignment[row, rank, :length, : sources[row]]
        expected = text_confidence(*parts, weights, calibration) if scores[row, rank] == 0 else 0
        assert found[row, rank] == pytest.approx(expected, abs=1e-6)


@pytest.fixture(scope="module")
def calibrated(toy_translator):
    """The toy translator with custom calibration coefficients."""
    sides = toy_translator.source, toy_translator.model, toy_translator.target
    translator = Translator(*sides, SearchOptions(beam_width=3))
    translator.calibration = CALIBRATION
    return translator


@pytest.mark.slow
def test_a_calibrated_litert_file_gives_the_same_confidences(calibrated, tmp_path):
    path = tmp_path / "toy.tflite"
    export_litert(calibrated, path, max_source_length=24, signatures=("nbest",))
    card = read_packed_card(path)
    assert calibration_of(card) == CALIBRATION
    assert card["parity"][1]["tokens"] < 1e-4
    expected, found = calibrated.translate(SENTENCES), LiteRTTranslator(path).translate(SENTENCES)
    alone = OnDeviceTranslator(path).translate_nbest(SENTENCES)
    for keras, file, (first, *_) in zip(expected, found, alone, strict=True):
        assert file.confidence == pytest.approx(keras.confidence, abs=1e-4)
        assert first.confidence == pytest.approx(keras.confidence, abs=1e-4)
        np.testing.assert_allclose(file.token_entropies, keras.token_entropies, atol=1e-4)
        np.testing.assert_allclose(first.token_log_probs, keras.token_log_probs, atol=1e-4)
        for one, other in zip(file.words, keras.words, strict=True):
            assert one[:3] == other[:3] and one[3:] == pytest.approx(other[3:], abs=1e-4)


@pytest.mark.slow
def test_a_calibrated_saved_model_gives_the_same_confidences(calibrated, tmp_path):
    path = export_saved_model(calibrated, tmp_path / "toy")
    card = json.loads((path / "assets.extra" / "card.json").read_text())
    assert calibration_of(card) == CALIBRATION
    assert 0 < card["parity"][1]["tokens"] < 1e-4
