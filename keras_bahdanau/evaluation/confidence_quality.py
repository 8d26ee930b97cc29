"""Quality of confidences: are texts with confidence 80 % right in 80 % of the cases?"""

import dataclasses

import numpy as np

BINS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reliability:
    """Quality of raw and calibrated confidences of the same texts, or words.

    Attributes:
        labels: Bool array `(cases,)`, True for a right text or word.
        raw: Float array `(cases,)`, geometric means of the probabilities of tokens.
        calibrated: Float array `(cases,)`, probabilities from regressions on the other folds.
    """

    labels: np.ndarray
    raw: np.ndarray
    calibrated: np.ndarray

    def figures(self, probabilities):
        """(ROC area, or None if all labels are equal, calibration error, Brier score)."""
        area = roc_auc(self.labels, probabilities) if len(set(self.labels.tolist())) == 2 else None
        scores = calibration_error, brier_score
        return area, *(score(self.labels, probabilities) for score in scores)


def roc_auc(labels, scores):
    """Area under the ROC curve; ValueError without both right and wrong cases.

    The probability that a right case has a higher score than a wrong one, with ties counted half
    (Mann and Whitney 1947): 0.5 for random scores, 1 for a perfect order.

    Example:
        >>> roc_auc([False, True, True], [0.1, 0.1, 0.9])
        0.75
    """
    labels, scores = _checked(labels, scores)
    right = int(labels.sum())
    wrong = len(labels) - right
    if not right or not wrong:
        raise ValueError(
            "The area under a curve needs right and wrong cases. "
            f"Received: {right} right, {wrong} wrong. Give other labels."
        )
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse.reshape(-1)]  # from 1; ties get their mean
    return float((ranks[labels].sum() - right * (right + 1) / 2) / (right * wrong))


def reliability(labels, probabilities, bins=BINS):
    """Reliability curve of right cases (bools) by their probabilities, in bins of equal mass.

    Float array `(bins, 3)`: the mean probability of a bin, its share of right cases, and its number
    of cases. There are fewer bins if there are fewer cases.
    """
    labels, probabilities = _checked(labels, probabilities)
    order = np.argsort(probabilities, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    return np.array(
        [[probabilities[part].mean(), labels[part].mean(), len(part)] for part in parts]
    )


def calibration_error(labels, probabilities, bins=BINS):
    """Expected calibration error (Naeini et al. 2015), in bins of equal mass: see `reliability`.

    ECE = sum_b n_b/n |share right in b - mean probability in b|

        >>> calibration_error([True, False], [0.6, 0.6], bins=1)
        0.1
    """
    mean, share, count = reliability(labels, probabilities, bins).T
    return float((count * np.abs(share - mean)).sum() / count.sum())


def brier_score(labels, probabilities):
    """Mean squared error of probabilities of right cases (Brier 1950): 0 at best, 0.25 for 50 %."""
    labels, probabilities = _checked(labels, probabilities)
    return float(np.mean((probabilities - labels) ** 2))


def _checked(labels, scores):
    labels, scores = np.asarray(labels, bool), np.asarray(scores, float)
    if labels.ndim != 1 or labels.shape != scores.shape or not len(labels):
        raise ValueError(
            "There must be one score for each label, and at least one label. "
            f"Received: labels of the shape {labels.shape}, scores of {scores.shape}."
        )
    return labels, scores
