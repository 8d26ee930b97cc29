"""Pairs with one source: its several right answers."""

from pathlib import Path

import numpy as np
import pytest

from keras_bahdanau.data import answers_by_source

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


def test_a_source_may_have_so_many_answers_and_no_more():
    pairs = [("a", str(number)) for number in range(1001)]
    assert len(answers_by_source(pairs[1:] + [("a", "1")]).references[0]) == 1001
    with pytest.raises(ValueError, match="at most 1,000 different answers. Received: 1,001 of 'a'"):
        answers_by_source(pairs)
