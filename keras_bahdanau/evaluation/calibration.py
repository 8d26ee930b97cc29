"""Calibration of confidences on held-out pairs, with logistic regression."""

import dataclasses

import numpy as np
from rapidfuzz.distance import Levenshtein

from keras_bahdanau.data.pairs import answers_by_source
from keras_bahdanau.evaluation.confidence_quality import Reliability
from keras_bahdanau.evaluation.corpus_metrics import metrics_of
from keras_bahdanau.pipelines.confidence import (
    TEXT_FEATURES,
    WORD_FEATURES,
    Calibration,
    text_features,
    word_features,
    word_spans_of,
)
from keras_bahdanau.settings.guesses import check_keywords
from keras_bahdanau.settings.limits import PERCENT
from keras_bahdanau.settings.option import check_value

FOLDS = 5
FEWEST = 10  # minimum number of correct texts, and of wrong ones
CHRF, EXACT = 40.0, 100.0  # lowest scores of a correct text
ROUNDS, HALVINGS = 100, 30
SAME = 1e-5  # a feature that varies less than this counts as constant
CLOSE = 1e-10  # largest gradient per case at the solution


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibrated:
    """Result of `calibrate`: the `Calibration`, and the `Reliability` of texts and words."""

    calibration: Calibration
    texts: Reliability
    words: Reliability


@check_keywords()
def calibrate(translator, pairs, batch_size=64, metric=None, threshold=None, say=None):
    """Fit the confidences of texts and words on held-out pairs.

    The sources are decoded with the search options of the pipeline. For translation, a text is
    correct if its chrF is at least the threshold; for other tasks, it is correct if it equals a
    reference. A word is correct if the alignment with the fewest edits matches it to a word of the
    reference. Several pairs with the same source count once, with the nearest reference. Sources
    without tokens do not count.

    Args:
        translator: A `Translator`, or other `Pipeline`.
        pairs: List of (input of the source, target string): held-out pairs that are not test pairs.
        batch_size: Positive integer. Number of inputs that are decoded together.
        metric: "chrf" or "exact". By default, "chrf" if the metrics of the pipeline are BLEU, chrF
            or TER, otherwise "exact".
        threshold: Float, lowest score of a correct text in percent. By default, 40 for chrF and 100
            for exact.
        say: Function of one string, which is called to report progress, or None.

    Returns:
        `Calibrated`. Assign its `calibration` to the pipeline, and then save the pipeline.

    Raises:
        ValueError: If the search draws at random, if the metric is unknown, if the threshold is out
            of range, or if there are fewer than 10 correct or fewer than 10 wrong texts.

    Example:
        >>> translator.calibration = calibrate(translator, valid_pairs).calibration
        >>> translator.translate(["A man in an orange hat."])[0].confidence
        0.83
    """
    metric, threshold = _rule(translator, metric, threshold)
    answers = answers_by_source(pairs, translator.target)
    results = translator.decode(answers.sources, batch_size, say=say)
    cases = [
        (result, references)
        for result, references in zip(results, answers.references, strict=True)
        if result.target_tokens
    ]
    (scorer,) = metrics_of([metric])
    labels = [
        max(
            scorer.corpus_score([answers.compared(result.text)], [text])
            for text in answers.compared(references)
        )
        >= threshold
        for result, references in cases
    ]
    _check_labels(labels, metric, threshold)
    folds = folds_of(labels, FOLDS)
    features = [
        text_features(result.token_log_probs, result.token_entropies, result.alignment)
        for result, _ in cases
    ]
    text, texts = _fitted(TEXT_FEATURES, features, labels, folds)
    features, labels, word_folds = [], [], []
    for (result, references), fold in zip(cases, folds, strict=True):
        spans = word_spans_of(result.target_tokens, result.text)
        features.extend(word_features(spans, result.token_log_probs, result.token_entropies))
        labels.extend(right_words([word.word for word in result.words], references))
        word_folds.extend([fold] * len(spans))
    word, words = _fitted(WORD_FEATURES, features, labels, word_folds)
    calibration = Calibration(text=text, word=word, metric=metric, threshold=threshold)
    return Calibrated(calibration=calibration, texts=texts, words=words)


def right_words(words, references):
    """Return a list of bools, True for the words that match the nearest reference.

    Words match if the alignment with the fewest edits pairs them.

    >>> right_words(["a", "big", "man"], ["a man", "no"])
    [True, False, True]
    """
    splits = [text.split() for text in references]
    nearest = min(splits, key=lambda split: Levenshtein.distance(words, split))
    right = [False] * len(words)
    for part in Levenshtein.opcodes(words, nearest):
        if part.tag == "equal":
            right[part.src_start : part.src_end] = [True] * (part.src_end - part.src_start)
    return right


def _rule(translator, metric, threshold):
    """Return the metric and the threshold that define a correct text."""
    if translator.search.random:
        raise ValueError(
            "A calibration needs a deterministic search. Received: "
            f"search={translator.search!r}. Use a translator whose search does not draw at random."
        )
    if metric is None:
        metric = "chrf" if {*translator.metrics} <= {"bleu", "chrf", "ter"} else "exact"
    if metric not in ("chrf", "exact"):
        raise ValueError(
            f"`metric` must be 'chrf' or 'exact'. Received: metric={metric!r}. Pass one of these."
        )
    if threshold is None:
        threshold = CHRF if metric == "chrf" else EXACT
    check_value("threshold", threshold, PERCENT)
    return metric, float(threshold)


def _check_labels(labels, metric, threshold):
    right = sum(labels)
    if min(right, len(labels) - right) < FEWEST:
        raise ValueError(
            f"A calibration needs at least {FEWEST} correct texts and {FEWEST} wrong ones. "
            f"Received: {right:,} of {len(labels):,} correct, with {metric} >= {threshold:g}. "
            "Use more pairs, or another threshold."
        )


def _fitted(names, features, labels, folds):
    """Return (coefficients of the regression on all cases, `Reliability` from the folds)."""
    features, labels = np.array(features).reshape(-1, len(names)), np.array(labels, bool)
    weights, bias = fit_logistic(features, labels)
    coefficients = {"bias": bias, **dict(zip(names, weights.tolist(), strict=True))}
    raw = np.exp(np.minimum(features[:, 0], 0))  # feature 0 is the mean log-probability
    calibrated = cross_validated(features, labels, folds)
    return coefficients, Reliability(labels=labels, raw=raw, calibrated=calibrated)


def fit_logistic(features, labels, penalty=1.0):
    """Fit a logistic regression with an L2 penalty.

    Newton's method minimizes sum_n log(1 + exp(-y_n z_n)) + penalty/2 |w|^2, with y_n = 1 or -1 and
    z = w x + b, where the features x are scaled to mean 0 and standard deviation 1. This is the
    objective of scikit-learn's `LogisticRegression(C=1 / penalty)`. Returns (float64 weights
    `(features,)`, bias) for the unscaled features. The weight of a constant feature is 0, and if
    all labels are equal, all weights are 0.
    """
    features, labels = np.asarray(features, float), np.asarray(labels, float)
    count = len(labels)
    share = (labels.sum() + 0.5) / (count + 1)  # never 0 or 1
    start = np.log(share / (1 - share))
    if len(set(labels)) < 2:
        return np.zeros(features.shape[1]), float(start)
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > SAME * (1 + np.abs(mean)), scale, np.inf)  # constant features get 0
    inputs = np.column_stack([(features - mean) / scale, np.ones(count)])
    penalties = np.full(inputs.shape[1], float(penalty))
    penalties[-1] = 0.0
    weights = np.zeros(inputs.shape[1])
    weights[-1] = start
    for _ in range(ROUNDS):
        probabilities = _logistic(inputs @ weights)
        gradient = inputs.T @ (probabilities - labels) + penalties * weights
        if np.abs(gradient).max() <= CLOSE * count:
            break
        curvature = probabilities * (1 - probabilities)
        hessian = inputs.T @ (inputs * curvature[:, None]) + np.diag(penalties + 1e-12)
        weights = _lower(inputs, labels, penalties, weights, np.linalg.solve(hessian, gradient))
    raw = weights[:-1] / scale
    return raw, float(weights[-1] - raw @ mean)


def _lower(inputs, labels, penalties, weights, step):
    """Return weights with a lower loss, after the whole step, half of it, a quarter, and so on."""
    before = _loss(inputs, labels, penalties, weights)
    for halvings in range(HALVINGS):
        after = weights - step / 2**halvings
        if _loss(inputs, labels, penalties, after) <= before:
            return after
    return weights


def _loss(inputs, labels, penalties, weights):
    z = inputs @ weights
    return np.logaddexp(0, np.where(labels, -z, z)).sum() + (penalties * weights**2).sum() / 2


def _logistic(z):
    return 0.5 + 0.5 * np.tanh(z / 2)


def cross_validated(features, labels, folds, penalty=1.0):
    """Return the probability of each case, `(cases,)`, from a regression on the other folds."""
    features, labels, folds = np.asarray(features, float), np.asarray(labels, bool), np.array(folds)
    probabilities = np.zeros(len(labels))
    for fold in np.unique(folds):
        held = folds == fold
        weights, bias = fit_logistic(features[~held], labels[~held], penalty)
        probabilities[held] = _logistic(features[held] @ weights + bias)
    return probabilities


def folds_of(labels, count, seed=0):
    """Assign cases to random folds, `(cases,)` from 0 to `count - 1`.

    All folds have about the same fraction of correct cases.
    """
    labels = np.asarray(labels, bool)
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.zeros(len(labels), int)
    folds[order] = np.arange(len(labels)) % count
    return folds
