"""Lines that are too long are cut and reported on standard error, and no line is lost."""

from pathlib import Path

import pytest

from keras_bahdanau.cli.inputs import names_of
from keras_bahdanau.cli.warnings import lines_from, warn_of_cuts
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.search import SearchOptions

SEARCH = SearchOptions(max_source_length=4, max_length=3, beam_width=1)
LIMITS = {"max_source_length": 4, "max_source_bytes": 512}
SENTENCES = ["one two", "one two three four five", "", "five", "☃" * 171]


def test_each_cut_line_is_named_with_the_limits(toy_translator, capsys):
    found = toy_translator.translate(SENTENCES, search=SEARCH)
    assert [one.truncated for one in found] == [False, True, False, False, True]
    assert toy_translator.source.limits(toy_translator.longest(SEARCH)) == LIMITS
    warn_of_cuts(found, LIMITS, lines_from(11))
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[1] for line in err.splitlines()] == [
        " line 12 is too long",
        " line 15 is too long",
    ]
    assert err.count("first 4 tokens, or 512 bytes, are read") == 2
    assert toy_translator.source.unit == "tokens"


def test_a_cut_input_of_another_kind_is_named_by_its_own_unit(capsys):
    found = [Translation("", 0.0, [], [], None, True, truncated) for truncated in (False, True)]
    warn_of_cuts(found, {"max_source_length": 100}, ["a.png", "b.png"], "cells")
    assert capsys.readouterr().err == (
        "keras-bahdanau: b.png is too long: only its first 100 cells are read. Split it, or raise "
        "--max-source-length (for a .tflite file, when you export it).\n"
    )


def test_warnings_name_files_by_their_paths_and_texts_by_their_lines():
    assert names_of(["one", "two"]) == ["line 1", "line 2"]
    assert names_of([Path("a/b.wav")]) == ["a/b.wav"]


def test_texts_of_several_answers_are_named_by_themselves_each_once(capsys):
    """Pairs are not lines of the file here: one source has several answers."""
    found = [Translation("", 0.0, [], [], None, True, truncated) for truncated in (False, True)]
    warn_of_cuts([*found, found[1]], LIMITS, names_of(["a", "b c", "b c"], by_line=False))
    err = capsys.readouterr().err
    assert err.startswith("keras-bahdanau: source 'b c' is too long") and err.count("\n") == 1


def test_a_cut_sentence_is_translated_as_its_beginning(toy_translator):
    cut, beginning = toy_translator.translate(
        ["one two three four five", "one two three"], 64, SEARCH
    )
    assert (cut.text, cut.source_tokens) == (beginning.text, beginning.source_tokens)
    assert cut.score == pytest.approx(beginning.score, abs=1e-5)


@pytest.mark.slow
def test_a_given_text_and_a_prefix_are_bounded_too(toy_translator):
    found, whole = toy_translator.align(
        [("one", "eins eins eins eins"), ("one", "eins eins")], search=SEARCH
    )
    assert (found.truncated, whole.truncated) == (True, False)
    assert found.target_tokens == whole.target_tokens
    (result,) = toy_translator.translate(["one"], search=SEARCH, prefixes=["eins " * 10_000])
    assert result.target_tokens == ["▁eins"] * 3
