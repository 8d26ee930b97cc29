"""Conventions of published tables (headers, marks, separators, dictionaries), each reported."""

import csv
import io
from pathlib import Path

import pytest

from keras_bahdanau.cli.inputs import read_examples
from keras_bahdanau.cli.sentences import sentences_of
from keras_bahdanau.data import read_manifest, read_table
from keras_bahdanau.data.readers.conventions import is_header

SENTENCES = [f"the {noun} sees the {verb}\tle {verb} {noun} la" for noun in "abcd" for verb in "ef"]
SENTENCES += [f"{line} again" for line in SENTENCES]


def read(tmp_path, text, *columns, name="table.tsv"):
    """Write a table and read it. Return (pairs, reports)."""
    path, lines = tmp_path / name, []
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    pairs, _ = read_table(path, *columns, say=lines.append)
    return pairs, lines


def written(rows, **dialect):
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter="\t", lineterminator="\n", **dialect).writerows(rows)
    return stream.getvalue()


@pytest.mark.parametrize(
    "header",
    [
        *("en\tfr", "EN\tde", "en-US\tpt_BR", "eng_Latn\tfra_Latn", "English\tFrench"),
        *("français\tanglais", "русский\t中文", "sentence\ttranslation", "src\ttgt", "id\ten\tfr"),
        *("word\tpron", "path\ttranscription", "\ten\tde", "sentence_en\tsentence_de"),
        *("Lemma\tFeatures\tForm", "source text\ttarget text", '"en"\t"fr"', "text1\ttext2"),
        "client_id\tpath\tsentence_id\tsentence\tup_votes\tdown_votes\tage\tgender\taccents\tlocale",
    ],
)
def test_names_of_languages_and_of_usual_columns_are_a_header(header):
    assert is_header([header, "a\tb"])


@pytest.mark.parametrize("header", ["mossi\tdioula", "src_sent\ttgt_sent"])
def test_words_that_no_sentence_has_are_a_header(header):
    assert is_header([header, *SENTENCES])
    assert not is_header([header, *SENTENCES[:5]])  # too few to tell
    assert not is_header([header, *SENTENCES, f"a {header}"])
    assert not is_header([header, *[line.replace(" ", "") for line in SENTENCES]])  # single words


@pytest.mark.parametrize(
    "line",
    ["Go.\tVa !", "hello\tbonjour", "form\tform", "the cat\tle chat", "\t", "en\t", "a b\tc"],
)
def test_a_usual_pair_is_no_header(line):
    assert not is_header([line, "I see the cat\tje vois le chat"])


def test_a_header_of_two_files_is_told(tmp_path):
    source, target, lines = tmp_path / "train.en", tmp_path / "train.fr", []
    source.write_text("en\na b\n")
    target.write_text("fr\nc\n")
    read_examples("lines", source, target, say=lines.append)
    assert len(lines) == 1 and "is read as a pair: ('en', 'fr'). If it is a header" in lines[0]


QUOTING = [
    ([['a "b"', "c"], ["d", 'e "f"'], ["g", "h"]], {}, "2 of 6 cells"),
    ([["a", "b"], ["c", "d"]], {"quoting": csv.QUOTE_ALL}, "4 of 4 cells"),
    ([['""', '"'], ["a", "b"]], {}, "2 of 4 cells"),
]


@pytest.mark.parametrize(("rows", "dialect", "count"), QUOTING)
def test_cells_quoted_as_in_csv_are_told_with_the_remedy(tmp_path, rows, dialect, count):
    _, lines = read(tmp_path, written(rows, **dialect))
    assert len(lines) == 1 and lines[0].startswith(count) and "are quoted as in CSV" in lines[0]
    assert "csv.reader(sys.stdin, delimiter=chr(9))" in lines[0]


def test_cells_quoted_by_a_spreadsheet_for_their_commas_are_told(tmp_path):
    _, lines = read(tmp_path, '"a, b"\tc\nd\t"e, f"\n')
    assert lines[0].startswith("2 of 4 cells")


@pytest.mark.parametrize(
    "text",
    [
        '"Yes," he said.\t"Oui," dit-il.\n',
        'He said "no".\tx\n"Hello."\ty\nA "b" c\tz\n',
        '"a\tb"\n5"\t6"\n',
        '"Hello."\tSalut, toi.\nGo\tVa\n',
    ],
)
def test_quotation_marks_of_a_text_are_not(tmp_path, text):
    pairs, lines = read(tmp_path, text)
    assert lines == [] and pairs[0] == tuple(text.split("\n")[0].split("\t"))


def test_a_quoted_cell_of_several_lines_is_refused_as_csv(tmp_path):
    with pytest.raises(ValueError, match="line 1 has 1, and an unmatched quotation mark"):
        read(tmp_path, '"two\nlines"\tb\nc\td\n')


def test_quoted_lines_of_one_side_are_told(tmp_path, capsys):
    source, target, lines = tmp_path / "s", tmp_path / "t", []
    source.write_text('"a, b"\nc\n')
    target.write_text("x\ny\n")
    read_examples("lines", source, target, say=lines.append)
    assert len(lines) == 1 and lines[0].startswith("1 of 2 cells of ")
    sentences_of(source, None)
    assert "1 of 2 cells" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a,b\nc,d\n", "commas, as in CSV"),
        ('"a, b",c\nd,"e\nf"\n', "commas, as in CSV"),
        ("a;b\nc;d\n", "semicolons, as in CSV"),
        ("LJ001-0001|Printing, in the|Printing, in the\nLJ001-0002|in being|in being\n", "'|'"),
        ("a b ||| c\nd ||| e\n", r"' \|\|\| '"),
        ("a\\tb\nc\\td\n", "the letters"),
    ],
)
def test_columns_without_tabs_are_named_by_what_separates_them(tmp_path, text, name):
    for reader in (read_table, read_manifest):
        path = tmp_path / "table.tsv"
        path.write_text(text)
        with pytest.raises(ValueError, match=f"separated by {name}.*Use tabs: ") as error:
            reader(path)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b'{"en": "a", "fr": "b"}\n', r"a JSON Lines file. Name it \*.jsonl for `train`"),
        (b'[{"en": "a"}]\n', "a JSON array. Write one object per line"),
        (b'<?xml version="1.0"?>\n<tmx version="1.4">\n', r"a TMX file. Name it \*.tmx"),
        (b"<!DOCTYPE html>\n<html>\n<head>\n", "an HTML page"),
        (b"PAR1\x15\x04", "a Parquet file. Read it with pandas.read_parquet"),
    ],
)
def test_a_table_of_another_form_is_named_with_its_remedy(tmp_path, text, form):
    with pytest.raises(ValueError, match=form):
        read(tmp_path, text)


def test_sentences_to_translate_are_no_csv(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("a,b\nc,d\n")
    with pytest.raises(ValueError, match="commas, as in CSV"):
        sentences_of(path, None)


def test_carriage_returns_inside_of_lines_are_told(tmp_path):
    pairs, lines = read(tmp_path, b"a\tb\rc\nd\te\r\n")
    assert pairs == [("a", "b\rc"), ("d", "e")]
    assert len(lines) == 1 and lines[0].startswith("1 line of ") and "tr '\\r'" in lines[0]


READ = [("READ", "R EH1 D"), ("READ", "R IY1 D"), ("'TIS", "T IH1 Z")]
EDITIONS = {
    "0.7b": ";;; # CMUdict\n;;; comment\nREAD  R EH1 D\nREAD(1)  R IY1 D\n'TIS  T IH1 Z\n",
    "cmudict.dict": "read R EH1 D\nread(2) R IY1 D\n'tis T IH1 Z # archaic\n",
    "cmudict-en-us.dict": "read R EH D\nread(2) R IY D\n'tis T IH Z\n",
    "SPHINX_40": "READ\tR EH D\nREAD(2)\tR IY D\n'TIS\tT IH Z\n",
    "two spaces": "read  ɹ ɛ d\nread(2)  ɹ iː d\n'tis  t ɪ z\n",
    "tabs": "read\tɹ ɛ d\nread(2)\tɹ iː d\n'tis\tt ɪ z\n",
}


@pytest.mark.parametrize("edition", EDITIONS)
def test_pronouncing_dictionaries_give_further_answers_of_a_word(tmp_path, edition):
    pairs, lines = read(tmp_path, EDITIONS[edition], name="dictionary")
    assert [source.upper() for source, _ in pairs] == [source for source, _ in READ]
    assert not any("#" in target or "  " in target for _, target in pairs)
    assert "1 word of " in lines[-1] and "are read as further answers for the same" in lines[-1]
    assert ("2 comments of " in lines[0]) == (edition == "0.7b")


def test_words_of_cmudict_that_begin_with_a_sign_are_words(tmp_path):
    text = ';;; a comment\n#HASH-MARK  HH AE1 M\n"CLOSE-QUOTE  K L OW1 Z\n;SEMI-COLON  S EH1\n'
    pairs, lines = read(tmp_path, text)
    assert [source for source, _ in pairs] == ["#HASH-MARK", '"CLOSE-QUOTE', ";SEMI-COLON"]
    assert len(lines) == 1


@pytest.mark.parametrize(
    "text",
    [
        "f(1)\ty\ng\tz\n",  # no entry for f itself
        "sin\tthe sine function\nsin(1)\tthe sine of one\n",  # words, not phones
        "f x\tA B\nf x(1)\tA C\n",
    ],
)
def test_numbers_in_parentheses_of_other_tables_stay(tmp_path, text):
    pairs, lines = read(tmp_path, text)
    assert [source for source, _ in pairs] == [line.split("\t")[0] for line in text.splitlines()]
    assert lines == []


def test_a_memory_and_json_lines_are_read_for_training(tmp_path):
    memory, records, lines = tmp_path / "m.tmx", tmp_path / "r.jsonl", []
    unit = '<tu><tuv lang="fr"><seg>b</seg></tuv><tuv lang="en"><seg>a</seg></tuv></tu>'
    memory.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{unit}</body></tmx>')
    records.write_text('{"source": "a", "target": "b"}\n{"t": "c", "source": "d", "target": "e"}\n')
    assert read_examples("lines", memory, say=lines.append).pairs == [("a", "b")]
    assert lines == [f"languages of the TMX {str(memory)!r}: en -> fr"]
    assert read_examples("lines", memory, columns="fr,en").pairs == [("b", "a")]
    assert read_examples("lines", records).pairs == [("a", "b"), ("d", "e")]
    with pytest.raises(ValueError, match="`answer_separator` is only for a single TSV of texts"):
        read_examples("lines", memory, answer_separator=";")
    with pytest.raises(ValueError, match="JSON lines or TMX by its name"):
        sentences_of(Path(records), None)
    with pytest.raises(ValueError, match="JSON lines or TMX by its name"):
        read_examples("lines", records, memory)
