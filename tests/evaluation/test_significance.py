"""Bootstrap: the interval of a score, and the comparison of two systems on the same sentences."""

import math

import numpy as np
import pytest
import sacrebleu

from keras_bahdanau.evaluation import compare, interval, metrics_of
from keras_bahdanau.evaluation.significance import samples_for, sign_test

RANDOM = np.random.default_rng(0)
REFERENCES = [" ".join(RANDOM.choice(list("abcdefgh"), 9)) for _ in range(60)]


def spoilt(share, seed):
    random = np.random.default_rng(seed)
    return [
        " ".join("z" if random.random() < share else word for word in line.split())
        for line in REFERENCES
    ]


def test_a_much_better_system_is_so_by_more_than_chance():
    better, worse = spoilt(0.05, 1), spoilt(0.3, 2)
    bleu, chrf = compare(better, worse, REFERENCES, samples=200)
    assert (bleu.metric, chrf.metric) == ("BLEU", "chrF2")
    assert bleu.score == pytest.approx(sacrebleu.corpus_bleu(better, [REFERENCES]).score)
    assert bleu.baseline == pytest.approx(sacrebleu.corpus_bleu(worse, [REFERENCES]).score)
    assert chrf.baseline == pytest.approx(sacrebleu.corpus_chrf(worse, [REFERENCES]).score)
    assert bleu.p_value < 0.02 and chrf.p_value < 0.02
    mean, half = bleu.score_range
    assert abs(mean - bleu.score) < half
    assert f"{bleu.score:.2f}" in str(bleu) and "bs:200" in str(bleu)


def test_systems_alike_differ_by_chance():
    bleu, _ = compare(spoilt(0.2, 1), spoilt(0.2, 2), REFERENCES, samples=200)
    assert bleu.p_value > 0.05


def drawn(counts, samples):
    """Return scores in percent for corpora sampled from sentences with counts `(sentences, 2)`."""
    rows = np.random.default_rng(12345).choice(len(counts), (samples, len(counts)))
    errors, lengths = np.asarray(counts, "float64")[rows].sum(axis=1).T
    return 100 * errors / lengths


def test_error_rates_are_compared_by_a_bootstrap_of_their_counts():
    """No word is inserted or deleted, so each error is a "z" among nine words."""
    better, worse = spoilt(0.2, 1), spoilt(0.25, 2)
    wer, exact = compare(better, worse, REFERENCES, samples=400, metrics=["wer", "exact"])
    faults = [np.array([(line.split().count("z"), 9) for line in each]) for each in (better, worse)]
    equal = [np.stack([each[:, 0] == 0, each[:, 1] == 9], axis=1) for each in faults]
    for found, (own, other) in ((wer, faults), (exact, equal)):
        own_scores, other_scores = drawn(own, 400), drawn(other, 400)
        differences = np.abs(own_scores - other_scores)
        real = abs(found.score - found.baseline)
        chance = np.mean(differences - differences.mean() > real)
        assert found.score == pytest.approx(100 * own[:, 0].sum() / own[:, 1].sum())
        assert found.baseline == pytest.approx(100 * other[:, 0].sum() / other[:, 1].sum())
        assert found.score_range[0] == pytest.approx(own_scores.mean())
        assert found.baseline_range[0] == pytest.approx(other_scores.mean())
        assert found is exact or found.p_value == pytest.approx(chance, abs=3 / 400)
    assert (wer.metric, exact.metric) == ("WER", "exact")
    assert "lower is better" in str(wer) and "lower is better" not in str(exact)


@pytest.mark.parametrize("first, second", [(0, 0), (1, 0), (0, 3), (4, 4), (2, 9), (31, 60)])
def test_texts_that_are_right_or_wrong_are_compared_by_the_exact_sign_test(first, second):
    count = first + second
    tail = sum(math.comb(count, hits) for hits in range(min(first, second) + 1))
    p_value = min(1.0, 2 * tail / 2**count)
    assert sign_test(first, second) == pytest.approx(p_value)
    own = ["right"] * first + ["wrong"] * second + ["right"] * 10 + ["wrong"] * 5
    others = ["wrong"] * first + ["right"] * second + ["right"] * 10 + ["wrong"] * 5
    answers = ["right"] * len(own)
    found = compare(own, others, answers, samples=10, metrics=["exact", "ser", "exprate", "wer"])
    assert [one.p_value for one in found[:3]] == [pytest.approx(p_value)] * 3
    signed = ["test:sign" in one.signature for one in found]
    assert signed == [True, True, True, False]


def test_the_sign_test_of_many_texts_neither_over_nor_underflows():
    assert sign_test(250_000, 250_000) == 1.0
    assert 0 <= sign_test(1_000, 200_000) < 1e-300
    # The normal approximation of (difference - 1) / sqrt(count), with Yates' correction.
    deviation = (1_001 - 1) / math.sqrt(100_001)
    assert sign_test(49_500, 50_501) == pytest.approx(math.erfc(deviation / math.sqrt(2)), rel=0.01)


def test_translation_edit_rates_are_compared_too():
    better, worse = spoilt(0.05, 1), spoilt(0.3, 2)
    (ter,) = compare(better, worse, REFERENCES, samples=50, metrics=["ter"])
    assert ter.score == pytest.approx(sacrebleu.corpus_ter(better, [REFERENCES]).score)
    assert (ter.metric, ter.higher_is_better) == ("TER", False) and ter.p_value < 0.05


def test_case_and_tokenization_are_the_users():
    upper = [line.upper() for line in REFERENCES]
    settings = {"samples": 10, "tokenize": "none", "lowercase": True}
    bleu, chrf = compare(upper, spoilt(0.2, 1), REFERENCES, **settings)
    assert bleu.score == pytest.approx(100) and chrf.score == pytest.approx(100)
    assert "case:lc" in bleu.signature and "tok:none" in bleu.signature


@pytest.mark.parametrize("others", [[], REFERENCES[1:]])
def test_other_sentences_are_refused(others):
    with pytest.raises(ValueError, match=r"Received: len\(hypotheses\)=60, len\(baselines\)="):
        compare(REFERENCES, others, REFERENCES)


def quantile_of_binomial(size, probability, share):
    """Return the smallest number of hits whose cumulative probability is at least `share`."""
    total = 0.0
    for hits in range(size + 1):
        total += math.comb(size, hits) * probability**hits * (1 - probability) ** (size - hits)
        if total >= share:
            return hits


def test_a_large_corpus_has_fewer_samples_and_too_large_a_one_none():
    assert [samples_for(count) for count in (10, 50_000, 100_000)] == [1000, 1000, 500]
    with pytest.raises(ValueError, match="at most 500,000 sentences. Received: 500,001 sentences"):
        samples_for(500_001)


def test_the_interval_of_exact_matches_is_that_of_the_binomial_distribution():
    texts = ["a"] * 60 + ["b"] * 40
    (exact,) = metrics_of(["exact"])
    low, high = interval(exact, texts, ["a"] * 100)
    assert low == pytest.approx(quantile_of_binomial(100, 0.6, 0.025), abs=1)
    assert high == pytest.approx(quantile_of_binomial(100, 0.6, 0.975), abs=1)
    assert (low, high) == interval(exact, texts, ["a"] * 100)
    assert interval(exact, ["a"] * 9, ["a"] * 9) == (100.0, 100.0)


def test_the_interval_of_bleu_is_that_of_its_comparison():
    better, worse = spoilt(0.05, 1), spoilt(0.3, 2)
    (bleu,) = metrics_of(["bleu"])
    low, high = interval(bleu, better, REFERENCES)
    (compared,) = compare(better, worse, REFERENCES, metrics=["bleu"])
    mean, half = compared.score_range
    assert (low + high) / 2 == pytest.approx(mean, abs=half / 4)
    assert (high - low) / 2 == pytest.approx(half, rel=0.15)


def test_systems_are_compared_with_the_nearest_of_several_answers():
    several = [[line, "never"] if row % 2 else [line] for row, line in enumerate(REFERENCES)]
    alone = compare(spoilt(0.2, 1), spoilt(0.25, 2), REFERENCES, samples=100, metrics=["wer"])
    both = compare(spoilt(0.2, 1), spoilt(0.25, 2), several, samples=100, metrics=["wer"])
    assert both[0].score == alone[0].score and both[0].p_value == alone[0].p_value
    with pytest.raises(ValueError, match="best text for each source. Received: metrics=.'top2'."):
        compare(REFERENCES, REFERENCES, REFERENCES, metrics=["exact", "top2"])


def test_metrics_of_one_kind_are_compared_side_by_side():
    texts = ["a b", "c", "d"]
    exact, nearly = compare(
        texts, ["a", "c", "e"], ["a b", "d", "d"], samples=10, metrics=["exprate", "exprate1"]
    )
    assert (exact.score, exact.baseline) == (pytest.approx(200 / 3), 0)
    assert (nearly.score, nearly.baseline) == (100, 100)


def test_samples_that_would_take_all_memory_are_refused():
    with pytest.raises(ValueError, match="Received: samples=100,000 of 501 sentences. Draw fewer"):
        compare(["a"] * 501, ["a"] * 501, ["a"] * 501, samples=100_000)


def test_equal_texts_differ_by_nothing():
    texts = [f"a b c d {number}" for number in range(30)]
    found = compare(texts, texts, texts[1:] + texts[:1], samples=100)
    assert [one.p_value for one in found] == [1.0, 1.0]
