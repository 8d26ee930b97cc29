"""Tokens that can be copied: which tokens of one vocabulary correspond to which of another."""

import pytest

from keras_bahdanau.text.copies import copied_ids
from keras_bahdanau.text.subwords import Subwords


def learned(texts, model_type, size=40, **settings):
    return Subwords.train(texts, size, model_type=model_type, exact=False, **settings)


def pairs_of(source, target):
    """Return a dictionary from each token that can be copied, except special ones, to its copy."""
    ids = copied_ids(source, target)
    assert len(ids) == source.vocabulary_size and ids[:4] == [-1, 1, 2, 3]
    names = source.tokens(range(source.vocabulary_size)).tolist()
    found = zip(names[4:], ids[4:], strict=True)
    return {name: target.tokens(one) for name, one in found if one >= 0}


@pytest.mark.parametrize("model_type", ["char", "grapheme"])
def test_letters_are_the_symbols_that_are_written_alike(model_type):
    letters = learned(["ab cé", "dtʰ"], model_type)
    sounds = learned(["b a", "é AA dd d"], "word")
    assert pairs_of(letters, sounds) == {one: f"▁{one}" for one in "abdé"}
    assert pairs_of(sounds, letters) == {f"▁{one}": one for one in "abdé"}


def test_kept_spaces_and_marks_are_no_symbols():
    letters = learned(["a b", " ▁a"], "char", normalization="none")
    sounds = learned(["a ▁ x"], "word")
    assert pairs_of(letters, sounds) == {"a": "▁a"}


def test_a_symbol_of_the_source_is_one_of_the_target_in_all_its_forms():
    letters = learned(["<V> ab"], "char", symbols=["<V>"])
    sounds = learned(["<V> b"], "word")
    assert pairs_of(letters, sounds) == {"<V>": "▁<V>", "▁<V>": "▁<V>", "b": "▁b"}


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_the_mark_of_a_word_counts_in_subwords(model_type):
    texts = ["hat that a ha tat", "that hat at a hat that"]
    pieces, words = learned(texts, model_type), learned([*texts, "t h"], "word")
    names = {*pieces.tokens(range(4, pieces.vocabulary_size)).tolist()}
    assert {"t", "h"} <= names and any(len(name) > 2 and name[0] == "▁" for name in names)
    for found in (pairs_of(pieces, words), pairs_of(words, pieces)):
        assert found and all(one == other for one, other in found.items())
    letters = learned(texts, "char")
    for found in (pairs_of(pieces, letters), pairs_of(letters, pieces)):
        assert found and all(one == other for one, other in found.items())


def test_vocabularies_of_one_kind_match_by_equal_tokens():
    for model_type in ("char", "word"):
        one, other = learned(["a bc d"], model_type), learned(["bc a x"], model_type)
        assert all(name == found for name, found in pairs_of(one, other).items())
        own = copied_ids(one, one)
        assert own == [-1, *range(1, one.vocabulary_size)]
