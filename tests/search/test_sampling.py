"""Sampling compared with the exact distributions."""

import modes
import numpy as np
import pytest
import reference_search as reference
from toy import assert_same_rows
from toy_chain import END, VOCABULARY, Chain, Given, run_chain

from keras_bahdanau.search import SearchOptions, search
from keras_bahdanau.search.sequential import draw

ODDS = np.array([0.1, 0.4, 0.05, 0.25, 0.2])
FILTERS = [
    {"temperature": 1.0},
    {"temperature": 0.5},
    {"temperature": 3.0},
    {"top_k": 1},
    {"top_k": 3},
    {"top_k": 99},
    {"top_p": 0.05},
    {"top_p": 0.5},
    {"top_p": 0.9},
    {"top_p": 1.0},
    {"temperature": 2.0, "top_k": 4, "top_p": 0.7},
]
LIMITS = np.array([4, 3, 2, 1, 0], "int32")


@pytest.mark.few(3)
@pytest.mark.parametrize("settings", FILTERS, ids=str)
def test_evenly_spread_noise_draws_each_token_as_often_as_it_should(run, settings):
    count = 20_000
    uniforms = (np.arange(count, dtype="float32") / count).reshape(2, -1)
    log_probs = np.broadcast_to(np.log(ODDS).astype("float32"), (*uniforms.shape, len(ODDS)))
    options = SearchOptions(**settings)
    tokens, gained = run(lambda *args: draw(*args, options), log_probs, uniforms)
    shares = np.bincount(tokens.ravel(), minlength=len(ODDS)) / count
    expected = reference.filtered(ODDS, **settings)
    np.testing.assert_allclose(shares, expected, atol=2 / count)
    np.testing.assert_array_equal(shares > 0, expected > 0)
    np.testing.assert_allclose(gained, np.log(ODDS)[tokens], rtol=1e-6)


def test_equals_are_not_drawn_beyond_the_k_that_are_allowed(run):
    log_probs, uniforms = (
        np.zeros((1000, 6), "float32"),
        np.linspace(0, 0.9999, 1000, dtype="float32"),
    )
    for settings, drawn in (({"top_k": 2}, 2), ({"top_p": 0.49}, 3)):
        options = SearchOptions(**settings)
        tokens, _ = run(lambda *args, options=options: draw(*args, options), log_probs, uniforms)
        assert len(set(tokens)) == drawn


@pytest.mark.parametrize("settings", [{"temperature": 1e-9}, {"temperature": 1e3}, {"top_p": 1}])
def test_extreme_settings_and_log_probs_draw_what_is_possible(run, settings):
    log_probs = np.array([[-1e30, -0.5, -1e30, -1.0]] * 3, "float32")
    uniforms = np.array([0.0, 0.5, 1.0], "float32")
    options = SearchOptions(**settings)
    tokens, gained = run(lambda *args: draw(*args, options), log_probs, uniforms)
    assert set(tokens) <= ({1} if settings.get("temperature") == 1e-9 else {1, 3})
    assert (gained >= -1.0).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("settings", [{"temperature": 1.0}, {"temperature": 0.7, "top_p": 0.8}])
def test_whole_hypotheses_come_as_often_as_they_should(settings):
    """Chi-square test; a correct sampler exceeds five deviations once in a million cases."""
    times, limit, chain = 10, 3, Chain(2, seed=1)
    options = SearchOptions(beam_width=1000, seed=7, **settings)
    draws, rows = times * options.beam_width, np.repeat([0, 1], times)
    limits = np.full(len(rows), limit, "int32")
    result = run_chain(modes.graph, search, chain, options, Given(limits), rows)
    for row in range(2):

        def after(tokens, row=row):
            odds = reference.filtered(np.exp(chain.after(row)(tokens)), **settings)
            return [np.log(p) if p > 0 else -np.inf for p in odds]

        every = reference.every_hypothesis(after, limit, END)
        assert sum(np.exp(h.log_prob) for h in every) == pytest.approx(1)
        found = {}
        drawn = (field[rows == row].reshape(draws, -1) for field in (result.ids, result.lengths))
        for ids, (length,) in zip(*drawn, strict=True):
            found[tuple(ids[:length])] = found.get(tuple(ids[:length]), 0) + 1
        assert set(found) <= {h.tokens for h in every}
        expected = np.array([draws * np.exp(h.log_prob) for h in every])
        counts = np.array([found.get(h.tokens, 0) for h in every])
        often = expected >= 5
        distance = ((counts - expected) ** 2 / expected)[often].sum()
        freedom = often.sum() - 1
        assert distance < freedom + 5 * np.sqrt(2 * freedom)


def test_a_draw_fits_together_and_has_the_score_of_the_model(run):
    chain = Chain(5, seed=2)
    options = SearchOptions(beam_width=6, temperature=1.5, top_k=3)
    result = run_chain(run, search, chain, options, Given(LIMITS))
    for row, limit in enumerate(LIMITS):
        for rank in range(6):
            length = result.lengths[row, rank]
            tokens = tuple(result.ids[row, rank, :length])
            after = chain.after(row)
            log_prob = sum(after(tokens[:t])[token] for t, token in enumerate(tokens))
            score = log_prob / max(length, 1)
            np.testing.assert_allclose(result.scores[row, rank], score, rtol=1e-5, atol=1e-7)
            assert result.finished[row, rank] == (limit == 0 or tokens[-1] == END)
            assert END not in tokens[:-1] and not result.ids[row, rank, length:].any()
            weights = chain.alignment(row, tokens)
            np.testing.assert_allclose(result.alignment[row, rank, :length], weights, rtol=1e-5)
            assert not result.alignment[row, rank, length:].any()


def test_the_seed_decides_and_nothing_else():
    def found(seed, mode=modes.graph):
        options = SearchOptions(beam_width=20, temperature=1.0, seed=seed)
        return run_chain(mode, search, Chain(5, seed=3), options, Given(LIMITS)).ids

    one = found(1)
    np.testing.assert_array_equal(found(1, modes.eager), one)
    assert (found(2, modes.eager) != one).any()


def test_given_noise_makes_a_row_the_same_in_any_batch():
    chain, order = Chain(5, seed=4), np.array([3, 0, 4, 1])
    uniforms = np.random.default_rng(0).random((5, 3, 9), "float32")
    options = SearchOptions(beam_width=3, top_p=0.9)
    whole = run_chain(modes.eager, search, chain, options, Given(LIMITS, uniforms=uniforms), time=7)
    given = Given(LIMITS[order], uniforms=uniforms[order])
    turned = run_chain(modes.graph, search, chain, options, given, rows=order)
    assert_same_rows(whole, order, turned)


def test_draws_keep_to_constraints():
    chain, prefix = Chain(2, seed=5), np.array([[2, 1], [1, 0]], "int32")
    options = SearchOptions(beam_width=200, temperature=2.0, min_length=3, no_repeat_ngram=1)
    limits = np.array([5, 5], "int32")
    given = Given(limits, prefix=prefix)
    result = run_chain(modes.graph, search, chain, options, given)
    assert (result.ids[0, :, :2] == [2, 1]).all() and (result.ids[1, :, 0] == 1).all()
    for ids, length in zip(result.ids.reshape(-1, 5), result.lengths.ravel(), strict=True):
        tokens = list(ids[:length])
        assert length >= 3 and len(set(tokens)) == length
    assert len({tuple(ids) for ids in result.ids[1]}) == 1 + VOCABULARY - 2 + 1


def test_the_coverage_penalty_leaves_draws_in_their_order():
    chain, limits = Chain(5, seed=6), Given(LIMITS)
    plain, covered = (
        run_chain(
            modes.eager,
            search,
            chain,
            SearchOptions(beam_width=9, temperature=1.0, coverage_penalty=factor),
            limits,
        )
        for factor in (0.0, 1.0)
    )
    np.testing.assert_array_equal(plain.ids, covered.ids)
    assert (covered.scores[:4] < plain.scores[:4]).all()
    np.testing.assert_array_equal(covered.scores[4], plain.scores[4])
