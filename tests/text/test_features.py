"""Features in a source: their position, the links of its text, feature bundles, and cards."""

from pathlib import Path

import pytest
import regex

from keras_bahdanau.data import read_table
from keras_bahdanau.exporters.litert.on_device import copying as on_device
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.features import (
    arrange,
    infer_position,
    is_blank,
    position_in_card,
    shift_links,
    tagged,
    text_words,
)

SYMBOLS = ["<V>", "<PST>"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<V> <PST> walk home", range(2, 4)),
        ("walk home <V> <PST>", range(0, 2)),
        ("<2de> walk <V>", range(1, 2)),
        ("<V> walk <PST> home", range(1, 4)),  # a symbol inside the text
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
    assert infer_position([*last, "go", ""], symbols) == "last"
    assert infer_position([*first, "go", ""], symbols) == "first"
    assert infer_position([*tagged, *["<2de> go"] * 9], symbols) == "last"
    assert infer_position(tagged, symbols) == "last"
    assert infer_position([b"a", None], []) == "last"  # no symbols, whatever the inputs


def test_features_in_the_other_place_are_moved():
    symbols = {*SYMBOLS}
    assert arrange("<V> <PST> walk  home", symbols, "last") == "walk  home <V> <PST>"
    assert arrange("walk  home <V> <PST>", symbols, "first") == "<V> <PST> walk  home"
    assert arrange("<2de> walk <V>", {"<2de>", *symbols}, "first") == "<2de> <V> walk"
    assert arrange("walk <V> <NEW>", symbols, "first") == "<V> <NEW> walk"
    assert arrange(b"\xff <V>", symbols, "first") == b"<V> \xff"
    for place, sources in {
        # A single symbol in front may be a tag, and text may contain angle brackets.
        "last": ["walk <V> <PST>", "<V> walk", "walk", "", "<V> <PST>", "<V> <PST> walk <V>"],
        "first": ["<V> <PST> walk", "walk", "", "<V> <PST>", "<V>", "a <b>", "<V> a <b>"],
    }.items():
        assert all(arrange(source, symbols, place) is source for source in sources)


def test_a_source_reads_features_where_it_learned_them_wherever_they_stand():
    texts = ["<V> <PST> walk home"]
    subwords = Subwords.train(texts, 40, model_type="char", exact=False, symbols=SYMBOLS)
    first, last = TextSource(subwords, "first"), TextSource(subwords, "last")
    here, there = "<V> <PST> walk home", "walk home <V> <PST>"
    ids = [first.rows([text]).flat().tolist() for text in (here, there)]
    assert ids[0] == ids[1] != last.rows([there]).flat().tolist()
    assert first.requests([there])["text"] == [here.encode()] and first.key(here) == first.key(
        there
    )
    assert first.cut([there], 4)[1].flat().tolist() == first.cut([here], 4)[1].flat().tolist()
    assert first.cut([there], 99)[0] == [there]  # unchanged, since nothing was cut
    # The words are those of the text as written.
    (spans,), (same,) = first.words([there]), first.words([here])
    order = [2, 3, 0, 1, 4]
    assert spans.tolist() == [[order[word] for word in span] for span in same.tolist()]
    assert last.misplaced(here) == there and last.misplaced(there) is None
    assert first.misplaced(there) is None


@pytest.mark.parametrize(
    ("card", "place"),
    [
        ({"feature_place": "last"}, "last"),
        ({"source": {"config": {"feature_place": "last"}}}, "last"),
        ({"source": {"config": {"feature_place": "first"}}}, "first"),
        ({"source": {"config": {}}}, "first"),  # from a version that supported only one place
        ({"source": {"config": {"feature_place": ["last"]}}}, "first"),
        ({"source": "text"}, "first"),
        ({}, "first"),
    ],
)
def test_a_card_that_names_no_place_is_of_features_first(card, place):
    assert position_in_card(card) == place


def test_links_of_a_text_are_counted_behind_its_features():
    pairs = [("<V> <PST> walk home", "walked"), ("go", "went"), ("", "")]
    links = [{(0, 0), (1, 0)}, {(0, 0)}, set()]
    assert shift_links(links, pairs, ["<V>", "<PST>"]) == [{(2, 0), (3, 0)}, {(0, 0)}, set()]
    tagged = [(f"<2de> {pairs[0][0]}", "walked")]
    assert shift_links(links[:1], tagged, ["<2de>", "<V>", "<PST>"]) == [{(3, 0), (4, 0)}]
    files = [(Path("a.png"), "eins")]  # not text
    assert shift_links(links[:1], files, []) == links[:1]


@pytest.mark.parametrize("separator", [",", "+", ":", "/"])
def test_features_that_may_be_several_in_one_are_told(tmp_path, separator):
    text = "".join(f"a\tb\tN{separator}{one}\n" for one in ("SG", "PL"))
    path, told = tmp_path / "table.tsv", []
    path.write_text(text)
    table = read_table(path, "source,target,features", say=told.append)
    assert table.symbols == [f"<N{separator}SG>", f"<N{separator}PL>"]
    assert told == [
        f"2 of 2 features of {str(path)!r} may each be several features, such as "
        f"'<N{separator}SG>': features are split only at `;`, `|` and spaces"
    ]


@pytest.mark.parametrize("text", ["a\tb\tN\nc\td\tV.PTCP\n", "a\tb\tN;IN+ESS;SG\nc\td\tN;PL\n"])
def test_of_other_features_nothing_is_told(tmp_path, text):
    path, told = tmp_path / "table.tsv", []
    path.write_text(text)
    read_table(path, "source,target,features", say=told.append)
    assert told == []


BLANK = ["", " ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u200d"]
BLANK += [" \u2060\u00ad", "\u2028", "\x00", "\u3164"]
VISIBLE = ["a", " a", "\u200ba", "\ufffd", "☃", "\u0301", "\u2800", "🙂", ".", "\U000e0100"]


@pytest.mark.parametrize("text", BLANK)
def test_white_space_and_invisible_characters_are_blank(text):
    assert is_blank(text) and is_blank(text.encode())
    assert tagged("<2de>", text) == text


@pytest.mark.parametrize("text", VISIBLE)
def test_a_text_with_one_visible_character_is_not_blank(text):
    assert not is_blank(text) and not is_blank(text.encode())
    assert not is_blank(b" \xff")


def test_blank_characters_are_those_of_unicode_in_the_first_plane():
    nothing = regex.compile(r"[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}]")
    characters = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    unlike = [c for c in characters if is_blank(c) != bool(nothing.match(c))]
    assert {*unlike} <= {*map(chr, range(0xFFF0, 0xFFF9))}  # unassigned in every version


def test_every_runner_in_python_calls_the_same_texts_blank():
    characters = [chr(code) for code in range(0x3100) if not 0xD800 <= code < 0xE000]
    for text in (*BLANK, *VISIBLE, *characters):
        assert on_device.is_blank(text) == is_blank(text)
