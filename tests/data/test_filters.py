"""Filters of pairs, checked by hand with one reason each, and the hashes that find duplicates."""

import hashlib

import numpy as np
import pytest

from keras_bahdanau.data import Filters
from keras_bahdanau.data.filters import (
    FILTERS,
    FilterReport,
    counts_of,
    examples_of,
    verdicts_of,
)
from keras_bahdanau.data.shards.block_work import find_repeated, pair_hashes

OFF = Filters(
    drop_empty=False,
    drop_broken=False,
    max_characters=0,
    max_ratio=0,
    drop_copies=False,
    drop_duplicates=False,
)
CASES = {
    "empty": ([("", "x"), ("x", " \u3000\t"), ("\u00a0", "y")], [("x", "y"), (".", "!")], {}),
    "broken": (
        [("a\ufffd", "b"), ("a", "b\x00"), ("a\x7f", "b"), ("don\x92t", "b"), ("a\x1b[0m", "b")],
        [("a\tb", "ü"), ("日本\u3000語", "a\u00a0b"), ("क\u094dष", "👩\u200d👧"), ("a\x85", "b")],
        {"drop_broken": True},
    ),
    "long": ([("abcd", "x"), ("x", "aßcd")], [("abc", "äöü")], {"max_characters": 3}),
    "ratio": (
        [("a", "bbbb"), ("bbbbbbb", "aa")],
        [("a", "bbb"), ("bbbbbb", "aa")],
        {"max_ratio": 3},
    ),
    "copy": ([("a b", "a b")], [("a b", "a B"), ("a", "a b")], {"drop_copies": True}),
    "script": (
        [("привет", "x"), ("ab вг", "x"), ("x", "hello"), ("ñandú", "y ђ")],
        [("ab в", "привет"), ("ñandú 7", "ђ y ж"), ("42 %", "7"), ("", "")],
        {"source_script": "Latin", "target_script": "Cyrillic"},
    ),
}
CASES["empty"] = (*CASES["empty"][:2], {"drop_empty": True})


def changed(settings):
    return Filters(**{**vars(OFF), **settings})


def verdicts(filters, pairs):
    return verdicts_of(filters, *map(list, zip(*pairs, strict=True))).tolist()


@pytest.mark.parametrize("name", CASES)
def test_a_filter_drops_what_it_names_and_nothing_else(name):
    dropped, kept, settings = CASES[name]
    number = 1 + FILTERS.index(name)
    if name == "script":  # its cases check only one side
        dropped = [(s, "ж") if t == "x" else (s, t) for s, t in dropped]
        kept = [(s, t) for s, t in kept]
    expected = [number] * len(dropped) + [0] * len(kept)
    assert verdicts(changed(settings), [*dropped, *kept]) == expected
    assert verdicts(OFF, [*dropped, *kept]) == [0] * len(expected)


def test_japanese_has_three_scripts():
    filters = changed({"source_script": "Han,Hiragana,Katakana"})
    assert verdicts(filters, [("私はカナ", "x"), ("abc", "x")]) == [0, 1 + FILTERS.index("script")]
    assert verdicts(changed({"source_script": "Han"}), [("私はカナ", "x")]) != [0]


def test_the_first_filter_that_drops_a_pair_counts_it():
    both = Filters(max_characters=3, source_script="Greek")
    assert verdicts(both, [("", "ab\x00"), ("long \ufffd", "x"), ("long", "long")]) == [1, 2, 3]


@pytest.mark.parametrize(
    "settings, demand",
    [
        ({"max_ratio": 0.5}, "0, or a number in [1, 1000]"),
        ({"max_characters": -1}, "an integer in [0, "),
        ({"source_script": "Klingon"}, "names of Unicode scripts"),
        ({"target_script": "Latin}|."}, "names of Unicode scripts"),
        ({"drop_empty": 1}, "True or False"),
    ],
)
def test_a_wrong_setting_is_refused(settings, demand):
    with pytest.raises(ValueError) as error:
        Filters(**settings)
    assert demand in str(error.value) and "Received: " in str(error.value)


def test_a_report_counts_and_keeps_the_first_examples():
    report = FilterReport()
    for first, found in ((1, [1, 0, 1, 5]), (5, [1, 1, 0])):
        found = np.array(found, np.uint8)
        texts = [f"s{first + row}" for row in range(len(found))]
        report.add(len(found), counts_of(found), examples_of(found, first, texts, texts))
    assert (report.pairs, report.kept) == (7, 2)
    assert report.dropped == {**dict.fromkeys(FILTERS, 0), "empty": 4, "copy": 1}
    assert report.examples["empty"] == [(1, "s1", "s1"), (3, "s3", "s3"), (5, "s5", "s5")]
    assert report.text().splitlines()[0] == "7 pairs read, 2 kept (28.6%)"


def test_the_hash_of_a_pair_is_blake2b_of_both_sides():
    expected = hashlib.blake2b("ä\nb".encode(), digest_size=8).digest()
    assert pair_hashes(["ä"], ["b"]).tolist() == [int.from_bytes(expected, "little")]
    assert len({*pair_hashes(["a b", "a", "b"], ["c", "b c", "a"]).tolist()}) == 3


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_repeated_rows_are_those_of_a_set(at_once):
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2**64, 40, np.uint64, endpoint=False)
    few[:2] = 0, 2**64 - 1
    blocks = [(rng.choice(few, size), np.sort(rng.permutation(90)[:size])) for size in (60, 0, 9)]
    seen, expected = set(), []
    for hashes, rows in blocks:
        repeated = []
        for one, row in zip(hashes.tolist(), rows.tolist(), strict=True):
            if one in seen:
                repeated.append(row)
            seen.add(one)
        expected.append(repeated)
    found, largest = find_repeated(blocks.__getitem__, 3, 69, 5, at_once)
    assert [rows.tolist() for rows in found] == expected
    assert largest == sorted(seen)[4]
    assert find_repeated(blocks.__getitem__, 3, 69, 1000, at_once)[1] == 2**64 - 1
