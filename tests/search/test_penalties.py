"""Length penalties and the coverage penalty, compared with their equations in float64."""

import modes
import numpy as np
import pytest
import reference_search as reference
from toy_chain import END, Chain, Given, run_chain

from keras_bahdanau.search import SearchOptions, search
from keras_bahdanau.search.result import coverage_penalty

LIMITS = np.array([5, 4, 3, 1, 0], "int32")


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["power", "gnmt"])
@pytest.mark.parametrize("exponent", [0.6, 0.0])
@pytest.mark.parametrize("width", [3, 1])
def test_the_length_penalty_ranks_the_beam_and_divides_the_scores(kind, exponent, width):
    chain, ranking = Chain(5, seed=1), reference.normalized(exponent, kind)
    options = SearchOptions(beam_width=width, length_penalty=kind, length_normalization=exponent)
    result = run_chain(modes.graph, search, chain, options, Given(LIMITS))
    for row, limit in enumerate(LIMITS):
        found = reference.beam_search(chain.after(row), limit, END, width, ranking)
        assert len(found) == width if limit > 1 else found
        for rank, hypothesis in enumerate(found):
            length = len(hypothesis.tokens)
            assert tuple(result.ids[row, rank, :length]) == hypothesis.tokens
            np.testing.assert_allclose(result.scores[row, rank], ranking(hypothesis), rtol=1e-5)


def test_the_length_penalties_differ():
    def best(kind):
        options = SearchOptions(beam_width=1, length_penalty=kind)
        return run_chain(modes.eager, search, Chain(3), options, Given(LIMITS[:3])).scores

    assert (np.abs(best("power") - best("gnmt")) > 1e-3).all()


def test_coverage_sums_over_real_source_tokens_and_counts_no_excess(run):
    alignment = np.array([[[[0.5, 0.3, 0.2, 0.0], [0.6, 0.1, 0.3, 0.0]]]], "float32")
    mask = np.array([[True, True, True, False]])
    penalty = run(coverage_penalty, alignment, mask)
    np.testing.assert_allclose(penalty, [[np.log(1.0) + np.log(0.4) + np.log(0.5)]], rtol=1e-6)


def test_a_source_token_that_got_nothing_costs_much_and_stays_finite(run):
    alignment = np.zeros((2, 1, 3, 2), "float32")
    penalty = run(coverage_penalty, alignment, np.array([[True, True], [False, False]]))
    assert np.isfinite(penalty).all() and penalty[0, 0] < -30 and penalty[1, 0] == 0


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("masked", [True, False])
def test_the_coverage_penalty_ranks_whole_hypotheses_again(run, masked):
    chain, factor = Chain(5, seed=2), 0.7
    mask = np.array([[True, True, masked]] * 4 + [[False] * 3])
    options = SearchOptions(beam_width=4, coverage_penalty=factor)
    given = Given(LIMITS, source_mask=mask if masked else None)
    result = run_chain(run, search, chain, options, given)
    moved = False
    for row, limit in enumerate(LIMITS):
        ranking = reference.normalized(1.0)
        beam = reference.beam_search(chain.after(row), limit, END, 4, ranking)

        def covered(hypothesis, row=row, ranking=ranking):
            alignment = chain.alignment(row, hypothesis.tokens)
            penalty = reference.coverage_penalty(alignment) if hypothesis.tokens else 0.0
            return ranking(hypothesis) + factor * penalty

        expected = reference.ranked(beam, covered)
        moved |= expected != beam
        for rank, hypothesis in enumerate(expected):
            length = len(hypothesis.tokens)
            assert tuple(result.ids[row, rank, :length]) == hypothesis.tokens
            np.testing.assert_allclose(result.scores[row, rank], covered(hypothesis), rtol=1e-4)
            weights = chain.alignment(row, hypothesis.tokens)
            np.testing.assert_allclose(result.alignment[row, rank, :length], weights, rtol=1e-5)
    assert moved
    assert (result.scores[4, 1:] == -1e9).all() and result.scores[4, 0] == 0


@modes.graph_is_slow
def test_the_score_of_greedy_search_has_the_coverage_penalty_too(run):
    chain = Chain(5, seed=3)
    plain, covered = (
        run_chain(run, search, chain, SearchOptions(beam_width=1, **extra), Given(LIMITS))
        for extra in ({}, {"coverage_penalty": 0.5})
    )
    np.testing.assert_array_equal(plain.ids, covered.ids)
    for row in range(4):
        alignment = covered.alignment[row, 0].astype("float64")
        expected = plain.scores[row, 0] + 0.5 * reference.coverage_penalty(alignment)
        np.testing.assert_allclose(covered.scores[row, 0], expected, rtol=1e-4)
