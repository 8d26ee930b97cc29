"""Rules for the step: minimum length, n-gram blocking, forced prefix; alone and combined."""

import functools

import modes
import numpy as np
import pytest
import reference_search as reference
from toy import assert_same_rows
from toy_chain import END, SOURCE_TIME, VOCABULARY, Chain, Given, run_chain

from keras_bahdanau.search import SearchOptions, beam_search
from keras_bahdanau.search import search as search_of_options
from keras_bahdanau.search.constraints import apply_constraints, constraints_of

LIMITS = np.array([5, 5, 5, 5, 4, 3, 2, 1, 0], "int32")
PREFIX = np.array([[1, 0], [2, 1], [0, 2], [1, 1], [3, 0], [2, 2], [1, 2], [2, 1], [1, 1]], "int32")
CASES = {
    "min_length": ({"min_length": 4}, False),
    "no symbols": ({"write_symbols": False}, False),
    "unigrams": ({"no_repeat_ngram": 1}, False),
    "bigrams": ({"no_repeat_ngram": 2}, False),
    "n-grams longer than any": ({"no_repeat_ngram": 9}, False),
    "prefix": ({}, True),
    "all": ({"min_length": 5, "no_repeat_ngram": 1, "write_symbols": False}, True),
}
SYMBOLS = [1]
search = functools.partial(search_of_options, symbols=SYMBOLS)
EACH_CASE = pytest.mark.parametrize("case", CASES)


def language_of(chain, row, case):
    """Return the row's language under the constraints of a case, in the order of the search."""
    settings, prefix = CASES[case]
    constraints = []
    if prefix:
        constraints.append(reference.forced(PREFIX[row], VOCABULARY))
    if "write_symbols" in settings:
        constraints.append(reference.no_symbols(SYMBOLS, VOCABULARY))
    if "min_length" in settings:
        constraints.append(reference.min_length(settings["min_length"], END, VOCABULARY))
    if "no_repeat_ngram" in settings:
        constraints.append(
            reference.no_repeated_ngram(settings["no_repeat_ngram"], END, VOCABULARY)
        )
    return reference.constrained(chain.after(row), constraints)


def given(case, rows=slice(None)):
    return Given(LIMITS[rows], prefix=PREFIX[rows] if CASES[case][1] else None)


def assert_found(result, row, rank, chain, hypothesis, number=None):
    length = len(hypothesis.tokens)
    assert tuple(result.ids[row, rank, :length]) == hypothesis.tokens
    assert result.lengths[row, rank] == length and not result.ids[row, rank, length:].any()
    assert result.finished[row, rank] == hypothesis.finished
    score = reference.normalized(1.0)(hypothesis)
    np.testing.assert_allclose(result.scores[row, rank], score, rtol=1e-5)
    weights = chain.alignment(row if number is None else number, hypothesis.tokens)
    np.testing.assert_allclose(result.alignment[row, rank, :length], weights, rtol=1e-5)
    assert not result.alignment[row, rank, length:].any()


@pytest.mark.few(1)
@EACH_CASE
def test_greedy_search_keeps_to_them(run, case):
    chain = Chain(len(LIMITS), seed=1)
    options = SearchOptions(beam_width=1, **CASES[case][0])
    result = run_chain(run, search, chain, options, given(case))
    for row, limit in enumerate(LIMITS):
        expected = reference.greedy_search(language_of(chain, row, case), limit, END)
        assert_found(result, row, 0, chain, expected)


@pytest.mark.few(1)
@EACH_CASE
def test_beam_search_keeps_to_them(run, case):
    chain, width = Chain(len(LIMITS), seed=2), 3
    options = SearchOptions(beam_width=width, **CASES[case][0])
    result = run_chain(run, search, chain, options, given(case))
    for row, limit in enumerate(LIMITS):
        language = language_of(chain, row, case)
        expected = reference.beam_search(language, limit, END, width, reference.normalized(1.0))
        for rank, hypothesis in enumerate(expected):
            assert_found(result, row, rank, chain, hypothesis)
        rest = slice(len(expected), None)
        assert (result.scores[row, rest] == -1e9).all() and not result.ids[row, rest].any()


@pytest.mark.few(1)
@EACH_CASE
def test_a_wide_beam_finds_every_hypothesis_that_keeps_to_them_and_no_other(case):
    chain, rows = Chain(len(LIMITS), seed=3), slice(3, None)
    options = SearchOptions(beam_width=400, **CASES[case][0])
    numbers = range(len(LIMITS))[rows]
    result = run_chain(modes.eager, search, chain, options, given(case, rows), rows=numbers)
    ranking = reference.normalized(1.0)
    for row, number in enumerate(numbers):
        language = language_of(chain, number, case)
        found = reference.every_hypothesis(language, LIMITS[number], END)
        for rank, hypothesis in enumerate(reference.ranked(found, ranking)):
            assert_found(result, row, rank, chain, hypothesis, number)
        assert (result.scores[row, max(len(found), 1) :] == -1e9).all()


@pytest.mark.few(1)
@EACH_CASE
def test_a_beam_of_one_equals_greedy_search(case):
    """The beam is `beam_search` itself, with the constraints that `search` would apply."""
    chain = Chain(len(LIMITS), seed=4)
    options = SearchOptions(beam_width=1, **CASES[case][0])

    def narrow(step, state, limits, options, *, prefix=None, **places):
        settings = {"end": END, "time": places["time"], "symbols": SYMBOLS}
        constraints = constraints_of(options, prefix=prefix, **settings)
        step, state = apply_constraints(step, state, constraints, batch=limits.shape[0])
        return beam_search(step, state, limits, options, **places)

    beam = run_chain(modes.eager, narrow, chain, options, given(case))
    greedy = run_chain(modes.eager, search, chain, options, given(case))
    for one, other in zip(beam, greedy, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.few(1)
@EACH_CASE
def test_a_row_is_the_same_in_any_batch_and_buffer(case):
    chain, order = Chain(len(LIMITS), seed=5), np.array([3, 8, 0, 4, 6])
    options = SearchOptions(beam_width=3, **CASES[case][0])
    whole = run_chain(modes.eager, search, chain, options, given(case), time=9)
    turned = run_chain(modes.eager, search, chain, options, given(case, order), rows=order)
    assert_same_rows(whole, order, turned)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("width", "prefix"), [(1, None), (3, PREFIX), (3, None), (1, PREFIX)], ids=str
)
def test_tokens_that_no_text_has_are_written_in_a_prefix_alone(run, width, prefix):
    """They still count in the entropy of a step."""
    chain, ranking = Chain(len(LIMITS), seed=9), reference.normalized(1.0)
    unwritten = functools.partial(search_of_options, unwritten=[1])
    options = SearchOptions(beam_width=width)
    result = run_chain(run, unwritten, chain, options, Given(LIMITS, prefix=prefix))
    for row, limit in enumerate(LIMITS):
        rules = [reference.no_symbols([1], VOCABULARY)]
        if prefix is not None:
            rules.insert(0, reference.forced(PREFIX[row], VOCABULARY))
        language = reference.constrained(chain.after(row), rules)
        best = reference.beam_search(language, limit, END, width, ranking)
        for rank, hypothesis in enumerate(best):
            assert_found(result, row, rank, chain, hypothesis)
        if prefix is None:
            tokens = best[0].tokens
            steps = [np.asarray(chain.after(row)(tokens[:step])) for step in range(len(tokens))]
            expected = [-np.sum(np.exp(one) * one) for one in steps]
            found = result.token_entropies[row, 0, : len(tokens)]
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_n_gram_blocking_yields_where_it_would_leave_nothing(run):
    """Three of four tokens have been used, and the end is not allowed yet."""
    chain = Chain(3, seed=6)
    options = SearchOptions(beam_width=1, no_repeat_ngram=1, min_length=6)
    result = run_chain(run, search, chain, options, Given(np.array([6, 6, 6], "int32")))
    for ids in result.ids[:, 0]:
        assert sorted(ids[:3]) == [0, 1, 2] and END not in ids[:5]


def test_n_gram_blocking_allows_the_end_where_the_start_is_the_same_token(run):
    chain = Chain(1, seed=6)
    chain.log_probs[..., END] = 0.0

    def function(state, limits):
        options = SearchOptions(beam_width=1, no_repeat_ngram=1)
        places = {"start": END, "end": END, "time": 3, "source_time": SOURCE_TIME}
        return search(chain.step, state, limits, options, **places)

    result = run(function, chain.state(), np.array([3], "int32"))
    assert result.ids.tolist() == [[[END, 0, 0]]] and result.finished.all()


@modes.graph_is_slow
def test_a_prefix_longer_than_the_limit_is_cut_with_it(run):
    prefix = np.array([[2, 1, 1, 2, 2, 1], [1, 2, 0, 0, 0, 0]], "int32")
    for width in (1, 3):
        result = run_chain(
            run,
            search,
            Chain(2, seed=7),
            SearchOptions(beam_width=width),
            Given(np.array([3, 0], "int32"), prefix=prefix),
        )
        assert result.ids[:, 0].tolist() == [[2, 1, 1], [0, 0, 0]]
        assert result.finished[:, 0].tolist() == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_prefixes_without_a_column_and_with_ids_that_do_not_exist_change_nothing(run, width):
    chain, options = Chain(3, seed=8), SearchOptions(beam_width=width)
    limits = np.array([4, 2, 0], "int32")
    free = run_chain(run, search, chain, options, Given(limits))
    for prefix in (np.zeros((3, 0), "int32"), np.array([[99], [-1], [-7]], "int32")):
        found = run_chain(run, search, chain, options, Given(limits, prefix=prefix))
        for one, other in zip(found, free, strict=True):
            np.testing.assert_array_equal(one, other)


@modes.graph_is_slow
def test_a_prefix_that_ends_ends_the_hypothesis(run):
    prefix = np.array([[1, 3, 2]], "int32")
    options = SearchOptions(beam_width=3)
    given = Given(np.array([5], "int32"), prefix=prefix)
    result = run_chain(run, search, Chain(1), options, given)
    assert result.ids[0, 0].tolist() == [1, 3, 0, 0, 0]
    assert result.finished.tolist() == [[True, False, False]]
    assert result.scores[0, 1:].tolist() == [-1e9, -1e9]


@pytest.mark.slow
def test_they_run_under_xla():
    chain = Chain(len(LIMITS), seed=9)
    options = SearchOptions(beam_width=3, coverage_penalty=0.2, **CASES["all"][0])
    expected = run_chain(modes.eager, search, chain, options, given("all"), time=5)
    found = run_chain(modes.xla, search, chain, options, given("all"), time=5)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
