"""Calibration of confidences on held-out pairs, and how good they are on pairs not fitted on."""

import dataclasses

import numpy as np
from rapidfuzz.distance import Levenshtein

from keras_bahdanau.data.answers import answers_by_source
from keras_bahdanau.evaluation.corpus_metrics import metrics_of
from keras_bahdanau.evaluation.logistic_regression import cross_validated, fit_logistic, folds_of
from keras_bahdanau.evaluation.reliability import brier_score, calibration_error, roc_auc
from keras_bahdanau.pipelines.confidence import (
    TEXT_FEATURES,
    WORD_FEATURES,
    Calibration,
    text_features,
    word_features,
    word_spans_of,
)
from keras_bahdanau.settings.limits import PERCENT
from keras_bahdanau.settings.option import check_value

FOLDS = 5
FEWEST = 10  # right texts, and wrong ones
CHRF, EXACT = 40.0, 100.0  # least scores of a right text


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reliability:
    """Quality of two confidences of the same texts, or of their words.

    Those that are calibrated are of a regression fitted on the other folds.

    Attributes:
        labels: Bool array `(cases,)`, True for what is right.
        raw: Float array `(cases,)`, geometric means of the probabilities of tokens, which order
            the cases as the mean log-probability does.
        calibrated: Float array `(cases,)`, probabilities by cross-validation.
    """

    labels: np.ndarray
    raw: np.ndarray
    calibrated: np.ndarray

    def figures(self, probabilities):
        """(area under the ROC curve, expected calibration error, Brier score) of one of the two.

        The area is None where all cases are right, or all wrong.
        """
        area = roc_auc(self.labels, probabilities) if len(set(self.labels.tolist())) == 2 else None
        scores = calibration_error, brier_score
        return area, *(score(self.labels, probabilities) for score in scores)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibrated:
    """Result of `calibrate`.

    Attributes:
        calibration: `Calibration`, fitted on all pairs.
        texts: `Reliability` of the texts.
        words: `Reliability` of their words.
    """

    calibration: Calibration
    texts: Reliability
    words: Reliability


def calibrate(translator, pairs, batch_size=64, metric=None, threshold=None, say=None):
    """Fit the confidences of texts and words on held-out pairs.

    The sources are decoded by the pipeline's own search. A text is right if its chrF is at least
    the threshold, or for other metrics than translation's if it equals a reference. A word is
    right if it stands in the reference, in the alignment with the fewest edits. Pairs with one
    source count once, with the nearest of its references. A source without tokens is left out.

    Args:
        translator: A `Translator`, or other `Pipeline`.
        pairs: List of (input of the source, target string): held-out pairs, never the test's.
        batch_size: Positive integer. Inputs decoded at once.
        metric: "chrf" or "exact"; the first if the pipeline's own metrics are BLEU and chrF when
            left out, else the second.
        threshold: Float in percent, the least score of a right text; 40 of chrF when left out.
        say: Function of one string, which reports progress; None for none.

    Returns:
        `Calibrated`. Give its `calibration` to the pipeline, and save it.

    Raises:
        ValueError: If the search draws at random, the metric is another one, the threshold is out
            of range, or there are fewer than 10 right or wrong texts.

    Example:
        >>> found = calibrate(translator, read_pairs("valid.en", "valid.de"))
        >>> translator.calibration = found.calibration
        >>> translator.translate(["A man in an orange hat."])[0].confidence
        0.83
    """
    metric, threshold = _rule(translator, metric, threshold)
    answers = answers_by_source(pairs)
    found = translator.decode(answers.sources, batch_size, say=say)
    cases = [
        (one, references)
        for one, references in zip(found, answers.references, strict=True)
        if one.target_tokens
    ]
    results = [one for one, _ in cases]
    (scorer,) = metrics_of([metric])
    labels = [
        max(scorer.corpus_score([one.text], [text]) for text in references) >= threshold
        for one, references in cases
    ]
    _check_labels(labels, metric, threshold)
    folds = folds_of(labels, FOLDS)
    features = [
        text_features(one.token_log_probs, one.token_entropies, one.alignment) for one in results
    ]
    raw = np.exp(np.minimum([row[0] for row in features], 0))
    text, texts = _fitted(TEXT_FEATURES, features, labels, folds, raw)

    rows, right, of_text = [], [], []
    for (one, references), fold in zip(cases, folds, strict=True):
        spans = word_spans_of(one.target_tokens, one.text)
        rows.extend(word_features(spans, one.token_log_probs, one.token_entropies))
        right.extend(right_words([word.word for word in one.words], references))
        of_text.extend([fold] * len(spans))
    raw = np.exp(np.minimum([row[0] for row in rows], 0))
    word, words = _fitted(WORD_FEATURES, rows, right, of_text, raw)
    calibration = Calibration(text=text, word=word, metric=metric, threshold=threshold)
    return Calibrated(calibration=calibration, texts=texts, words=words)


def right_words(words, references):
    """Bools: which words stand in the nearest reference, aligned by the fewest edits.

    Args:
        words: List of strings, those of a text.
        references: List of strings.

    Example:
        >>> right_words(["a", "big", "man"], ["a man", "no"])
        [True, False, True]
    """
    splits = [text.split() for text in references]
    nearest = min(splits, key=lambda one: Levenshtein.distance(words, one))
    right = [False] * len(words)
    for part in Levenshtein.opcodes(words, nearest):
        if part.tag == "equal":
            right[part.src_start : part.src_end] = [True] * (part.src_end - part.src_start)
    return right


def _rule(translator, metric, threshold):
    """(metric, threshold) that say what is right."""
    if translator.search.random:
        raise ValueError(
            "A calibration needs a search that gives the same each time. Received: "
            f"search={translator.search!r}. Give a translator whose search draws nothing."
        )
    if metric is None:
        metric = "chrf" if {*translator.metrics} <= {"bleu", "chrf", "ter"} else "exact"
    if metric not in ("chrf", "exact"):
        raise ValueError(
            f"`metric` must be 'chrf' or 'exact'. Received: metric={metric!r}. Give one of them."
        )
    if threshold is None:
        threshold = CHRF if metric == "chrf" else EXACT
    check_value("threshold", threshold, PERCENT)
    return metric, float(threshold)


def _check_labels(labels, metric, threshold):
    right = sum(labels)
    if min(right, len(labels) - right) < FEWEST:
        raise ValueError(
            f"A calibration needs {FEWEST} right texts and {FEWEST} wrong ones at least. Received: "
            f"{right:,} right of {len(labels):,} at {metric} >= {threshold:g}. Give more pairs, or "
            "another threshold."
        )


def _fitted(names, features, labels, folds, raw):
    """(coefficients by name, `Reliability`) of a regression."""
    features, labels = np.array(features).reshape(-1, len(names)), np.array(labels, bool)
    weights, bias = fit_logistic(features, labels)
    coefficients = {"bias": bias, **dict(zip(names, weights.tolist(), strict=True))}
    calibrated = cross_validated(features, labels, folds)
    return coefficients, Reliability(labels=labels, raw=raw, calibrated=calibrated)
