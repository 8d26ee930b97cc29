"""Corpus metrics, compared by hand, with a table of edit distances, and with sacreBLEU."""

import re
import unicodedata

import numpy as np
import pytest
import sacrebleu

from keras_bahdanau.evaluation.corpus_metrics import (
    METRICS,
    MetricKind,
    metrics_of,
    report_blind,
)

HYPOTHESES = ["the cat sat on mat", "Hello world .", "a"]
REFERENCES = ["the cat sat on the mat", "hello world .", "a b"]


def score(name, hypotheses, references, **settings):
    (metric,) = metrics_of([name], **settings)
    return metric.corpus_score(hypotheses, references)


def edit_distance(hypothesis, reference):
    """Wagner and Fischer (1974): table[i, j] is the distance of the first i from the first j."""
    table = np.add.outer(np.arange(len(hypothesis) + 1), np.arange(len(reference) + 1))
    for i, own in enumerate(hypothesis, 1):
        for j, true in enumerate(reference, 1):
            replaced = table[i - 1, j - 1] + (own != true)
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, replaced)
    return table[-1, -1]


def random_sentences(seed, count=40):
    """Return sentences of up to nine words of one to three letters, including non-ASCII letters."""
    random = np.random.default_rng(seed)
    letters = list("abcäक语😀")
    return [
        " ".join("".join(random.choice(letters, random.integers(1, 4))) for _ in range(words))
        for words in random.integers(0, 10, count)
    ]


def test_names_give_metrics_in_their_order():
    labels = [metric.label for metric in metrics_of(["exact", "ter", "bleu"])]
    assert labels == ["exact", "TER", "BLEU"]
    lower = {metric.name for metric in metrics_of(METRICS) if not metric.higher_is_better}
    assert lower == {"ter", "wer", "per", "cer", "ser"}


@pytest.mark.parametrize("names", [[], ["rouge"], ["bleu", "wer", "bleu"], "wer"])
def test_unknown_repeated_and_absent_names_are_refused(names):
    with pytest.raises(
        ValueError,
        match="distinct names from bleu, chrf, ter, wer, per, cer, ser, exact, top2, .* Received",
    ):
        metrics_of(names)


@pytest.mark.parametrize(
    ("names", "advice"), [("bleu", "Put it in a list"), (["blue"], "Did you mean 'bleu'")]
)
def test_a_wrong_name_of_a_metric_leads_to_the_right_one(names, advice):
    with pytest.raises(ValueError, match=advice):
        metrics_of(names)


def test_bleu_chrf_and_ter_are_those_of_sacrebleu():
    lines = HYPOTHESES, [REFERENCES]
    expected = {
        "bleu": sacrebleu.corpus_bleu(*lines, tokenize="char", lowercase=True, force=True),
        "chrf": sacrebleu.metrics.CHRF(lowercase=True).corpus_score(*lines),
        "ter": sacrebleu.corpus_ter(*lines, case_sensitive=False),
    }
    for metric in metrics_of(expected, tokenize="char", lowercase=True):
        assert metric.corpus_score(HYPOTHESES, REFERENCES) == expected[metric.name].score
        assert "case:lc" in metric.signature
    for metric in metrics_of(expected):
        assert "case:mixed" in metric.signature


def test_tokenized_text_is_scored_without_a_warning(caplog):
    score("bleu", ["a b ."] * 100, ["a b ."] * 100)
    assert caplog.records == []


def test_error_rates_by_hand():
    """Words: "the" and "b" are missing, "Hello" is wrong: 3 of 11."""
    assert score("wer", HYPOTHESES, REFERENCES) == pytest.approx(100 * 3 / 11)
    # Characters: "the " and " b" are missing, "H" is wrong: 7 of 22 + 13 + 3.
    assert score("cer", HYPOTHESES, REFERENCES) == pytest.approx(100 * 7 / 38)
    assert score("exact", HYPOTHESES, REFERENCES) == 0


def test_case_may_count_for_nothing():
    assert score("wer", HYPOTHESES, REFERENCES, lowercase=True) == pytest.approx(100 * 2 / 11)
    assert score("cer", HYPOTHESES, REFERENCES, lowercase=True) == pytest.approx(100 * 6 / 38)
    assert score("exact", HYPOTHESES, REFERENCES, lowercase=True) == pytest.approx(100 / 3)


def test_error_rates_are_those_of_a_table_of_distances():
    hypotheses, references = random_sentences(1), random_sentences(2)
    for name, split in (("wer", str.split), ("cer", list)):
        sides = [[split(line) for line in lines] for lines in (hypotheses, references)]
        edits = sum(map(edit_distance, *sides))
        assert score(name, hypotheses, references) == pytest.approx(
            100 * edits / sum(map(len, sides[1]))
        )


def test_insertions_lead_beyond_a_hundred():
    assert score("wer", ["a b c d"], ["x"]) == 400
    assert score("cer", ["abcd"], ["x"]) == 400


@pytest.mark.parametrize("name", ["wer", "cer", "ter"])
def test_empty_references_have_all_errors_or_none(name):
    assert score(name, ["", ""], ["", " "]) == 0
    assert score(name, ["", "a b c"], ["", ""]) == 100
    assert score(name, ["a", ""], ["", "a"]) == 200  # one insertion, one deletion, one word


def test_equal_sentences_are_counted_but_for_the_space_around_them():
    hypotheses = ["a b ", "a  b", "", "ü"]
    references = [" a b", "a b", "", "u"]
    assert score("exact", hypotheses, references) == 50


def test_characters_are_code_points():
    assert score("cer", ["Zürich 😀"], ["Zurich 😀"]) == pytest.approx(100 / 8)
    apart = unicodedata.normalize("NFD", "ü")  # u and a diaeresis
    assert score("cer", [apart], ["ü"]) == 200
    assert score("cer", ["नमस्ते"], ["नमस्त"]) == pytest.approx(100 / 5)


def test_signatures_tell_case_unit_and_library():
    wer, cer, exact = metrics_of(["wer", "cer", "exact"], lowercase=True)
    assert wer.signature.startswith("nrefs:1|case:lc|unit:word|version:rapidfuzz-3.")
    assert cer.signature.startswith("nrefs:1|case:lc|unit:character|version:rapidfuzz-3.")
    assert exact.signature == "nrefs:1|case:lc|unit:sentence"


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("hypotheses, references", [([], []), (["a"], []), (["a"], ["a", "b"])])
def test_sentences_without_a_reference_each_are_refused(name, hypotheses, references):
    with pytest.raises(ValueError, match=rf"len\(references\)={len(references)}"):
        score(name, hypotheses, references)


@pytest.mark.parametrize("name", METRICS)
def test_the_same_sentences_have_the_best_score(name):
    (metric,) = metrics_of([name])
    lines = ["one two three four five", "six seven eight nine ten"]
    best = 100 if metric.higher_is_better else 0
    assert metric.corpus_score(lines, lines) == pytest.approx(best)


def test_shares_of_right_texts_are_the_metrics_of_right_or_wrong_texts():
    texts = {metric.name for metric in metrics_of(METRICS) if metric.counts_texts}
    assert texts == {"ser", "exact", *(name for name in METRICS if re.match("top|exprate", name))}


def test_expression_rates_count_wrong_tokens():
    hypotheses = ["x ^ 2", "x ^ 3", "y + 1 - a", ""]
    references = ["x  ^ 2", "x ^ 2", "x ^ 2", "a b"]  # 0, 1, 5 and 2 wrong tokens
    rates = {name: score(name, hypotheses, references) for name in METRICS if "exprate" in name}
    assert rates == {"exprate": 25, "exprate1": 50, "exprate2": 75, "exprate3": 75}


def test_the_nearest_of_several_answers_counts_by_its_own_length():
    """For the first text, "a b c d" has 1 error in 4 words, and "a b d" has 1 in 3."""
    texts, answers = ["a b c", "e f"], [["a b d", "x y z", "a b c d"], ["e g"]]
    assert score("per", texts, answers) == pytest.approx(100 * (1 + 1) / (4 + 2))
    assert score("per", texts, answers) == score("wer", texts, answers)
    assert score("cer", ["abc"], [["xbc", "abcd"]]) == pytest.approx(100 / 4)
    assert score("exact", texts, [["q", "a b c"], ["e g"]]) == 50
    assert score("ser", texts, [["q", "a b c"], ["e g"]]) == 50
    assert score("exprate1", texts, [["q", "a b x"], ["h i"]]) == 50


def test_the_order_of_answers_does_not_matter():
    answers = [["a b d", "x y z", "a b c d"], ["e g", "e f g h"]]
    turned = [one[::-1] for one in answers]
    for name in ("per", "cer", "exact", "exprate1", "bleu", "chrf"):
        texts = ["a b c", "e f"]
        assert score(name, texts, answers) == score(name, texts, turned)


def test_several_answers_are_sacrebleus_references():
    answers = [["the cat sat on the mat", "a cat sat"], ["hello world ."], ["a b", "a c"]]
    streams = [["the cat sat on the mat", "hello world .", "a b"], ["a cat sat", None, "a c"]]
    expected = sacrebleu.corpus_bleu(HYPOTHESES, streams, force=True).score
    assert score("bleu", HYPOTHESES, answers) == expected
    (metric,) = metrics_of(["bleu"])
    metric.corpus_score(HYPOTHESES, answers)
    assert metric.signature.startswith("nrefs:var|")


def test_one_of_the_best_few_may_be_right():
    best = [["b", "a", "c"], ["y", "x", "q"], ["m", "n", "o"]]
    answers = [["a"], ["z", "q"], ["k"]]
    found = {name: score(name, best, answers) for name in ("exact", "top2", "top3", "top5")}
    third = 100 / 3
    expected = {"exact": 0, "top2": third, "top3": 2 * third, "top5": 2 * third}
    assert found == pytest.approx(expected)
    assert score("top2", [[" A ", "b"]], [["a"]], lowercase=True) == 100


def test_statistics_add_up_to_the_score():
    answers = [[one, "a b"] for one in REFERENCES]
    for metric in metrics_of(["bleu", "chrf", "ter", "per", "exact", "top2"]):
        found = metric.score_of(metric.statistics(HYPOTHESES, answers).sum(axis=0))
        assert found == pytest.approx(metric.corpus_score(HYPOTHESES, answers))


CHINESE = ["红猫和猫", "红猫和狗", "红猫和房子"]
SHORT = "BLEU is meaningless for these references: BLEU counts 4-grams, but with the tokenization "


@pytest.mark.parametrize(
    ("name", "references", "tokenize", "line"),
    [
        *(
            (name, CHINESE, None, "")
            for name in ("chrf", "ter", "wer", "cer", "per", "ser", "exact", "exprate")
        ),
        ("bleu", CHINESE, "zh", ""),
        ("bleu", ["a man in a hat", "a man"], None, ""),
        (
            *("bleu", CHINESE, None),
            f"{SHORT}13a only 0 of 3 have four tokens. Use the metric chrf or --tokenize zh",
        ),
        (
            *("bleu", ["สวัสดี", "ลาก่อน"], None),
            f"{SHORT}13a only 0 of 2 have four tokens. Use the metric chrf or --tokenize char",
        ),
        (
            *("bleu", ["a b c d", *["a b"] * 19], "char"),
            f"{SHORT}char only 1 of 20 have four tokens. Use the metric chrf",
        ),
        (
            *("exprate2", ["a b", "c"], None),
            "ExpRate <=2 is meaningless for these references: scored against themselves, they "
            "get 100.00, as empty texts do. Use the metric chrf",
        ),
        (
            *("cer", ["", " "], None),
            "CER is meaningless for these references: scored against themselves, they get 0.00, "
            "as empty texts do",
        ),
    ],
)
def test_a_metric_that_cannot_tell_right_texts_is_named(name, references, tokenize, line):
    (metric,) = metrics_of([name], tokenize)
    assert report_blind(metric, references) == line


def test_a_metric_of_a_user_that_is_constant_is_named(monkeypatch):
    rates = lambda rates, *_: rates.Rate("mine", lambda *_: (7, 10), "text")  # noqa: E731
    monkeypatch.setitem(METRICS, "mine", MetricKind("mine", True, rates))
    (metric,) = metrics_of(["mine"])
    assert report_blind(metric, ["a b c"]).startswith(
        "mine is meaningless for these references: scored against themselves, they get 70.00"
    )


def test_not_a_number_is_the_worst_value():
    up, down = metrics_of(["exact", "wer"])
    assert (up.loss_of(30.0), down.loss_of(30.0)) == (-30.0, 30.0)
    assert up.loss_of(float("nan")) == down.loss_of(float("nan")) == float("inf")
