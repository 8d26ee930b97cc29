"""Confidence of texts and words: by hand, and from the files and the model of a toy."""

import dataclasses
import json
import math

import numpy as np
import pytest

from keras_bahdanau.pipelines.archive import read_card, write_calibration
from keras_bahdanau.pipelines.confidence import (
    TEXT_FEATURES,
    WORD_FEATURES,
    Calibration,
    calibration_of,
    text_confidence,
    text_features,
    word_spans_of,
    words_of_text,
)
from keras_bahdanau.pipelines.tasks import Translator, load_pipeline
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.search import SearchOptions

LOG_PROBS = np.log(np.array([0.5, 0.8, 0.4], np.float32))
ENTROPIES = np.array([0.7, 0.2, 0.6], np.float32)
ALIGNMENT = np.array([[0.5, 0.5], [0.25, 0.75], [0, 0]], np.float32)
TEXT = dict(zip(TEXT_FEATURES, (2.0, 1.0, -0.5, 0.25, 3.0, -1.0), strict=True))
WORD = dict(zip(WORD_FEATURES, (1.0, -1.0, 0.5, 2.0, -0.5, 0.25), strict=True))
CALIBRATION = Calibration(text={"bias": 0.1, **TEXT}, word={"bias": -0.2, **WORD})
SENTENCES = ["one two", "", "five three one"]


def logistic(z):
    return 1 / (1 + math.exp(-z))


def translation(calibration=None, **fields):
    values = {
        "text": "ein Mann",
        "score": -0.7,
        "source_tokens": ["▁a", "</s>"],
        "target_tokens": ["▁ein", "▁Mann", "</s>"],
        "alignment": ALIGNMENT,
        "finished": True,
        "token_log_probs": LOG_PROBS,
        "token_entropies": ENTROPIES,
        "calibration": calibration,
        "confidence": text_confidence(LOG_PROBS, ENTROPIES, ALIGNMENT, calibration),
    }
    return Translation(**{**values, **fields})


def test_features_are_those_by_hand():
    found = text_features(LOG_PROBS, ENTROPIES, ALIGNMENT)
    product = math.log(0.5 * 0.8 * 0.4)
    # The first source token received an attention of 0.75 in total, the second more than 1.
    expected = [product / 3, math.log(0.4), product, 0.5, math.log(3 / 2), 0.875]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_text_given_for_an_empty_source_has_a_confidence():
    nothing = np.zeros((3, 0))
    expected = [*text_features(LOG_PROBS, ENTROPIES, ALIGNMENT)[:4], math.log(3), 0]
    np.testing.assert_allclose(text_features(LOG_PROBS, ENTROPIES, nothing), expected)
    z = 0.1 + np.dot(expected, [*TEXT.values()])
    assert text_confidence(LOG_PROBS, ENTROPIES, nothing, CALIBRATION) == pytest.approx(logistic(z))


def test_confidence_is_a_geometric_mean_until_it_is_calibrated():
    assert translation().confidence == pytest.approx((0.5 * 0.8 * 0.4) ** (1 / 3))
    assert text_confidence([], [], np.zeros((0, 2))) == 1
    values = TEXT.values()
    z = 0.1 + np.dot(text_features(LOG_PROBS, ENTROPIES, ALIGNMENT), [*values])
    assert translation(CALIBRATION).confidence == pytest.approx(logistic(z))


def test_words_have_their_tokens_and_a_confidence_of_their_own():
    tokens = ["▁ein", "▁Ma", "nn", "</s>"]
    log_probs, entropies = np.append(LOG_PROBS, -0.1), np.append(ENTROPIES, 0.3)
    fields = {"token_log_probs": log_probs, "token_entropies": entropies, "target_tokens": tokens}
    first, second = translation(**fields).words
    assert (first.word, first.first, first.last) == ("ein", 0, 0)
    assert (second.word, second.first, second.last) == ("Mann", 1, 2)
    assert second.log_prob == pytest.approx(math.log(0.8 * 0.4), rel=1e-6)
    assert second.confidence == pytest.approx(math.sqrt(0.8 * 0.4), rel=1e-6)
    total = math.log(0.8 * 0.4)
    features = [total / 2, math.log(0.4), total, 0.4, 0.6, log_probs.mean()]
    z = -0.2 + np.dot(features, [*WORD.values()])
    assert translation(CALIBRATION, **fields).words[1].confidence == pytest.approx(logistic(z))


def words_of(text, tokens, **fields):
    values = np.linspace(-0.1, -1, len(tokens))
    one = translation(text=text, target_tokens=tokens, token_log_probs=values, **fields)
    return [word.word for word in dataclasses.replace(one, token_entropies=-values).words]


def test_words_are_those_of_the_text_composed_and_with_copies():
    tokens = [*"\u1112\u1161\u11ab▁\u1100\u1161", "</s>"]  # letters of two syllables
    assert words_of("한 가", tokens) == ["한", "가"]
    assert words_of("Herr Kim", ["▁Herr", "<unk>", "</s>"]) == ["Herr", "Kim"]
    # The copy is two words, so no word of the text belongs to that one token.
    assert words_of("Herr Kim Lee", ["▁Herr", "<unk>", "</s>"]) == ["Herr", "<unk>"]
    assert words_of("Kimx 한", ["<unk>", "x", *"▁\u1112\u1161\u11ab"]) == ["Kimx", "한"]
    decomposed = "e\u0301"  # for a vocabulary that doesn't normalize text
    assert words_of(f"{decomposed} Kimx", [decomposed, "<unk>", "x"])[0] == decomposed
    assert words_of_text(word_spans_of(["▁a", "</s>"], "a"), "a") == ["a"]


def test_a_copied_character_is_part_of_its_word_and_another_unknown_one_is_a_word():
    tokens = [*"ab", "<unk>", *"c▁d", "<unk>", "</s>"]
    assert words_of("abÖc dÄ", tokens) == ["abÖc", "dÄ"]
    assert [one[1:] for one in word_spans_of(tokens, "abÖc dÄ")] == [(0, 3), (4, 6)]
    assert words_of("ab ⁇ c d ⁇", tokens) == ["ab", "⁇", "c", "d", "⁇"]


def test_a_text_of_low_confidence_is_rejected_and_keeps_all_but_its_text():
    result = translation()
    assert result.reject_below(0.5) is result and not result.rejected
    rejected = result.reject_below(0.6)
    assert (rejected.text, rejected.rejected) == ("", True)
    assert rejected.target_tokens == result.target_tokens
    assert rejected.words == result.words and rejected.reject_below(0.9).words == result.words
    copied = translation(text="ein Kim", target_tokens=["▁ein", "<unk>", "</s>"])
    assert [word.word for word in copied.reject_below(0.6).words] == ["ein", "Kim"]
    for value in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="Received: confidence="):
            result.reject_below(value)
    old = translation(confidence=None, token_log_probs=None, token_entropies=None)
    assert old.words == []
    with pytest.raises(ValueError, match="Export it again"):
        old.reject_below(0.5)


@pytest.mark.parametrize(
    "change",
    [
        {"text": {"bias": 0.0}},
        {"word": {**CALIBRATION.word, "bias": math.nan}},
        {"word": {**CALIBRATION.word, "more": 0.0}},
        {"text": {**CALIBRATION.text, "bias": "0"}},
        {"text": {**CALIBRATION.text, "bias": 1e7}},
        {"text": []},
        {"other": 1},
        {"threshold": None},
    ],
)
def test_a_card_with_another_calibration_is_refused(change):
    card = {"calibration": {**dataclasses.asdict(CALIBRATION), **change}}
    with pytest.raises(ValueError, match="Calibrate the model again"):
        calibration_of(card)
    assert calibration_of({}) is None


@pytest.mark.few(1)
@pytest.mark.parametrize("load", [Translator.load, load_pipeline])
def test_a_file_keeps_its_calibration(toy_translator, tmp_path, load):
    path = tmp_path / "toy.keras"
    toy_translator.save(path)
    assert "calibration" not in read_card(path)
    write_calibration(path, CALIBRATION)
    loaded = load(path)
    assert loaded.calibration == CALIBRATION
    loaded.save(tmp_path / "again.keras")
    card = read_card(tmp_path / "again.keras")
    assert calibration_of(json.loads(json.dumps(card))) == CALIBRATION


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(beam_width=1),
        pytest.param(SearchOptions(beam_width=3), marks=pytest.mark.slow),
        pytest.param(
            SearchOptions(beam_width=3, coverage_penalty=0.2, length_normalization=0.5),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_tokens_have_the_values_of_forced_decoding_and_sum_to_the_score(toy_translator, options):
    found = toy_translator.translate(SENTENCES, search=options)
    pairs = [(one, result.text) for one, result in zip(SENTENCES, found, strict=True)]
    forced = toy_translator.align(pairs, search=options)
    for result, given in zip(found, forced, strict=True):
        if not result.source_tokens:
            assert result.confidence == 1 and result.words == []
            continue
        assert result.target_tokens == given.target_tokens
        for name in ("token_log_probs", "token_entropies"):
            one, other = getattr(result, name), getattr(given, name)
            assert one.dtype == np.float32 and len(one) == len(result.target_tokens)
            np.testing.assert_allclose(one, other, atol=1e-5)
        assert result.score == pytest.approx(given.score, abs=1e-5)
        if not options.coverage_penalty:
            mean = result.token_log_probs.mean()
            assert result.score == pytest.approx(mean, abs=1e-6)
            assert result.confidence == pytest.approx(math.exp(mean), abs=1e-6)
        assert [word.word for word in result.words] == result.text.split()
