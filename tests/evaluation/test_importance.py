"""Orders of importance: curves, areas, intervals and other weights, computed by hand."""

import itertools

import numpy as np
import pytest

from keras_bahdanau.evaluation.importance import (
    adversarial,
    estimate,
    overlap,
    permutations,
    ranks,
    removal_counts,
    removal_curves,
    uniform,
)

# The contribution of each position to log p.
SHARES = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 5.0, 0.0, 0.0]])
MASK = np.array([[True, True, True, False], [True, True, False, False]])


@pytest.fixture
def random():
    return np.random.default_rng(0)


class Additive:
    """A model whose log p is the sum of the shares of its visible positions."""

    def __init__(self):
        self.requests = 0

    def __call__(self, rows, visible):
        self.requests += len(rows)
        return (SHARES[rows] * visible).sum(axis=1)


def test_areas_are_those_by_hand(random):
    """Check curves and areas of three positions and of two.

    For three positions, deletion gives 0, -3, -5, -6 and insertion gives -6, -3, -1, 0. For two
    positions, deletion gives 0, -5, -6.
    """
    curves = removal_curves(
        Additive(), {"best": SHARES, "worst": -SHARES}, MASK, np.array([6.0, 6.0]), random
    )
    best = curves["best"]
    np.testing.assert_allclose(best.deletion[0][:4], [0, -3, -5, -6])
    np.testing.assert_allclose(best.insertion[0][:4], [-6, -3, -1, 0])
    # Trapezoids of -6, 0, 4, 6 over thirds, and of -6, 4, 6 over halves.
    np.testing.assert_allclose(best.areas(), [4 / 3, (-1 + 5) / 2])
    np.testing.assert_allclose(curves["worst"].areas(), [-4 / 3, -2])
    deletion, insertion = best.means()
    assert deletion[0] == 0 and deletion[-1] == -6 and insertion[0] == -6 and insertion[-1] == 0
    assert deletion[5] == pytest.approx((-4 - 5) / 2), "half of both"


def test_all_orders_together_have_no_area(random):
    orders = {str(order): np.array([[*order, 0]]) for order in itertools.permutations(range(3))}
    curves = removal_curves(Additive(), orders, MASK[:1], np.array([6.0]), random)
    assert sum(curve.areas()[0] for curve in curves.values()) == pytest.approx(0)


def test_equal_requests_are_asked_once(random):
    model = Additive()
    removal_curves(model, {"one": SHARES, "two": 2 * SHARES}, MASK, np.array([6.0, 6.0]), random)
    # All first or last subsets of an order: 4 + 2 for three positions, 3 + 1 for two.
    assert model.requests == 10


@pytest.mark.parametrize("size", [1, 2, 5, 6, 9, 13, 40])
def test_counts_go_from_none_to_all_and_are_symmetric(size):
    counts = removal_counts(size)
    assert counts[0] == 0 and counts[-1] == size and len(counts) <= 6
    assert (counts + counts[::-1] == size).all() and (np.diff(counts) > 0).all()


def test_ranks_fall_with_the_scores_and_padding_is_last(random):
    scores, mask = np.array([[0.1, 0.7, 0.9, np.nan]]), np.array([[True, True, False, True]])
    assert ranks(scores, mask, random).tolist() == [[1, 0, 3, 2]]


def test_ties_have_no_order_of_their_own(random):
    first = ranks(np.zeros((4000, 2)), np.ones((4000, 2), bool), random)[:, 0]
    assert abs(first.mean() - 0.5) < 0.05


def test_permutations_move_real_positions_alone(random):
    mask = np.array([[True, False, True, True], [False, True, True, False]])
    orders = permutations(mask, 200, random)
    assert (np.sort(orders) == np.arange(4)).all()
    assert (orders[0, :, 1] == 1).all() and (orders[1, :, [0, 3]] == [[0], [3]]).all()
    assert len({tuple(order) for order in orders[0].tolist()}) == 6


def test_uniform_weights_keep_the_sum():
    weights = np.array([[0.5, 0.1, 0.2, 0.0], [1.0, 0.0, 0.0, 0.0]])
    expected = [[0.8 / 3] * 3 + [0], [0.5, 0.5, 0, 0]]
    np.testing.assert_allclose(uniform(weights, MASK), expected)


def test_overlap_by_hand():
    assert overlap(np.array([[0.5, 0.5, 0]]), np.array([[1, 1, 2]])).tolist() == [0.5]


def test_weights_that_change_nothing_can_be_anywhere(random):
    weights = np.array([[0.9, 0.05, 0.05, 0.0], [0.5, 0.5, 0.0, 0.0]])
    free = adversarial(lambda rows, _: np.zeros(len(rows)), weights, MASK, random)
    assert free[0] > 0.85 and 0.45 < free[1] <= 0.5, "at most 1 - the smallest weights"


def test_weights_that_are_the_output_stay(random):
    weights = np.array([[0.9, 0.05, 0.05, 0.0], [0.5, 0.5, 0.0, 0.0]])

    def distance(rows, changed):
        assert (changed[~MASK[rows]] == 0).all()
        return np.abs(changed - weights[rows]).sum(axis=1) / 2

    assert (adversarial(distance, weights, MASK, random) <= 0.05).all()


def test_rows_without_weight_have_no_other_weights(random):
    assert (
        adversarial(lambda rows, _: np.zeros(len(rows)), np.zeros((2, 4)), MASK, random).max() == 0
    )


def test_an_estimate_counts_inputs_and_not_rows():
    result = estimate(np.array([1.0, 1, 1, 4]), np.array([7, 7, 7, 9]))
    assert result == (2.5, 1.0, 4.0)
    ratio = estimate(np.array([1.0, 2]), np.array([0, 1]), per=np.array([2.0, 4]))
    assert ratio == (0.5, 0.5, 0.5)
    assert estimate(np.ones(2), np.array([0, 1]), per=np.zeros(2)) == (0, 0, 0)
