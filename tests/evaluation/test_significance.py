"""Paired bootstrap: one system against another, on the same sentences."""

import numpy as np
import pytest
import sacrebleu

from keras_bahdanau.evaluation import compare

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
    assert bleu.other == pytest.approx(sacrebleu.corpus_bleu(worse, [REFERENCES]).score)
    assert chrf.other == pytest.approx(sacrebleu.corpus_chrf(worse, [REFERENCES]).score)
    assert bleu.p_value < 0.02 and chrf.p_value < 0.02
    mean, half = bleu.score_range
    assert abs(mean - bleu.score) < half
    assert f"{bleu.score:.2f}" in str(bleu) and "bs:200" in str(bleu)


def test_systems_alike_differ_by_chance():
    bleu, _ = compare(spoilt(0.2, 1), spoilt(0.2, 2), REFERENCES, samples=200)
    assert bleu.p_value > 0.05


def test_case_and_tokenization_are_the_users():
    upper = [line.upper() for line in REFERENCES]
    settings = {"samples": 10, "tokenize": "none", "lowercase": True}
    bleu, chrf = compare(upper, spoilt(0.2, 1), REFERENCES, **settings)
    assert bleu.score == pytest.approx(100) and chrf.score == pytest.approx(100)
    assert "case:lc" in bleu.signature and "tok:none" in bleu.signature


@pytest.mark.parametrize("others", [[], REFERENCES[1:]])
def test_other_sentences_are_refused(others):
    with pytest.raises(ValueError, match=r"Received: len\(hypotheses\)=60, len\(others\)="):
        compare(REFERENCES, others, REFERENCES)
