"""Entropy of attention by hand, and alignment errors of a model with predefined attention."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from keras_bahdanau.evaluation import alignment_error, attention_entropy
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text import Subwords


class Reader(NamedTuple):
    """A translator with known alignments."""

    read: list
    source: TextSource
    target: Subwords

    search = SearchOptions()

    def align(self, pairs, batch_size, search):
        length = (search or self.search).max_length
        return [dataclasses.replace(one, alignment=one.alignment[:length]) for one in self.read]

    def longest(self, search):
        return (search or self.search).max_source_length or 512

    def words(self, inputs, longest):
        return self.source.words(inputs, longest)


def reading(*rows, source=("▁a", "▁b", "</s>"), target=("▁x", "▁y", "</s>")):
    alignment = np.array(rows, "float32")
    return Translation("", 0.0, list(source), list(target), alignment, True)


def reader(pairs, read, vocabulary_size):
    """Return a `Reader` with the words of both sides in one vocabulary."""
    source, target = Subwords.train_pair(pairs, vocabulary_size, model_type="word")
    return Reader(read, TextSource(source), target)


SHARP = reading([1, 0, 0], [0, 1, 0], [0, 0, 1])


def test_entropy_by_hand():
    """The rows are uniform over three positions, uniform over two, and sharp."""
    wide = reading([1 / 3] * 3, [0.5, 0.5, 0], [0, 0, 1])
    nats, share = attention_entropy([wide])
    assert nats == pytest.approx((np.log(3) + np.log(2)) / 3, rel=1e-6)
    assert share == pytest.approx((np.log(3) + np.log(2)) / np.log(3) / 3, rel=1e-6)
    assert attention_entropy([SHARP]) == (0.0, 0.0)
    nats, _ = attention_entropy([wide, SHARP])
    assert nats == pytest.approx((np.log(3) + np.log(2)) / 6, rel=1e-6), "of all tokens alike"


def test_a_source_of_one_token_has_no_share():
    assert attention_entropy([reading([1], source=["</s>"], target=["</s>"])]) == (0.0, None)


def test_where_nothing_is_attended_to_there_is_no_entropy():
    nowhere = reading([0, 0, 0], [0, 0, 0], [0, 0, 0])
    empty = Translation("", 0.0, [], [], np.zeros((0, 0), "float32"), True)
    assert attention_entropy([nowhere, empty]) == (None, None)
    assert attention_entropy([]) == (None, None)


def test_alignment_error_by_hand():
    """Links 0-0 and 1-1 are predicted: the first is sure, the second is not even possible."""
    pairs = [("a b", "x y")]
    sharp = reader(pairs, [SHARP], 8)
    sure, possible = [frozenset({(0, 0)})], [frozenset({(0, 0), (0, 1)})]
    assert alignment_error(sharp, pairs, sure, possible) == pytest.approx(1 - 2 / 3)
    with pytest.raises(ValueError, match="one set of links for each sentence"):
        alignment_error(sharp, pairs, sure * 2, possible * 2)
    with pytest.raises(ValueError, match=r"`alignments\[0\]` must .* Received: \(2, 1\) for 2 "):
        alignment_error(sharp, pairs, sure, [frozenset({(2, 1)})])


def test_the_lengths_of_another_search_are_those_of_the_alignment():
    """Reading only one word and the end token leaves one of the two links, 0-0."""
    pairs = [("a b", "x y")]
    links = [frozenset({(0, 0), (1, 1)})]
    sharp = reader(pairs, [SHARP], 8)
    short = SearchOptions(max_length=2)
    assert alignment_error(sharp, pairs, links, links) == 0
    assert alignment_error(sharp, pairs, links, links, search=short) == pytest.approx(1 - 2 / 3)


def test_unknown_words_are_counted_as_the_text_has_them():
    """A word model makes one token of the two words between "a" and "b"."""
    pairs = [("a zebra lion b", "w x y z")]
    unknown = {"source": ("▁a", "<unk>", "▁b", "</s>"), "target": ("▁w", "▁x", "▁y", "▁z", "</s>")}
    read = reading([1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], **unknown)
    links = [frozenset({(0, 0), (1, 1), (1, 2), (3, 3)})]
    known = reader([("a b", "w x y z")], [read], 10)
    assert alignment_error(known, pairs, links, links) == 0
