"""Removal curves of positions in order of importance, their areas, and alternative weights."""

from typing import NamedTuple

import numpy as np

SAMPLES = 1000
POINTS = 5  # points of a removal curve
GRID = np.linspace(0, 1, 11)  # fractions of a source at which mean curves are evaluated
LEAST_WEIGHT = 1e-6


class Estimate(NamedTuple):
    """A mean over inputs, with its 95% interval from a bootstrap over inputs."""

    value: float
    low: float
    high: float


class RemovalCurves(NamedTuple):
    """Change in log p, in nats, as positions are removed (deletion) or added (insertion)."""

    deletion: np.ndarray  # (rows, points), the most important positions are removed first
    insertion: np.ndarray  # (rows, points), the most important positions are added first
    shares: np.ndarray  # (rows, points), fraction of positions removed or added

    def areas(self):
        """Return the areas between the curves, `(rows,)`, by the trapezoidal rule.

        A random order has an expected area of 0.
        """
        heights = self.insertion - self.deletion
        return ((heights[:, 1:] + heights[:, :-1]) / 2 * np.diff(self.shares)).sum(axis=1)

    def means(self):
        """Return the mean deletion and insertion curves, `(2, 11)`, at fractions 0, 0.1, ... 1."""
        curves = (zip(self.shares, curve, strict=True) for curve in self[:2])
        return np.array([np.mean([np.interp(GRID, *row) for row in rows], 0) for rows in curves])


def removal_counts(size, points=POINTS):
    """Return the numbers of removed positions at the points of a curve, from 0 to `size`.

    For each k, the result also contains `size - k`, so that the expected area of a random order
    is 0.

        >>> removal_counts(11)
        array([ 0,  2,  4,  7,  9, 11])
    """
    if size <= points:
        return np.arange(size + 1)
    low = np.rint(np.arange(points // 2 + 1) * size / points).astype(int)
    return np.unique(np.concatenate([low, size - low]))


def ranks(scores, mask, random):
    """Rank positions by descending score, from 0; ties are in random order, and padding is last."""
    falling = np.where(mask, -np.nan_to_num(scores), np.inf)
    return np.argsort(np.lexsort((random.random(scores.shape), falling)), axis=-1)


def removal_curves(answer, scores, mask, log_probs, random, points=POINTS):
    """Compute the `RemovalCurves` of several orders of positions.

    `scores` is a dictionary from the name of an order to importances, float `(rows, positions)`;
    the result is a dictionary from the same names to `RemovalCurves`. `answer` is a function from
    rows, int `(requests,)`, and visible positions, bool `(requests, positions)`, to log p, float
    `(requests,)`. `mask` is bool `(rows, positions)`, True for real positions, and `log_probs`
    `(rows,)` are those of the unchanged model. Equal requests are computed only once.
    """
    sizes = mask.sum(axis=1)
    counts = [removal_counts(size, points) for size in sizes]
    counts = np.stack([np.pad(row, (0, points + 1 - len(row)), "edge") for row in counts])
    sets, real = [], mask[:, np.newaxis]
    for importance in scores.values():
        rank = ranks(importance, mask, random)[:, np.newaxis]
        first = rank < counts[..., np.newaxis]  # -> (rows, points, positions)
        sets.append([real & ~first, real & first])
    visible = np.array(sets)  # (orders, 2, rows, points, positions)
    shape = visible.shape[:-1]
    rows = np.broadcast_to(np.arange(len(mask))[:, np.newaxis], shape).reshape(-1)
    visible = visible.reshape(-1, mask.shape[1])
    keys = np.column_stack([rows, np.packbits(visible, axis=1)])
    _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    answers = answer(rows[index], visible[index])[inverse.reshape(shape)]
    shares = counts / sizes[:, np.newaxis]
    changes = answers - log_probs[:, np.newaxis]
    return {name: RemovalCurves(*pair, shares) for name, pair in zip(scores, changes, strict=True)}


def permutations(mask, count, random):
    """Draw random permutations of the real positions, int `(rows, count, positions)`."""
    keys = np.where(mask[:, np.newaxis], random.random((len(mask), count, mask.shape[1])), np.inf)
    places = np.argsort(~mask, axis=1, kind="stable")[:, np.newaxis]  # real positions first
    orders = np.empty(keys.shape, int)
    np.put_along_axis(orders, np.broadcast_to(places, keys.shape), np.argsort(keys), axis=-1)
    return orders


def uniform(weights, mask):
    """Return equal weights at the real positions; the sum of each row is unchanged."""
    return weights.sum(axis=1, keepdims=True) * mask / mask.sum(axis=1, keepdims=True)


def overlap(weights, peers):
    """Compute sum_j min(alpha_j, beta_j) of normalized rows: 1 for equal, 0 for disjoint rows."""
    return np.minimum(_normalized(weights), _normalized(peers)).sum(axis=-1)


def adversarial(distance, weights, mask, random, tolerance=0.05, rounds=5, candidates=8):
    """Find weights that differ from the model's, but hardly change the output.

    Returns the largest total variation distance of such weights from the model's, float `(rows,)`
    from 0 to 1. A random search changes the scores log alpha of the most distant weights
    found so far. It tries `rounds * candidates` weights for each row, so the result is a lower
    bound of the distance.

    `distance` is a function (rows, weights) -> change in the output, from 0 to 1; changes up to
    `tolerance` are allowed. `weights` are float and `mask` is bool, both `(rows, positions)`.
    """
    size, alpha = len(weights), _normalized(weights)
    farthest, reached = alpha.copy(), np.zeros(size)
    rows = np.repeat(np.arange(size), candidates)
    for _ in range(rounds):
        scores = np.log(np.maximum(farthest, LEAST_WEIGHT))[rows]
        noise = random.normal(size=scores.shape) / 2
        scores += 8 * random.random((len(rows), 1)) * (noise - alpha[rows])
        beta = _normalized(np.exp(scores - scores.max(axis=1, keepdims=True)) * mask[rows])
        change = distance(rows, beta * weights.sum(axis=1)[rows, np.newaxis])
        allowed = (change <= tolerance) & weights.any(axis=1)[rows]
        lengths = np.where(allowed, np.abs(beta - alpha[rows]).sum(axis=1) / 2, 0)
        best = lengths.reshape(size, candidates).argmax(axis=1) + np.arange(size) * candidates
        better = lengths[best] > reached
        reached = np.where(better, lengths[best], reached)
        farthest = np.where(better[:, np.newaxis], beta[best], farthest)
    return reached


def estimate(values, inputs, per=None):
    """Return an `Estimate` of values `(rows,)`: the mean over inputs of the mean over their rows.

    With `per`, which contains other values of the same rows, it is the ratio of the two means, or 0
    if the mean of `per` is not above 0.
    """
    _, inputs = np.unique(inputs, return_inverse=True)
    count = np.bincount(inputs)
    draws = np.random.default_rng(0).multinomial(
        len(count), np.ones(len(count)) / len(count), SAMPLES
    )
    # the first row is the mean over all inputs, the others are bootstrap samples
    draws = np.vstack([np.ones(len(count), int), draws]) / len(count)
    means = draws @ (np.bincount(inputs, values) / count)
    if per is not None:
        below = draws @ (np.bincount(inputs, per) / count)
        means = np.divide(means, below, out=np.zeros_like(means), where=below > 0)
    return Estimate(float(means[0]), *np.percentile(means[1:], [2.5, 97.5]).tolist())


def _normalized(weights):
    weights = np.asarray(weights, np.float64)
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
