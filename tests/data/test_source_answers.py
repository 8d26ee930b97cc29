"""Pairs with the same source: the source's several correct answers."""

from pathlib import Path

import numpy as np
import pytest

from keras_bahdanau.cli.training_files import held_out
from keras_bahdanau.data import answers_by_source
from keras_bahdanau.evaluation.corpus_metrics import metrics_of
from keras_bahdanau.text import Subwords

PAIRS = [("read", "R IY D"), ("red", "R EH D"), ("read", "R EH D"), ("bow", "B OW")]


def test_targets_of_equal_sources_are_gathered_in_the_order_of_the_pairs():
    answers = answers_by_source(PAIRS)
    assert answers.sources == ["read", "red", "bow"]
    assert answers.references == [["R IY D", "R EH D"], ["R EH D"], ["B OW"]]
    assert answers.numbers == [0, 1, 0, 2]


def test_texts_are_laid_out_by_source_or_by_pair():
    answers = answers_by_source(PAIRS)
    assert answers.lines(["x", "y", "z"]) == (["x", "y", "z"], answers.references)
    texts, references = answers.lines(["x", "y", "z"], by_source=False)
    assert texts == ["x", "y", "x", "z"]
    assert references == [target for _, target in PAIRS]


def test_paths_can_be_equal_and_arrays_are_sources_of_their_own():
    frames = np.zeros((2, 3))
    pairs = [(Path("a.png"), "x"), (frames, "y"), (frames, "z"), (Path("a.png"), "w")]
    answers = answers_by_source(pairs)
    assert answers.numbers == [0, 1, 2, 0]
    assert answers.references == [["x", "w"], ["y"], ["z"]]
    assert answers_by_source([]).sources == []


def test_empty_sources_have_nothing_in_common():
    answers = answers_by_source([("", "x"), ("", ""), ("a", "a")])
    assert answers.numbers == [0, 1, 2]


def test_the_same_answer_counts_once_by_source():
    answers = answers_by_source([("a", "x"), ("a", "x"), ("a", "y")])
    assert answers.lines(["z"]) == (["z"], [["x", "y"]])
    assert answers.lines(["z"], by_source=False)[1] == ["x", "x", "y"]


def test_a_blank_line_counts_for_a_line_alone():
    answers = answers_by_source([("a", "x"), ("", " "), ("", "y"), ("b", "")])
    assert answers.lines(["x", "", "", "z"]) == (["x", "", "z"], [["x"], ["y"], [""]])
    assert answers.lines(["x", "", "", "z"], by_source=False)[0] == ["x", "", "", "z"]
    assert answers_by_source([("", "")]).lines([""]) == ([""], [[""]])  # the only pair there is


def test_spaces_are_those_that_the_vocabulary_of_the_target_can_write():
    words, characters = (
        Subwords.train(["a  b"], 9, model_type=kind, normalization="none", exact=False)
        for kind in ("word", "char")
    )
    pairs = [("x", "a  b "), ("x", "a\u00a0b"), ("y", "b")]
    answers = answers_by_source(pairs, words)
    assert answers.lines([["a b", "b\u3000 a"], ["b"]]) == (
        [["a b", "b a"], ["b"]],
        [["a b", "a b"], ["b"]],
    )
    texts = ["a b", "a b", "b"]
    assert answers.lines([" a  b", "b"], by_source=False) == (texts, texts)
    assert answers_by_source(pairs, characters).lines(["a b", "b"])[1][0] == ["a  b ", "a\u00a0b"]


def test_a_blank_source_without_an_answer_does_not_count():
    answers = answers_by_source([("a", "x"), ("\u200b", "\u3000"), (" ", "y")])
    assert answers.lines(["x", "", ""]) == (["x", ""], [["x"], ["y"]])


def test_a_source_may_have_so_many_answers_and_no_more():
    pairs = [("a", str(number)) for number in range(1001)]
    by_source, by_pair = metrics_of(["ser"]), metrics_of(["bleu"])
    many = answers_by_source(pairs[1:] + [("a", "1")])  # one of them twice
    assert many.checked(by_source) is many and len(many.references[0]) == 1001
    with pytest.raises(ValueError, match="at most 1,000 different .* 1,001 answers for 'a'"):
        answers_by_source(pairs).checked([*by_pair, *by_source])


def test_a_metric_of_pairs_takes_any_number_of_answers_to_a_source():
    pairs = [("What?", f"reply {number}") for number in range(1001)]
    assert answers_by_source(pairs).checked(metrics_of(["bleu"])).numbers == [0] * 1001
    others = [(f"line {number}", "text") for number in range(99)]
    assert held_out(pairs + others) == {*range(1001), 1001 + 49}  # every 50th source
