"""CTC in a search, compared with all paths of symbols in NumPy float64."""

import itertools

import numpy as np
import pytest
import reference
import reference_ctc
import tensorflow as tf
from modes import eager, graph
from numpy.testing import assert_allclose, assert_array_equal
from reference_search import beam_search, every_hypothesis, greedy_search, normalized, ranked
from steps import litert
from toy_chain import END, SOURCE_TIME, START, VOCABULARY, Chain, Given, run_chain

from keras_bahdanau.search import SearchOptions, search
from keras_bahdanau.search.ctc import CtcPrefixes, forced_log_probs, summed_products

TIME, LABELS = 5, (1, 2)
RANDOM = np.random.default_rng(5)
LOGITS = 2 * RANDOM.normal(size=(4, TIME, VOCABULARY))
LENGTHS = np.array([TIME, 4, 2, 0])
MASK = np.arange(TIME) < LENGTHS[:, None]
LOG_PROBS = reference.log_softmax(LOGITS)
LOG_PROBS[~MASK] = 7  # must never be read
TEXTS = [reference_ctc.texts(np.exp(LOG_PROBS[row, :length])) for row, length in enumerate(LENGTHS)]


def joint(chain, row, weight):
    """Return the log-probabilities of the next token in the form that `reference_search` uses."""
    of_attention = chain.after(row)

    def after(tokens):
        before = reference_ctc.log_prob(TEXTS[row], tokens, END)
        scores = np.full(VOCABULARY, -np.inf)
        for token in (*LABELS, END):
            with np.errstate(divide="ignore"):
                now = reference_ctc.log_prob(TEXTS[row], (*tokens, token), END)
            if now > -np.inf:
                scores[token] = (1 - weight) * of_attention(tokens)[token] + weight * (now - before)
        return scores

    return after


def found_by(run, chain, options, limits, prefix=None):
    def add_ctc(step, state, limits, options, **places):
        rows = tf.range(tf.shape(limits)[0])  # known only when the graph runs
        places["source_mask"] = tf.gather(MASK, rows)
        places["ctc_log_probs"] = tf.gather(tf.constant(LOG_PROBS, tf.float32), rows)
        return search(step, state, limits, options, **places)

    return run_chain(run, add_ctc, chain, options, Given(limits, prefix=prefix))


@pytest.mark.few(1)
@pytest.mark.parametrize("beam", [None, 3])
def test_every_prefix_has_the_probability_of_the_texts_that_begin_with_it(beam):
    prefixes = CtcPrefixes(tf.constant(LOG_PROBS, tf.float32), tf.constant(MASK), END)
    shape = (4,) if beam is None else (4, beam)
    step = tf.function(prefixes.step, autograph=False)

    def walked(text):
        state = prefixes.initial_state()
        if beam:
            state = tf.nest.map_structure(lambda leaf: tf.repeat(leaf[:, None], beam, 1), state)
        total = 0
        for token, following in itertools.pairwise((2, *text)):  # the start token 2 is also a label
            gained, state = step(tf.fill(shape, token), state)
            total += gained[..., following]
        return np.reshape(total, (4, -1))

    texts = [text for length in (1, 2, 3) for text in itertools.product(LABELS, repeat=length)]
    for text in [*texts, *((*text, END) for text in [(), *texts])]:
        found = walked(text)
        for row, by_text in enumerate(TEXTS):
            with np.errstate(divide="ignore"):
                expected = reference_ctc.log_prob(by_text, text, END)
            if expected > -np.inf:
                assert_allclose(found[row], expected, rtol=1e-5, atol=1e-5)
            else:
                assert (found[row] < -80).all() and np.isfinite(found[row]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("run", [eager, graph])
@pytest.mark.parametrize("weight", [0.3, 1.0])
@pytest.mark.parametrize("width", [1, 2])
def test_a_search_is_that_of_the_joint_scores(run, width, weight):
    chain, limits = Chain(4, seed=2), np.array([5, 4, 2, 0], "int32")
    options = SearchOptions(beam_width=width, ctc_weight=weight)
    found = found_by(run, chain, options, limits)
    for row, limit in enumerate(limits[:3]):
        after, ranking = joint(chain, row, weight), normalized(1.0)
        if width == 1:
            expected = greedy_search(after, limit, END)
        else:
            expected = beam_search(after, limit, END, width, ranking)[0]
        assert tuple(found.ids[row, 0, : len(expected.tokens)]) == expected.tokens
        assert_allclose(found.scores[row, 0], ranking(expected), rtol=1e-4)
        shown = found.alignment[row, 0, : len(expected.tokens)]
        assert_allclose(shown, chain.alignment(row, expected.tokens), atol=1e-6)
    assert found.lengths[3, 0] == 0 and np.isfinite(found.scores).all()


def test_a_beam_of_full_width_is_an_exhaustive_search():
    chain, limits = Chain(4, seed=3), np.array([4, 4, 3, 0], "int32")
    found = found_by(eager, chain, SearchOptions(beam_width=64, ctc_weight=0.4), limits)
    for row, limit in enumerate(limits[:3]):
        ranking = normalized(1.0)
        expected = ranked(every_hypothesis(joint(chain, row, 0.4), limit, END), ranking)
        expected = [hypothesis for hypothesis in expected if hypothesis.finished]
        assert len(expected) > 3
        for place, hypothesis in enumerate(expected):
            assert tuple(found.ids[row, place, : len(hypothesis.tokens)]) == hypothesis.tokens
            assert_allclose(found.scores[row, place], ranking(hypothesis), rtol=1e-4)


@pytest.mark.slow
def test_prefixes_and_rows_of_padding_change_no_other_row():
    chain, limits = Chain(4, seed=4), np.array([4, 4, 3, 0], "int32")
    prefix = np.array([[2, 1], [0, 0], [1, 0], [0, 0]], "int32")
    options = SearchOptions(beam_width=3, ctc_weight=0.5)
    found = found_by(eager, chain, options, limits, prefix)
    free = found_by(eager, chain, options, limits)
    assert_array_equal(found.ids[1], free.ids[1])
    assert_array_equal(found.scores[1], free.scores[1])
    assert tuple(found.ids[0, 0, :2]) == (2, 1) and found.ids[2, 0, 0] == 1
    tokens = tuple(found.ids[0, 0, : found.lengths[0, 0]])
    after = joint(chain, 0, 0.5)
    total = sum(after(tokens[:place])[token] for place, token in enumerate(tokens))
    assert_allclose(found.scores[0, 0], total / len(tokens), rtol=1e-4)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_padding_changes_no_score_of_a_token_that_has_no_path(length):
    """After as many tokens as frames, only the end has a path: other tokens are log 0."""
    text = [LABELS[step % 2] for step in range(length)]
    scores = []
    for time in (length, TIME, 64):
        log_probs = np.full((1, time, VOCABULARY), 7.0, "float32")
        log_probs[:, :length] = LOG_PROBS[:1, :length]
        prefixes = CtcPrefixes(tf.constant(log_probs), tf.range(time)[tf.newaxis] < length, END)
        state = prefixes.initial_state()
        for token in (START, *text):
            found, state = prefixes.step(tf.constant([token]), state)
        scores.append(found.numpy()[0])
    for padded in scores[1:]:
        assert_allclose(padded, scores[0], rtol=1e-6, atol=1e-5)
    assert abs(scores[0][END]) < 1e-5 and (np.delete(scores[0], END) < -80).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("run", [eager, graph])
def test_given_targets_get_the_score_of_their_paths(run):
    targets = np.array([[1, 2, END], [2, END, 0], [1, 2, 0], [END, 0, 0]], "int32")
    before = np.pad(targets[:, :-1], [(0, 0), (1, 0)], constant_values=2)

    def function(log_probs, mask, target_in, target_out):
        return forced_log_probs(log_probs, mask, target_in, target_out, END)

    found = run(function, LOG_PROBS.astype("float32"), MASK, before, targets)
    for row, target in enumerate(targets):
        expected = reference_ctc.log_prob(TEXTS[row], target[target > 0], END)
        assert_allclose(np.sum(found[row]), expected, rtol=1e-4, atol=1e-5)
        assert_array_equal(found[row][target == 0], 0)


def plain_prefix_scores(log_probs, text, end):
    """Compute log psi of a text's prefixes with algorithm 2 as published, in float64."""
    scores, last = [], None
    log_n = np.full(len(log_probs) + 1, -np.inf)
    log_b = np.concatenate([[0], np.cumsum(log_probs[:, 0])])
    for token in text:
        if token == end:
            return [*scores, np.logaddexp(log_n[-1], log_b[-1])]
        phi = log_b if token == last else np.logaddexp(log_b, log_n)
        new_n, new_b, psi = np.full_like(log_n, -np.inf), np.full_like(log_b, -np.inf), -np.inf
        for t, row in enumerate(log_probs, 1):
            new_n[t] = np.logaddexp(new_n[t - 1], phi[t - 1]) + row[token]
            new_b[t] = np.logaddexp(new_b[t - 1], new_n[t - 1]) + row[0]
            psi = np.logaddexp(psi, phi[t - 1] + row[token])
        log_n, log_b, last = new_n, new_b, token
        scores.append(psi)
    return scores


@pytest.mark.few(1)
@pytest.mark.parametrize("sharpness", [1, 8, 40])
def test_a_long_source_neither_underflows_nor_loses_digits(sharpness):
    random = np.random.default_rng(sharpness)
    logits = random.normal(size=(600, 30))
    text = random.integers(4, 30, 25).tolist()
    for place, token in zip(range(10, 600, 24), text, strict=False):  # like a well-trained encoder
        logits[:, 0] += 0.05
        logits[place : place + 2, token] += 6
    log_probs = reference.log_softmax(sharpness / 4 * logits)
    prefixes = CtcPrefixes(
        tf.constant(log_probs[None], tf.float32), tf.ones((1, 600), tf.bool), END
    )
    state, scores = prefixes.initial_state(), [0.0]
    step = tf.function(prefixes.step, autograph=False)
    for token, following in itertools.pairwise((2, *text, END)):
        gained, state = step(tf.constant([token]), state)
        scores.append(scores[-1] + float(gained[0, following]))
        assert np.isfinite(gained).all()
    expected = plain_prefix_scores(log_probs, (*text, END), END)
    assert expected[-1] < -10
    assert_allclose(scores[1:], expected, rtol=1e-4, atol=1e-3)


def test_the_sums_of_products_are_those_of_the_loop():
    random = np.random.default_rng(6)
    log_a, log_b = 3 * random.normal(size=(2, 4, 13))
    x, expected = np.zeros(4), []
    for t in range(13):
        x = np.exp(log_a[:, t]) * x + np.exp(log_b[:, t])
        expected.append(np.log(x))
    found = summed_products(*(tf.constant(each, tf.float32) for each in (log_a, log_b)))
    assert_allclose(found, np.transpose(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_it_converts_to_litert(width):
    chain = Chain(4, seed=1)
    options = SearchOptions(beam_width=width, ctc_weight=0.3, min_length=2)

    def function(row, limits, mask, log_probs):
        return search(
            chain.step,
            {"row": row, "t": 0 * row},
            limits,
            options,
            start=START,
            end=END,
            time=5,
            source_time=SOURCE_TIME,
            source_mask=mask,
            ctc_log_probs=log_probs,
        )

    given = (
        np.arange(4, dtype="int32"),
        np.array([5, 3, 2, 0], "int32"),
        MASK,
        LOG_PROBS.astype("float32"),
    )
    for one, other in zip(litert(function, *given), function(*given), strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-5)
