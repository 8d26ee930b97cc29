"""Unknown characters: drawn on both sides at once, reproducible by step, all else unchanged."""

import numpy as np
import pytest

from keras_bahdanau.data.batching import BatchedPairs
from keras_bahdanau.data.rows import UnknownCharacters
from keras_bahdanau.text.copies import copied_ids
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

RANDOM = np.random.default_rng(3)
STEMS = ["".join(RANDOM.choice(list("abcdefgh"), RANDOM.integers(2, 7))) for _ in range(90)]
PAIRS = [(f"<pl> {stem}", f"{stem}xx") for stem in STEMS]  # no source has an x


@pytest.fixture(scope="module")
def sides():
    settings = {"model_type": "char", "normalization": "none", "symbols": ["<pl>"], "exact": False}
    return Subwords.train_pair(PAIRS, 40, **settings)


@pytest.fixture
def batches(sides):
    return BatchedPairs(PAIRS, *sides, batch_sentences=30, sort_batches=1, least_steps=6)


def unknown(sides, rate, seed=0):
    return UnknownCharacters(copied_ids(*sides), rate, seed)


def doubles(ids):
    return {one for one, other in zip(ids, ids[1:], strict=False) if one == other}


def test_one_shared_character_of_a_pair_is_unknown_on_both_sides(sides, batches):
    seen = set()
    for step, batch in enumerate(batches.arrays(0)):
        (source, target_in), target_out, weight = batch
        kept = source.copy(), target_in.copy(), target_out.copy()
        (new_source, new_in), new_out, new_weight = unknown(sides, 1)(batch, step, 0)
        assert new_weight is weight
        for old, other in zip(kept, (source, target_in, target_out), strict=True):
            np.testing.assert_array_equal(old, other)  # the batch itself is unchanged
        for row in range(len(source)):
            single = {*source[row]} - doubles(source[row]) - doubles(target_out[row])
            candidates = (single & {*target_out[row]}) - {PAD, END}
            hidden = {*source[row][new_source[row] == UNKNOWN]}
            if not candidates:
                assert not hidden and UNKNOWN not in new_out[row]
                continue
            assert len(hidden) == 1 and hidden <= candidates
            seen |= hidden
            for old, new in (
                (source[row], new_source[row]),
                (target_out[row], new_out[row]),
                (target_in[row], new_in[row]),
            ):
                np.testing.assert_array_equal(new, np.where(old == [*hidden], UNKNOWN, old))
            assert new_in[row, 0] == START
    letters = {*sides[0].encode(["abcdefgh"], end_of_empty=False)[0].tolist()} - {END}
    assert seen == letters  # each of them, and nothing else


def test_the_rate_is_that_of_the_pairs(sides, batches):
    changed = [
        (new[0][0] == UNKNOWN).any(axis=1)
        for step, batch in enumerate(batches.arrays(0))
        for number in range(20)
        for new in [unknown(sides, 0.3)(batch, step, number)]
    ]
    changed = np.concatenate(changed)  # 6 batches of 30, each drawn 20 times
    possible = np.concatenate(
        [(unknown(sides, 1)(batch, 0, 0)[0][0] == UNKNOWN).any(1) for batch in batches.arrays(0)]
    ).mean()
    deviation = np.sqrt(0.3 * 0.7 / len(changed))
    assert abs(changed.mean() - 0.3 * possible) < 4 * deviation


def test_an_epoch_that_is_resumed_has_the_same_unknown_characters(sides, batches):
    batches.unknown = unknown(sides, 0.5, seed=7)
    whole = [batch[0][0] for batch in batches.arrays(1)]
    assert len(whole) == 6  # two passes over three batches
    for first in (1, 3, 4):
        for one, other in zip(batches.arrays(1, first), whole[first:], strict=True):
            np.testing.assert_array_equal(one[0][0], other)
    assert any((one == UNKNOWN).any() for one in whole)
    batches.unknown = None
    assert not any((batch[0][0] == UNKNOWN).any() for batch in batches.arrays(1))


def test_batches_of_several_workers_are_those_of_one(sides, batches):
    copies = copied_ids(*sides)
    for step, batch in enumerate(batches.arrays(0)):
        whole = UnknownCharacters(copies, 0.5, seed=1)(batch, step, 0)
        assert (whole[1] == UNKNOWN).any()
        for index in range(4):  # 30 rows: two workers get eight, and two get seven
            (source, target_in), target_out, weight = batch
            part = (source[index::4], target_in[index::4]), target_out[index::4], weight[index::4]
            part = UnknownCharacters(copies, 0.5, 1, shard=(index, 4))(part, step, 0)
            np.testing.assert_array_equal(part[0][0], whole[0][0][index::4])
            np.testing.assert_array_equal(part[0][1], whole[0][1][index::4])
            np.testing.assert_array_equal(part[1], whole[1][index::4])
