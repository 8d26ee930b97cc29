"""Features of a table: their place in a source, links of its text, joined ones, cards."""

from pathlib import Path

import pytest

from keras_bahdanau.data import read_table
from keras_bahdanau.data.table_features import (
    links_behind,
    moved_features,
    text_words,
    with_features_at,
)
from keras_bahdanau.text.feature_place import place_in_card, place_of_features

SYMBOLS = ["<V>", "<PST>"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<V> <PST> walk home", range(2, 4)),
        ("walk home <V> <PST>", range(0, 2)),
        ("<2de> walk <V>", range(1, 2)),
        ("<V> walk <PST> home", range(1, 4)),  # a symbol of the text
        ("walk", range(0, 1)),
        ("<V> <PST>", range(2, 2)),
        ("", range(0, 0)),
    ],
)
def test_words_of_a_text_are_those_without_features_around(source, words):
    assert text_words(source, ["<2de>", *SYMBOLS]) == words


def test_the_place_is_that_of_the_features_whatever_tags_there_are():
    last, first, tagged = ["walk <V> <PST>"], ["<V> <PST> walk"], ["<2de> walk <V>"]
    symbols = ["<2de>", *SYMBOLS]
    assert place_of_features([*last, "go", ""], symbols) == "last"
    assert place_of_features([*first, "go", ""], symbols) == "first"
    assert place_of_features([*tagged, *["<2de> go"] * 9], symbols) == "last"
    assert place_of_features(tagged, symbols) == "last"
    assert place_of_features([b"a", None], []) == "last"  # no symbols, whatever the inputs


def test_features_in_the_other_place_are_moved():
    symbols = {*SYMBOLS}
    assert moved_features("<V> <PST> walk home", symbols, "last") == "walk home <V> <PST>"
    assert moved_features("walk home <V> <PST>", symbols, "first") == "<V> <PST> walk home"
    right = ["walk <V> <PST>", "<V> walk", "walk", "", "<V> <PST>", "<V> <PST> walk <V>"]
    assert [moved_features(one, symbols, "last") for one in right] == [None] * len(right)


def test_a_table_that_was_read_for_one_place_becomes_that_of_the_other(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("walk  home\twalked\tV;PST\ngo\twent\tV\ngo\tgoes\t\n\n\tx\tN\n")
    tables = {
        place: read_table(path, "source,target,features", feature_place=place)
        for place in ("first", "last")
    }
    for place, other in (("first", "last"), ("last", "first")):
        pairs, symbols = tables[place]
        moved = [(with_features_at(one, symbols, other), text) for one, text in pairs]
        assert moved == tables[other].pairs != pairs


@pytest.mark.parametrize(
    ("card", "place"),
    [
        ({"feature_place": "last"}, "last"),
        ({"source": {"config": {"feature_place": "last"}}}, "last"),
        ({"source": {"config": {"feature_place": "first"}}}, "first"),
        ({"source": {"config": {}}}, "first"),  # of a version that had one place
        ({"source": {"config": {"feature_place": ["last"]}}}, "first"),
        ({"source": "text"}, "first"),
        ({}, "first"),
    ],
)
def test_a_card_that_names_no_place_is_of_features_first(card, place):
    assert place_in_card(card) == place


def test_links_of_a_text_are_counted_behind_its_features():
    pairs = [("<V> <PST> walk home", "walked"), ("go", "went"), ("", "")]
    links = [{(0, 0), (1, 0)}, {(0, 0)}, set()]
    assert links_behind(links, pairs, ["<V>", "<PST>"]) == [{(2, 0), (3, 0)}, {(0, 0)}, set()]
    tagged = [(f"<2de> {pairs[0][0]}", "walked")]
    assert links_behind(links[:1], tagged, ["<2de>", "<V>", "<PST>"]) == [{(3, 0), (4, 0)}]
    files = [(Path("a.png"), "eins")]  # no text
    assert links_behind(links[:1], files, []) == links[:1]


@pytest.mark.parametrize("separator", [",", "+", ":", "/"])
def test_features_that_may_be_several_in_one_are_told(tmp_path, separator):
    text = "".join(f"a\tb\tN{separator}{one}\n" for one in ("SG", "PL"))
    path, told = tmp_path / "table.tsv", []
    path.write_text(text)
    table = read_table(path, "source,target,features", say=told.append)
    assert table.symbols == [f"<N{separator}SG>", f"<N{separator}PL>"]
    assert told == [
        f"2 of 2 features of {str(path)!r} may be several in one, such as '<N{separator}SG>': "
        "features are split at `;`, `|` and spaces alone"
    ]


@pytest.mark.parametrize("text", ["a\tb\tN\nc\td\tV.PTCP\n", "a\tb\tN;IN+ESS;SG\nc\td\tN;PL\n"])
def test_of_other_features_nothing_is_told(tmp_path, text):
    path, told = tmp_path / "table.tsv", []
    path.write_text(text)
    read_table(path, "source,target,features", say=told.append)
    assert told == []
