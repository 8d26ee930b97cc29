"""Plausible words without a pronunciation, for a teacher to pronounce."""

import math
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments" / "small_sequences"
TRAIN = {"BANANA", "CABANA", "SAVANNA", "HAVANA"}
DEV = {"CANASTA", "NIRVANA"}


@pytest.fixture
def other_words(example):
    return example("other_words")


def test_words_have_the_letters_of_the_dictionary(other_words):
    line = "Cañava, BANANA havana’s savannas na 2x3 ban'as Žába хавана"
    found = other_words.other_words([line], TRAIN | {"'"}, {"QQQQ"})
    assert {*found} == {"CANAVA", "HAVANA'S", "SAVANNAS", "BAN'AS"}
    lower = other_words.other_words([line], {"banana", "ñ", "c", "v"}, {"qq"})
    assert {*lower} == {"cañava"}


def test_a_decomposed_letter_is_one_word_with_its_letters(other_words):
    assert other_words.other_words(["hava\u0301na ca\u0301n"], TRAIN, {"QQ"}) == ["CAN"]


def test_the_likelihood_is_that_of_counted_trigrams(other_words):
    trigrams = other_words.Trigrams(["aab", "ab"])
    # ^^a: 2 of 2; ^aa: 1 of 2, ^ab: 1 of 2; aab: 1 of 1; ab$: 2 of 2; symbols: a, b and the end.
    others = 3 * 0.1
    shares = [2.1 / (2 + others), 1.1 / (2 + others), 2.1 / (2 + others)]  # for "ab"
    assert trigrams.bits("ab") == pytest.approx(-sum(map(math.log2, shares)) / 3)


def test_unlikely_words_and_those_of_the_dictionary_go(other_words):
    lines = ["Savana HAVANA canasta", "CSVBNT Banava"]
    assert {*other_words.other_words(lines, TRAIN, DEV)} == {"SAVANA", "BANAVA"}
    others = ["Banana Bavana Cavana Havanna Canana Savanana"]
    assert other_words.other_words(others, TRAIN, DEV) == [
        *("CAVANA", "HAVANNA", "SAVANANA", "BAVANA", "CANANA")
    ]


def test_a_file_is_written_or_refused_in_one_line(other_words, tmp_path, capsys):
    paths = {name: tmp_path / name for name in ("text", "train.tsv", "dev.tsv", "out")}
    text, train, dev, out = map(str, paths.values())
    paths["text"].write_text("1\tSavana\n")
    for name, words in (("train.tsv", TRAIN), ("dev.tsv", DEV)):
        paths[name].write_text("".join(f"{word}\tX\n" for word in sorted(words)))
    given = [text, "--train", train, "--dev", dev, "--out", out]
    other_words.main(given)
    assert capsys.readouterr().out == "1 words\n" and paths["out"].read_text() == "SAVANA\n"
    with pytest.raises(SystemExit) as ended:
        other_words.main(given)
    assert ended.value.code == 2 and "--out already exists" in capsys.readouterr().err
    paths["out"].unlink()
    (tmp_path / "unlikely").write_text("CSVBNS HAVANA")
    for name, message in (("none", "none"), ("unlikely", "Received: 2 different words, none")):
        with pytest.raises(SystemExit) as ended:
            other_words.main([str(tmp_path / name), *given[1:]])
        error = capsys.readouterr().err
        assert ended.value.code == 2 and error.count("\n") == 1 and message in error
    assert not paths["out"].exists()
