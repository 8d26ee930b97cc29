"""Beam search compared with plain Python and with all possible hypotheses."""

import modes
import numpy as np
import pytest
import reference
from keras import ops
from toy import END, VOCABULARY, Language, assert_found, assert_same_rows, run_search

from keras_bahdanau.search import SearchOptions, beam_search, greedy_search, search
from keras_bahdanau.search.result import finished_first

EXPONENTS = pytest.mark.parametrize("exponent", [0.0, 0.6, 2.0])
LIMITS = [4, 4, 4, 3, 2, 1, 0]


def options(width, exponent=1.0):
    return SearchOptions(beam_width=width, length_normalization=exponent)


def hypotheses_within(limit):
    """Return the number of hypotheses: those that end at each step, and those that are cut."""
    return sum((VOCABULARY - 1) ** t for t in range(limit + 1)) if limit else 1


@pytest.mark.few(1)
@pytest.mark.parametrize(("width", "exponent"), [(1, 1.0), (2, 0.0), (3, 0.6), (5, 1.0), (5, 2.0)])
def test_it_finds_what_plain_python_finds(run, width, exponent):
    language = Language(7, seed=width)
    result = run_search(run, beam_search, language, LIMITS, options(width, exponent))
    for row, limit in enumerate(LIMITS):
        expected = reference.beam_search(language.after(row), limit, END, width, exponent)
        for rank, hypothesis in enumerate(expected):
            assert_found(result, row, rank, language, hypothesis, exponent)


@pytest.mark.few(1)
@EXPONENTS
def test_a_beam_as_wide_as_all_hypotheses_finds_every_one(run, exponent):
    limits, width = [4, 4, 3, 2, 1, 0], hypotheses_within(4)
    language = Language(6, seed=1)
    result = run_search(run, beam_search, language, limits, options(width, exponent))
    for row, limit in enumerate(limits):
        expected = reference.exhaustive_search(
            language.after(row), limit, END, VOCABULARY, exponent
        )
        assert len(expected) == hypotheses_within(limit)
        for rank, hypothesis in enumerate(expected):
            assert_found(result, row, rank, language, hypothesis, exponent)
    assert np.isfinite(result.scores).all()


def test_a_beam_of_one_equals_greedy_search(run):
    language = Language(7, seed=2)
    beam = run_search(run, beam_search, language, LIMITS, options(1))
    greedy = run_search(run, greedy_search, language, LIMITS, options(1))
    for one, other in zip(beam, greedy, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(("width", "method"), [(1, greedy_search), (2, beam_search)])
def test_the_width_chooses_the_method(width, method):
    language = Language(7, seed=3)
    found = run_search(modes.eager, search, language, LIMITS, options(width))
    expected = run_search(modes.eager, method, language, LIMITS, options(width))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def fixed(table):
    """Return a search whose log-probs depend only on the last token: `table[token + 1]`."""

    def step(tokens, state):
        log_probs = ops.take(ops.log(ops.cast(table, "float32")), tokens + 1, axis=0)
        return log_probs, ops.zeros((*ops.shape(tokens), 1)), state

    return lambda limits: beam_search(
        step,
        limits,
        limits,
        options(2, 0.0),
        start=-1,
        end=END,
        time=ops.max(limits),
        source_time=1,
    )


def test_a_finished_hypothesis_keeps_its_score_until_the_search_ends(run):
    """One ends at once with probability 0.6; the other continues with token 0 and gets 0.4."""
    always_0 = [1 - 2e-6, 1e-6, 1e-6]
    result = run(fixed([[0.4, 1e-6, 0.6], always_0, always_0, always_0]), np.array([6], "int32"))
    assert result.ids.tolist() == [[[2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]]
    assert result.lengths.tolist() == [[1, 6]]
    assert result.finished.tolist() == [[True, False]]
    np.testing.assert_allclose(np.exp(result.scores), [[0.6, 0.4]], rtol=1e-4)


@modes.graph_is_slow
def test_a_finished_hypothesis_gives_way_to_better_ones(run):
    """After token 0, there are two continuations that are better than ending at once."""
    table = [[0.8, 0.1, 0.1], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
    result = run(fixed(table), np.array([2], "int32"))
    assert result.ids.tolist() == [[[0, 0], [0, 1]]]
    np.testing.assert_allclose(np.exp(result.scores), [[0.32, 0.32]], rtol=1e-5)


@modes.graph_is_slow
def test_the_more_probable_cut_hypothesis_comes_after_the_finished_one(run):
    table = [[0.6, 0.1, 0.3], [0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.8, 0.1, 0.1]]
    result = run(fixed(table), np.array([1], "int32"))
    assert result.ids.tolist() == [[[2], [0]]]
    assert result.finished.tolist() == [[True, False]]
    np.testing.assert_allclose(np.exp(result.scores), [[0.3, 0.6]], rtol=1e-5)


@modes.graph_is_slow
def test_the_nbest_list_is_sorted_finished_before_cut_each_once(run):
    result = run_search(run, beam_search, Language(40), [4] * 40, options(6, 0.6))
    assert result.finished.any() and not result.finished.all()
    for scores, finished in zip(result.scores, result.finished, strict=True):
        assert list(finished) == sorted(finished, reverse=True)
        for part in (scores[finished], scores[~finished]):
            assert list(part) == sorted(part, reverse=True)
    for ids, lengths in zip(result.ids, result.lengths, strict=True):
        assert len({(*row[:length],) for row, length in zip(ids, lengths, strict=True)}) == 6


@pytest.mark.parametrize("beam", [1, 4, 5, 33])
def test_finished_places_come_first_and_equals_keep_their_order(run, beam):
    finished = np.random.default_rng(beam).random((6, beam)) < np.linspace(0, 1, 6)[:, None]
    expected = np.argsort(~finished, axis=1, kind="stable")
    found = run(lambda places: finished_first(ops.reshape(places, (6, beam))), finished)
    np.testing.assert_array_equal(found, expected)


@modes.graph_is_slow
@pytest.mark.few(1)
@EXPONENTS
def test_places_without_a_hypothesis_come_last(run, exponent):
    language, width = Language(3, seed=4), 12
    limits = [2, 1, 0]
    result = run_search(run, beam_search, language, limits, options(width, exponent))
    assert np.isfinite(result.scores).all()
    for row, limit in enumerate(limits):
        expected = reference.exhaustive_search(
            language.after(row), limit, END, VOCABULARY, exponent
        )
        for rank, hypothesis in enumerate(expected):
            assert_found(result, row, rank, language, hypothesis, exponent)
        rest = slice(len(expected), None)
        assert (result.scores[row, rest] == -1e9).all()
        assert not (result.ids[row, rest].any() or result.lengths[row, rest].any())


@pytest.mark.few(1)
def test_a_row_is_the_same_in_any_batch_and_buffer(run):
    language, limits = Language(5, seed=5), np.array([2, 4, 0, 3, 1])
    whole = run_search(run, beam_search, language, limits, options(3), time=7)
    assert whole.ids.shape == (5, 3, 7)
    order = [3, 1, 0, 4, 2]
    turned = run_search(run, beam_search, language, limits[order], options(3), rows=order)
    assert_same_rows(whole, order, turned)
    for row in (1, 2):
        alone = run_search(
            run, beam_search, language, limits[[row]], options(3), rows=[row], time=7
        )
        assert_same_rows(whole, [row], alone)


def test_rows_without_room_give_empty_finished_results(run):
    result = run_search(run, beam_search, Language(2), [0, 0], options(3), time=7)
    assert result.finished.all() and np.isfinite(result.scores).all()
    assert not (result.ids.any() or result.lengths.any() or result.alignment.any())
    np.testing.assert_array_equal(result.scores[:, 0], 0)


@pytest.mark.slow
def test_a_wider_beam_is_never_worse_where_ends_are_certain(run):
    """If all hypotheses have the maximum length, a wider beam only adds candidates."""
    language = Language(20, seed=6)
    language.log_probs[..., END] = -30.0
    best = [
        run_search(run, beam_search, language, [4] * 20, options(width, 0.0)).scores[:, 0]
        for width in (1, 16)
    ]
    assert (best[1] >= best[0] - 1e-6).all() and (best[1] > best[0] + 1e-3).any()


def test_a_state_of_any_structure_and_dtype_moves_with_its_hypothesis(run):
    """The step stores its tokens in the state in three forms and returns them as weights."""

    def step(tokens, state):
        last, (trail, flag) = state["last"], state["rest"]
        trail = ops.concatenate([trail[..., 1:], ops.expand_dims(tokens, axis=-1)], axis=-1)
        weights = ops.concatenate(
            [
                ops.cast(trail, "float32"),
                ops.expand_dims(ops.cast(last, "float32"), axis=-1),
                ops.expand_dims(ops.cast(flag, "float32"), axis=-1),
            ],
            axis=-1,
        )
        odds = ops.concatenate(
            [ops.cast(trail[..., 1:], "float32"), ops.cast(weights, "float32")], -1
        )
        logits = ops.sin(odds @ ops.reshape(ops.arange(15, dtype="float32"), (5, 3)) + 1.0)
        state = {"last": ops.cast(tokens, "float16"), "rest": (trail, ops.equal(tokens, 1))}
        return ops.log_softmax(logits, axis=-1), weights, state

    def function(trail, last, limits):
        state = {"last": last, "rest": (trail, ops.equal(limits, -1))}
        return beam_search(step, state, limits, options(3), start=0, end=END, time=5, source_time=4)

    limits = np.array([5, 5], "int32")
    result = run(function, np.zeros((2, 2), "int32"), np.zeros(2, "float16"), limits)
    for ids, lengths, alignment in zip(result.ids, result.lengths, result.alignment, strict=True):
        for tokens, length, weights in zip(ids, lengths, alignment, strict=True):
            said = np.concatenate([[0, 0, 0], tokens])
            for t in range(length):
                before, previous = said[t + 1 : t + 3], said[t + 1]
                expected = [*before, previous, previous == 1]
                np.testing.assert_array_equal(weights[t], expected)


@pytest.mark.slow
def test_it_runs_under_xla():
    language = Language(7, seed=7)
    expected = run_search(modes.eager, beam_search, language, LIMITS, options(3), time=4)
    found = run_search(modes.xla, beam_search, language, LIMITS, options(3), time=4)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_dtypes_are_those_of_the_contract(run):
    result = run_search(run, beam_search, Language(2), [3, 1], options(3))
    found = [field.dtype.name for field in result]
    assert found == ["int32", "int32", "float32", "float32", "bool", "float32", "float32"]


def test_a_long_search_of_a_model_sure_of_itself_stays_finite(run):
    """The search takes hundreds of steps, with log-probs near the smallest of a float32 softmax."""

    def step(tokens, state):
        log_probs = ops.zeros((*ops.shape(tokens), 3)) + ops.convert_to_tensor([0.0, -100.0, -1e4])
        return log_probs, ops.zeros((*ops.shape(tokens), 1)), state

    def function(limits):
        return beam_search(
            step, limits, limits, options(5), start=-1, end=END, time=256, source_time=1
        )

    result = run(function, np.array([256, 3], "int32"))
    assert np.isfinite(result.scores).all()
    assert not result.ids[:, 0].any()
    np.testing.assert_array_equal(result.scores[:, 0], 0)
