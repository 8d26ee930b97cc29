"""Calibrated confidences: compared with scikit-learn, and for a model that is often wrong."""

import dataclasses

import numpy as np
import pytest
from conftest import toy_pairs
from sklearn import linear_model, metrics

from keras_bahdanau.evaluation import (
    brier_score,
    calibrate,
    calibration_error,
    cross_validated,
    fit_logistic,
    folds_of,
    reliability,
    right_words,
    roc_auc,
)
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.text import Subwords


def cases(count=300, seed=0):
    """Return features with different scales, and labels that depend on two of them."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, 4)) * [1, 100, 0.01, 0] + [0, -50, 3, 7]
    z = features[:, 0] + (features[:, 1] + 50) / 100
    return features, random.random(count) < 1 / (1 + np.exp(-z))


def test_the_area_under_the_curve_is_that_of_scikit_learn_with_ties():
    random = np.random.default_rng(0)
    labels, scores = random.random(200) < 0.3, random.integers(0, 20, 200)
    assert roc_auc(labels, scores) == pytest.approx(metrics.roc_auc_score(labels, scores))
    assert roc_auc([False, True, True], [0.1, 0.1, 0.9]) == 0.75
    with pytest.raises(ValueError, match="Received: 2 correct, 0 wrong"):
        roc_auc([True, True], [0.1, 0.2])
    with pytest.raises(ValueError, match="Received: labels of shape"):
        roc_auc([True, False], [0.1])


def test_errors_of_calibration_are_those_by_hand():
    labels, probabilities = [True, False, True, True], [0.9, 0.2, 0.4, 0.7]
    # Bins {0.2, 0.4} and {0.7, 0.9}.
    np.testing.assert_allclose(reliability(labels, probabilities, 2), [[0.3, 0.5, 2], [0.8, 1, 2]])
    assert calibration_error(labels, probabilities, 2) == pytest.approx(0.2)
    assert brier_score(labels, probabilities) == pytest.approx((0.01 + 0.04 + 0.36 + 0.09) / 4)
    assert len(reliability(labels, probabilities)) == 4  # no empty bin
    expected = metrics.brier_score_loss(labels, probabilities)
    assert brier_score(labels, probabilities) == pytest.approx(expected)


@pytest.mark.parametrize("penalty", [1.0, 20.0])
def test_the_regression_is_that_of_scikit_learn(penalty):
    features, labels = cases()
    weights, bias = fit_logistic(features, labels, penalty)
    scale = np.where(features.std(axis=0) > 0, features.std(axis=0), 1)
    standard = (features - features.mean(axis=0)) / scale
    peer = linear_model.LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000)
    expected = peer.fit(standard, labels).predict_proba(standard)[:, 1]
    found = 1 / (1 + np.exp(-(features @ weights + bias)))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert weights[3] == 0  # for the constant feature


def test_labels_that_features_separate_or_that_are_all_alike_give_finite_weights():
    features = np.arange(20.0)[:, None] * 1e3
    weights, bias = fit_logistic(features, np.arange(20) > 9)
    assert np.isfinite([*weights, bias]).all() and weights[0] > 0
    weights, bias = fit_logistic(features, np.ones(20, bool))
    assert not weights.any() and bias == pytest.approx(np.log(20.5 / 0.5))


def test_a_case_is_judged_by_what_was_fitted_without_it():
    features, labels = cases(60)
    folds = folds_of(labels, 5)
    assert np.bincount(folds).tolist() == [12] * 5
    right = [labels[folds == fold].sum() for fold in range(5)]
    assert max(right) - min(right) <= 1
    found = cross_validated(features, labels, folds)
    held = folds == 2
    weights, bias = fit_logistic(features[~held], labels[~held])
    expected = 1 / (1 + np.exp(-(features[held] @ weights + bias)))
    np.testing.assert_allclose(found[held], expected)


def test_a_word_is_right_if_it_stands_in_the_nearest_reference():
    assert right_words("a big man".split(), ["no", "a man"]) == [True, False, True]
    assert right_words([], ["a"]) == []
    assert right_words(["a"], [""]) == [False]


class Sayings:
    """A pipeline stand-in that answers each input with given tokens and a given text."""

    search, metrics, target = SearchOptions(), ("exact",), None

    def __init__(self, answers):
        self.answers = answers

    def decode(self, inputs, batch_size, say=None):
        return [self.answers[one] for one in inputs]


def answer(tokens, text):
    log_probs, entropies = np.full(len(tokens), -0.2), np.full(len(tokens), 0.3)
    fields = {"token_log_probs": log_probs, "token_entropies": entropies}
    return Translation(text, -0.2, ["x"], tokens, np.ones((len(tokens), 1)), True, **fields)


def test_words_of_composed_characters_and_copies_are_right():
    text = "한국 가나"
    subwords = Subwords.train([text], 60, exact=False, model_type="char", normalization="nfd")
    (ids,) = subwords.encode([text])
    letters, copied = subwords.tokens(ids).tolist(), ["▁Herr", "<unk>", "</s>"]
    answers = {f"{one} right": answer(letters, *subwords.decode([ids])) for one in range(10)}
    answers |= {f"{one} copied": answer(copied, "Herr Kim") for one in range(10)}
    pairs = [(one, text if "right" in one else "Frau Kim") for one in answers]
    found = calibrate(Sayings(answers), pairs, metric="exact")
    assert found.texts.labels.tolist() == [True] * 10 + [False] * 10
    assert found.words.labels.tolist() == [True, True] * 10 + [False, True] * 10


@pytest.fixture(scope="module")
def often_wrong(toy_translator):
    """The toy translator with outputs of at most two words."""
    return toy_translator.searching(SearchOptions(beam_width=1, max_length=3))


@pytest.mark.slow
def test_a_model_that_cuts_its_texts_learns_to_doubt_them(often_wrong):
    pairs = [("", ""), *toy_pairs()]
    found = calibrate(often_wrong, pairs, metric="exact")
    results = often_wrong.translate([source for source, _ in pairs[1:]])
    right = [one.text == text for one, (_, text) in zip(results, pairs[1:], strict=True)]
    np.testing.assert_array_equal(found.texts.labels, right)
    assert len(found.words.labels) == sum(len(one.text.split()) for one in results)
    (raw, *_), (area, error, brier) = map(
        found.texts.figures, (found.texts.raw, found.texts.calibrated)
    )
    assert area > max(0.8, raw) and error < 0.1 and brier < 0.2

    sure = often_wrong.searching(often_wrong.search)
    sure.calibration = found.calibration
    short, long = sure.translate(["one two", "one two three"])
    assert short.confidence > 0.5 > long.confidence
    assert long.reject_below(0.5).text == ""


def test_it_needs_right_texts_and_wrong_ones_and_a_search_without_chance(often_wrong):
    with pytest.raises(ValueError, match="Received: 1 of 1 correct, with exact >= 100"):
        calibrate(often_wrong, [("one", "eins")], metric="exact")
    with pytest.raises(ValueError, match="Received: metric='bleu'"):
        calibrate(often_wrong, toy_pairs(), metric="bleu")
    with pytest.raises(ValueError, match="Received: threshold=101"):
        calibrate(often_wrong, toy_pairs(), threshold=101)
    drawing = often_wrong.searching(dataclasses.replace(often_wrong.search, temperature=1.0))
    with pytest.raises(ValueError, match="temperature=1.0"):
        calibrate(drawing, toy_pairs())
