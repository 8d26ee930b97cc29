"""Entropies of tokens in special cases; the tests of beam search compare them with NumPy."""

import extract
import numpy as np
import pytest
import reference
import reference_search
from decoders import new_decoder
from toy import Language, run_search
from toy_chain import END, VOCABULARY, Chain, Given, run_chain

from keras_bahdanau.layers.distribution import FORBIDDEN, as_distribution, softmax_distribution
from keras_bahdanau.models import Encoder, Ensemble, Seq2Seq
from keras_bahdanau.search import SearchOptions, sample, search, search_model


def of_distribution(log_probs):
    """Return -sum q log q of a renormalized distribution, in float64."""
    kept = np.array([one for one in log_probs if one > -np.inf])
    kept = kept - np.log(np.exp(kept).sum())
    return -(np.exp(kept) * kept).sum()


def test_entropy_is_that_of_numpy_in_nats():
    random = np.random.default_rng(0)
    logits = 4 * random.normal(size=(3, 2, 500))
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    expected = [[of_distribution(row) for row in rows] for rows in log_probs]
    found = softmax_distribution(logits.astype("float32"))
    np.testing.assert_allclose(found.log_probs, log_probs, atol=1e-5)
    np.testing.assert_allclose(found.entropy, expected, atol=1e-5)
    assert as_distribution(found) is found
    again = as_distribution(log_probs.astype("float32"))
    np.testing.assert_allclose(again.entropy, expected, atol=1e-5)
    even = np.full((1, 8), -np.log(8), "float32")
    np.testing.assert_allclose(as_distribution(even).entropy, [np.log(8)], rtol=1e-6)


def test_what_is_forbidden_counts_for_nothing_and_one_sure_token_has_none():
    log_probs = np.log(np.array([[0.3, 0.1, 0.6], [0.3, 0.1, 0.6], [0.2, 0.7, 0.1]], "float32"))
    log_probs[0, 2] = log_probs[1, :2] = FORBIDDEN
    log_probs[2] -= 200  # its probabilities underflow in float32
    found = np.array(as_distribution(log_probs).entropy)
    np.testing.assert_allclose(found[0], of_distribution(np.log([0.75, 0.25])), rtol=1e-5)
    np.testing.assert_array_equal(found[1], 0)
    np.testing.assert_allclose(found[2], of_distribution(np.log([0.2, 0.7, 0.1])), rtol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [2, 1])
def test_under_constraints_it_is_that_of_the_tokens_that_are_allowed(run, width):
    chain, prefix = Chain(3, seed=1), np.array([[1, 0], [2, 1], [0, 0]], "int32")
    options = SearchOptions(beam_width=width, min_length=4)
    given = Given(np.array([5, 5, 5], "int32"), prefix=prefix)
    result = run_chain(run, search, chain, options, given)
    for row in range(3):
        rules = [
            reference_search.forced(prefix[row], VOCABULARY),
            reference_search.min_length(4, END, VOCABULARY),
        ]
        after = reference_search.constrained(chain.after(row), rules)
        tokens = tuple(result.ids[row, 0, : result.lengths[row, 0]].tolist())
        gained = [chain.after(row)(tokens[:t])[token] for t, token in enumerate(tokens)]
        expected = [of_distribution(after(tokens[:t])) for t in range(len(tokens))]
        length = len(tokens)
        np.testing.assert_allclose(result.token_log_probs[row, 0, :length], gained, rtol=1e-5)
        np.testing.assert_allclose(
            result.token_entropies[row, 0, :length], expected, rtol=1e-4, atol=1e-6
        )
    assert result.token_entropies[0, 0, 0] == 0  # a given token


def test_a_draw_has_the_values_of_the_model_not_those_of_what_was_left_to_draw_from(run):
    language, limits = Language(3, seed=2), [4, 3, 0]
    options = SearchOptions(beam_width=2, temperature=0.5, top_k=2, length_normalization=0.0)
    result = run_search(run, sample, language, limits, options)
    np.testing.assert_allclose(result.token_log_probs.sum(axis=-1), result.scores, rtol=1e-5)
    for row in range(2):
        tokens = tuple(result.ids[row, 1, : result.lengths[row, 1]].tolist())
        expected = [of_distribution(language.after(row)(tokens[:t])) for t in range(len(tokens))]
        found = result.token_entropies[row, 1]
        np.testing.assert_allclose(found[: len(tokens)], expected, rtol=1e-4)
        assert not found[len(tokens) :].any()


def model_of(seed, **options):
    model = Seq2Seq(Encoder(7, 4, 3), new_decoder(6, 4, 5, **options))
    model.build()
    return extract.randomize(model, seed)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Ensemble([model_of(0), model_of(1, attention="general")]), id="pair"),
        pytest.param(lambda: model_of(2, when="apart", cell="ssru"), id="ssru"),
    ],
)
def test_values_of_tokens_are_those_of_the_whole_target_and_sum_to_its_log_probability(make):
    model, source = make(), np.array([[3, 1, 4], [5, 0, 0]], "int32")
    options = SearchOptions(beam_width=2, max_length=4, length_normalization=0.0)
    result = search_model(model, source, options, start=2, end=3)
    ids, lengths, found, entropies = (
        np.concatenate(getattr(result, name))  # the rows of both beams
        for name in ("ids", "lengths", "token_log_probs", "token_entropies")
    )
    target_in = np.pad(ids, ((0, 0), (1, 0)), constant_values=2)[:, :-1]
    logits = np.array(model((np.repeat(source, 2, axis=0), target_in)), "float64")
    expected = reference.log_softmax(logits)  # -> (4, target_time, 6)
    for row, length in enumerate(lengths):
        of_tokens = expected[row, np.arange(length), ids[row, :length]]
        np.testing.assert_allclose(found[row, :length], of_tokens, atol=1e-5)
        assert np.ravel(result.scores)[row] == pytest.approx(of_tokens.sum(), abs=1e-5)
        doubts = [of_distribution(one) for one in expected[row, :length]]
        np.testing.assert_allclose(entropies[row, :length], doubts, atol=1e-5)
