"""Vocabularies of trained models, extended by pieces from new text."""

import numpy as np
import pytest

from keras_bahdanau.text import Subwords
from keras_bahdanau.text.vocabulary_update import appended, parts_of

OLD = ["der rote wagen", "ein roter hund", "das wagnis", "der hund und das tor", "rot und tot"]
NEW = ["die katze zu dem tor", "die katze", "eine katze und zwei hunde", "katze 7"]


def learnt(model_type, size=34, **settings):
    return Subwords.train(OLD, size, model_type=model_type, exact=False, **settings)


def tokens(subwords, text):
    return subwords.tokens(subwords.encode([text])[0]).tolist()


def test_bpe_goes_on_from_the_pieces_it_has():
    """By hand: ab is a piece, c and d are letters; abc occurs three times, abcd twice."""
    old = Subwords.train(["ab ab c d"], 11, exact=False)
    assert tokens(old, "abcd") == ["▁ab", "c", "d", "</s>"]
    new = appended(old, ["abcd abcd abc d"], most=9)
    added = new.tokens([np.arange(old.vocabulary_size, new.vocabulary_size)]).tolist()
    assert added == [["▁abc", "▁abcd"]]
    assert tokens(new, "abcd abc ab") == ["▁abcd", "▁abc", "▁ab", "</s>"]
    one = appended(old, ["abcd abcd abc d"], most=1)
    assert tokens(one, "abcd") == ["▁abc", "d", "</s>"]


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char", "grapheme", "word"])
def test_text_without_new_pieces_is_split_as_before(model_type):
    old = learnt(model_type)
    new = appended(old, NEW, most=30)
    size = old.vocabulary_size
    assert size < new.vocabulary_size <= size + 30
    every = np.arange(size)
    assert old.tokens(every).tolist() == new.tokens(every).tolist()
    for text in OLD + [f"{one} {other}" for one in OLD for other in OLD]:
        (before,), (after,) = old.encode([text]), new.encode([text])
        assert after.max() >= size or before.tolist() == after.tolist()
    kept = sum(new.encode([text])[0].max() < size for text in OLD)
    assert kept >= 4  # "tor" gets a new piece, and it occurs in one of the old sentences


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char", "grapheme", "word"])
def test_text_of_unknown_letters_comes_back_whole(model_type):
    old = learnt(model_type)
    assert old.decode(old.encode(NEW)) != NEW
    new = appended(old, NEW, most=40)
    assert new.decode(new.encode(NEW)) == NEW
    assert appended(new, NEW, most=0) is new


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char", "word"])
def test_a_symbol_is_one_token(model_type):
    new = appended(learnt(model_type), [], most=5, symbols=["<bt>"])
    ids = new.encode(["<bt> der rote hund"])[0]
    assert new.tokens(ids[:1]).tolist() == ["▁<bt>"]
    with pytest.raises(ValueError, match=r"`symbols` must be .* Received: symbols=\['a b'\]"):
        appended(new, [], most=5, symbols=["a b"])


def test_a_frequent_word_becomes_one_unigram_piece_and_few_others_come_with_it():
    old = learnt("unigram")
    new = appended(old, ["wagentor wagentor"], most=30)
    assert new.vocabulary_size == old.vocabulary_size + 1
    assert tokens(new, "wagentor") == ["▁wagentor", "</s>"]


def test_letters_are_not_merged_with_other_signs():
    new = appended(learnt("bpe"), ["rot7 rot7 rot7, tor, tor,"], most=30)
    added = new.tokens(np.arange(34, new.vocabulary_size))
    assert not [one for one in added if any(sign in one for sign in "7,") and len(one) > 1]


def test_parts_of_a_piece_are_those_that_the_old_vocabulary_splits_it_into():
    old = Subwords.train(["ab ab c d"], 11, exact=False)
    new = appended(old, ["abcd abcd x"], most=9)
    names = new.tokens(np.arange(new.vocabulary_size)).tolist()
    parts = parts_of(old, new)
    assert parts[: old.vocabulary_size] == [[one] for one in range(old.vocabulary_size)]
    of = {name: old.tokens(ids).tolist() for name, ids in zip(names, parts, strict=True)}
    assert of["▁abcd"] == ["▁ab", "c", "d"]
    assert of["x"] == []  # none of its parts is known


def test_parts_of_a_vocabulary_in_another_order_are_the_pieces_themselves():
    old, new = learnt("bpe"), Subwords.train(OLD[::-1] + NEW, 50, exact=False)
    names = old.tokens(np.arange(old.vocabulary_size)).tolist()
    for name, ids in zip(
        new.tokens(np.arange(new.vocabulary_size)), parts_of(old, new), strict=True
    ):
        if name in names:
            assert ids == [names.index(name)]
        else:
            known = "".join(one for one in name if one in names or "▁" + one in names)
            assert "".join(old.tokens(ids)) == known
