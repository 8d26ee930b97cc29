"""Quality of confidences, such as whether 80% of the texts with confidence 80% are correct."""

import dataclasses

import numpy as np

BINS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reliability:
    """Raw and calibrated confidences of the same texts or words, and their quality.

    Attributes:
        labels: Bool array `(cases,)`, True for a correct text or word.
        raw: Float array `(cases,)`, geometric means of the tokens' probabilities.
        calibrated: Float array `(cases,)`, probabilities from regressions on the other folds.
    """

    labels: np.ndarray
    raw: np.ndarray
    calibrated: np.ndarray

    def figures(self, probabilities):
        """Return (area under the ROC curve, calibration error, Brier score) of probabilities.

        The area is None if all labels are equal.
        """
        area = roc_auc(self.labels, probabilities) if len(set(self.labels.tolist())) == 2 else None
        scores = calibration_error, brier_score
        return area, *(score(self.labels, probabilities) for score in scores)


def roc_auc(labels, scores):
    """Compute the area under the ROC curve.

    This is the probability that a correct case has a higher score than a wrong one, with ties
    counted half (Mann and Whitney 1947): 0.5 for random scores, and 1 for a perfect order. Raises
    ValueError unless there are both correct and wrong cases.

    Example:
        >>> roc_auc([False, True, True], [0.1, 0.1, 0.9])
        0.75
    """
    labels, scores = _checked(labels, scores)
    right = int(labels.sum())
    wrong = len(labels) - right
    if not right or not wrong:
        raise ValueError(
            "The area under the ROC curve needs correct and wrong cases. "
            f"Received: {right} correct, {wrong} wrong. Pass other labels."
        )
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse.reshape(-1)]  # from 1; ties share their mean rank
    return float((ranks[labels].sum() - right * (right + 1) / 2) / (right * wrong))


def reliability(labels, probabilities, bins=BINS):
    """Compute a reliability curve: the fraction of correct cases against their probability.

    `labels` are bools, True for a correct case. Returns a float array `(bins, 3)`: the mean
    probability in a bin, the fraction of correct cases in it, and its number of cases. All bins
    have about the same number of cases. There are fewer bins if there are fewer cases.
    """
    labels, probabilities = _checked(labels, probabilities)
    order = np.argsort(probabilities, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    return np.array(
        [[probabilities[part].mean(), labels[part].mean(), len(part)] for part in parts]
    )


def calibration_error(labels, probabilities, bins=BINS):
    """Compute the expected calibration error (Naeini et al. 2015) in the bins of `reliability`.

    ECE = sum_b n_b/n |fraction correct in b - mean probability in b|

        >>> calibration_error([True, False], [0.6, 0.6], bins=1)
        0.1
    """
    mean, share, count = reliability(labels, probabilities, bins).T
    return float((count * np.abs(share - mean)).sum() / count.sum())


def brier_score(labels, probabilities):
    """Compute the mean squared error of probabilities (Brier 1950).

    The best value is 0. A constant probability of 50% gives 0.25.
    """
    labels, probabilities = _checked(labels, probabilities)
    return float(np.mean((probabilities - labels) ** 2))


def _checked(labels, scores):
    labels, scores = np.asarray(labels, bool), np.asarray(scores, float)
    if labels.ndim != 1 or labels.shape != scores.shape or not len(labels):
        raise ValueError(
            "There must be one score for each label, and at least one label. "
            f"Received: labels of shape {labels.shape}, scores of shape {scores.shape}."
        )
    return labels, scores
