"""Invented words in `examples/inflect`: the stem is redrawn, the ending stays."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "inflect"
ROW = ("kitaplar", "kitapların", "N;GEN;PL")


@pytest.fixture
def hallucinate(example):
    return example("hallucinate")


def test_the_stem_is_drawn_on_both_sides_alike_and_the_ending_stays(hallucinate):
    rows = hallucinate.hallucinated([ROW], 200, seed=1)
    assert len({*rows}) == 200 and ROW not in rows
    for lemma, form, features in rows:
        assert (len(lemma), form[:6], features) == (8, lemma[:6], "N;GEN;PL")
        assert (lemma[6:], form[6:]) == ("ar", "arın")  # vowel harmony depends on them
        assert {*lemma} <= {*ROW[0]}
    assert hallucinate.hallucinated([ROW], 200, seed=1) == rows
    assert hallucinate.hallucinated([ROW], 200, seed=2) != rows


def test_letters_are_drawn_as_often_as_they_are_there(hallucinate):
    rows = hallucinate.hallucinated([ROW, ("eeeeeeee", "eeeeeeeen", "N")], 2000, seed=1)
    drawn = "".join(lemma[:6] for lemma, _, features in rows if features == "N;GEN;PL")
    assert drawn.count("e") / len(drawn) == pytest.approx(0.5, abs=0.05)


def test_several_runs_and_short_ones(hallucinate):
    assert hallucinate.stem("abcdeXfghi", "YabcdeZfghi") == [(0, 1, 3), (6, 7, 2)]
    assert hallucinate.stem("go", "went") == []
    assert hallucinate.stem("a-priori", "a-prioris") == []  # punctuation is never redrawn


def test_marks_stay_with_their_letters(hallucinate):
    row = "परिवारें", "परिवारों", "N;PL"
    assert hallucinate.stem(*row[:2]) == [(0, 0, 1)]  # the first of three letters
    rows = hallucinate.hallucinated([row], 9, seed=1)
    assert {lemma for lemma, _, _ in rows} == {"रिरिवारें", "वारिवारें", "रेंरिवारें"}


def test_few_different_words_are_fewer_rows(hallucinate):
    assert len(hallucinate.hallucinated([("aab", "aabs", "N")], 50, seed=1)) == 1  # bab, babs


def test_a_file_is_written_or_refused_in_one_line(hallucinate, tmp_path, capsys):
    forms, out = tmp_path / "forms.tsv", tmp_path / "made.tsv"
    content = "\n" + "\t".join(ROW) + "\n\n"  # empty lines are skipped, as in training
    forms.write_text(content)
    hallucinate.main([str(forms), "--lines", "5", "--out", str(out)])
    assert capsys.readouterr().out == "5 rows\n"
    assert [line.split("\t")[2] for line in out.read_text().splitlines()] == ["N;GEN;PL"] * 5
    with pytest.raises(SystemExit) as ended:
        hallucinate.main([str(forms), "--out", str(forms)])
    assert ended.value.code == 2 and "--out already exists" in capsys.readouterr().err
    assert forms.read_text() == content
    out.unlink()
    told = (("go\twent\tV\n", "have 3 letters in a row"), ("\none\n", "line 2 of"))
    for content, message in told:
        forms.write_text(content)
        with pytest.raises(SystemExit) as ended:
            hallucinate.main([str(forms), "--out", str(out)])
        said = capsys.readouterr().err
        assert ended.value.code == 2 and message in said and said.count("\n") == 1
    with pytest.raises(SystemExit):
        hallucinate.main([str(forms), "--lines", "0", "--out", str(out)])
    assert [*tmp_path.iterdir()] == [forms]
