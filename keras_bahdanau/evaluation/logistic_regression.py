"""Logistic regression with few features, and its predictions for cases that it has not seen."""

import numpy as np

ROUNDS, HALVINGS = 100, 30
SAME = 1e-5  # a feature that varies less is taken for the rounding of one number
CLOSE = 1e-10  # of the gradient to 0, in parts of a case


def fit_logistic(features, labels, penalty=1.0):
    """Weights that make the labels most probable, with an L2 penalty.

    sum_n log(1 + exp(-y_n z_n)) + penalty/2 |w|^2 is minimal, with y_n = 1 or -1 and z = w x + b,
    of features x with mean 0 and standard deviation 1 (Newton's method). The bias b has no
    penalty. It is scikit-learn's `LogisticRegression(C=1 / penalty)` of such features.

    Args:
        features: Float array `(cases, features)`, finite.
        labels: Sequence of bools.
        penalty: Float above 0.

    Returns:
        (weights float64 `(features,)`, bias float), for the features as they are. Weights of a
        feature that is the same in all cases are 0, and all of them where all labels are equal.
    """
    features, labels = np.asarray(features, float), np.asarray(labels, float)
    count = len(labels)
    share = (labels.sum() + 0.5) / (count + 1)  # never 0 or 1
    start = np.log(share / (1 - share))
    if len(set(labels)) < 2:
        return np.zeros(features.shape[1]), float(start)
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > SAME * (1 + np.abs(mean)), scale, np.inf)  # -> zeros
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
    """Weights with a lower loss, as far as the step or the half, the quarter, ... of it goes."""
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
    """Probabilities of cases by regressions that were fitted without them.

    Args:
        features: Float array `(cases, features)`.
        labels: Sequence of bools.
        folds: Int array `(cases,)`, the fold that each case is left out with.
        penalty: As in `fit_logistic`.

    Returns:
        Float64 array `(cases,)` in [0, 1].

    Example:
        >>> folds = np.arange(len(labels)) % 5
        >>> roc_auc(labels, cross_validated(features, labels, folds))
        0.78
    """
    features, labels, folds = np.asarray(features, float), np.asarray(labels, bool), np.array(folds)
    found = np.zeros(len(labels))
    for fold in np.unique(folds):
        held = folds == fold
        weights, bias = fit_logistic(features[~held], labels[~held], penalty)
        found[held] = _logistic(features[held] @ weights + bias)
    return found


def folds_of(labels, count, seed=0):
    """Folds with as many right and wrong cases each, at random.

    Args:
        labels: Sequence of bools.
        count: Positive integer. Number of folds.
        seed: Integer, the seed of the shuffle.

    Returns:
        Int array `(cases,)`, from 0 to `count - 1`.
    """
    labels = np.asarray(labels, bool)
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.zeros(len(labels), int)
    folds[order] = np.arange(len(labels)) % count
    return folds
