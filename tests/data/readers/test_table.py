"""Tables as published: columns by name, features as symbols, several answers for one source."""

import gzip
import re
import time

import pytest

from keras_bahdanau.data import read_pairs, read_table
from keras_bahdanau.data.readers.table import PAIRS, find_columns

INFLECTION = "kuzu\tkuzular\tN;NOM;PL\nvade\tvadem\tN;NOM;SG;PSS1S\n"


def written(tmp_path, text, name="table.tsv"):
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["table.tsv", "table.tsv.gz"])
def test_features_stand_behind_the_source_as_one_word_each(tmp_path, name):
    pairs, symbols = read_table(written(tmp_path, INFLECTION, name), "source,target,features")
    assert pairs == [
        ("kuzu <N> <NOM> <PL>", "kuzular"),
        ("vade <N> <NOM> <SG> <PSS1S>", "vadem"),
    ]
    assert symbols == ["<N>", "<NOM>", "<PL>", "<SG>", "<PSS1S>"]


@pytest.mark.parametrize(
    "cell",
    [
        "Case=Nom,Number=Sing",
        "Case=Nom|Number=Sing",
        "Case=Nom;Number=Sing",
        "Case=Nom Number=Sing;",
    ],
)
def test_features_are_split_as_their_schemes_do(tmp_path, cell):
    pairs, _ = read_table(written(tmp_path, f"{cell}\tx\ty\n"), "features,source,target")
    assert pairs == [("x <Case=Nom> <Number=Sing>", "y")]


def test_columns_come_in_any_order_and_some_are_ignored(tmp_path):
    path = written(tmp_path, "1\tд ж\tgen\tnote\n2\tа\ta b\t\n")
    assert read_table(path, "count,target,source,-").pairs == [("gen", "д ж"), ("a b", "а")]
    assert read_table(path, "-,-,source,-", needed=("source",)).pairs == [("gen", ""), ("a b", "")]


def test_a_source_without_features_and_an_empty_one_have_no_symbols(tmp_path):
    path = written(tmp_path, "x\ty\t\n\tz\tN\n\n")
    pairs, symbols = read_table(path, "source,target,features")
    assert pairs == [("x", "y"), ("", "z"), ("", "")]
    assert symbols == ["<N>"]


def test_spaces_at_the_ends_of_a_cell_are_no_part_of_it(tmp_path):
    path = written(tmp_path, " New York \t n u \tN;SG \nto\t t u\t V;PST\n")
    pairs, _ = read_table(path)  # its features are recognized
    assert pairs == [("New York <N> <SG>", "n u"), ("to <V> <PST>", "t u")]


def test_each_answer_of_a_cell_makes_a_pair_once(tmp_path):
    path = written(tmp_path, "a\tx; y;x;\nb\t;\nc\tz\n")
    expected = [("a", "x"), ("a", "y"), ("b", ""), ("c", "z")]
    assert read_table(path, answer_separator=";").pairs == expected
    assert read_table(path).pairs[0] == ("a", "x; y;x;")


def test_two_columns_are_those_of_read_pairs(tmp_path):
    path = written(tmp_path, " a \tx\u2028\n\n\u00e9\te\u0301\n")
    assert read_table(path).pairs == read_pairs(path)
    assert read_pairs(path) == [("a", "x\u2028"), ("", ""), ("\u00e9", "e\u0301")]


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (["a\tb"], "source,target"),
        (["a\tV;PST"], "source,target"),
        (["a\tb\t1", "", "c\td e\t20.5"], "source,target,count"),
        (["a b\tb\tV;PST", "c\td\tN", "e\tf\tN;SG"], "source,target,features"),
        (
            ["a\tb\tCase=Nom|Number=Sing", "c\td\t", "", "e\tf\tN;IN+ESS;{1/2}"],
            "source,target,features",
        ),
        (["a\tV;PST\tb", "c\tN\td", "e\tN;SG\tf"], "source,features,target"),
        (["a\tpos=V,tense=PST\tb", "c\tpos=N,num=SG\td"], "source,features,target"),
        (["V;PST\ta\tb", "N;SG\tc\td"], "features,source,target"),
        (["7\ta\tb", "8\tc\td"], "count,source,target"),
        (["7\tone\t1", "8\ttwo\t2"], "source,target,count"),
        (["7\ta\t12\tb", "8\tc\t13\td"], "count,source,count,target"),
        (["a\t0.99\t0.14\t1.0\t1.0\tb", "c\t1\t1\t1\t1\td"], f"source,{'count,' * 4}target"),
        (["a\tb\t", "c\td\t"], "source,target,-"),
        (["a\tb\tV;PST", "c\td\tN", "e\tf\tN"], None),  # only one row in three has several features
        (["a\tb\tN;SG", "c\td\tN;PL;past tense"], None),
        (["a\tb\tV;IND;PST;3;SG", "c\td\tV.PTCP;IN+ABL;"], "source,target,features"),
        (["a\tb\tcat;dog"], None),
        (["a\tb\tein; zwei"], None),
        (["a\tb\t猫;犬"], None),
        (["a\tb\t1", "c\td\tx"], None),
        (["a\tb\t1", "c\td"], None),
        (["a\tb\tc\t1"], None),
        (["a"], None),
        (["", ""], None),
        ([], None),
    ],
)
def test_columns_are_found_from_the_text_alone(rows, columns):
    assert find_columns(rows) == columns


@pytest.mark.parametrize("last", ["a=b" * 30_000 + "é", "=" * 90_000 + " =", "1" * 90_000 + "x"])
def test_a_long_cell_takes_no_time(last):
    began = time.process_time()
    assert find_columns([f"a\tb\tN;{last}"]) is None
    assert time.process_time() - began < 1


def test_language_codes_before_a_text_are_ignored(tmp_path):
    words = ["one dog", "two dogs", "a cat", "some cats", "the end"]
    rows = [f"{number}\ten\t{word}\tpt-BR\t{word[::-1]}" for number, word in enumerate(words)]
    assert find_columns(rows) == "count,-,source,-,target"
    labels = [f"{number}\t{word}\tpos" for number, word in enumerate(words)]
    assert find_columns(labels) == "count,source,target"  # a code after the text is a label
    path = tmp_path / "sentences.csv"
    path.write_text("".join(f"{number}\tdeu\t{word}\n" for number, word in enumerate(words)))
    with pytest.raises(ValueError, match="contains languages, such as 'deu'. Write each"):
        read_table(path)
    assert read_table(path, needed=("source",)).pairs[0] == ("one dog", "")


def test_features_are_found_without_a_target_where_none_is_needed():
    rows = ["kuzu\tN;NOM;PL", "vade\tN;SG"]
    assert find_columns(rows, needed=("source",)) == "source,features"
    assert find_columns(["kuzu\tkuzular"], needed=("source",)) == "source,target"


def test_columns_that_were_found_are_told_unless_they_are_the_two_sides(tmp_path):
    lines = []
    path = written(tmp_path, INFLECTION)
    found = read_table(path, say=lines.append)
    assert found == read_table(path, "source,target,features")
    assert lines == [f"columns of {str(path)!r}, inferred from its text: source,target,features"]
    assert read_table(written(tmp_path, "a\tb\t3\n"), "source,target,-", say=lines.append)
    assert read_table(written(tmp_path, "a\tb\n"), say=lines.append).pairs == [("a", "b")]
    assert len(lines) == 1


@pytest.mark.parametrize("header", ["source\ttarget", "Word\tPronunciation", "src \tTGT"])
def test_a_header_is_told_and_stays_a_pair(tmp_path, header):
    lines = []
    path = written(tmp_path, f"{header}\na\tb\n")
    assert read_table(path, say=lines.append) == read_table(path)
    assert len(read_table(path).pairs) == 2
    line = f"line 1 of {str(path)!r} is read as a pair: {header!r}. If it is a header, remove it"
    assert lines == [line]
    path = written(tmp_path, f"{header}\tfeatures\na\tb\tV;PST\n")
    assert read_table(path, "source,target,features", say=lines.append)
    assert len(lines) == 2


@pytest.mark.parametrize("line", ["form\tform", "word\tw ɜː d", "target noise\tsource", "", "\t"])
def test_other_first_lines_are_no_header(tmp_path, line):
    lines = []
    read_table(written(tmp_path, f"{line}\nsource\ttarget\n"), say=lines.append)
    assert not lines


@pytest.mark.parametrize(
    ("lines", "number", "received"),
    [
        (["Go.\tGeh.\tCC-BY 2.0 (France)"], 1, "CC-BY 2.0"),
        (["euwe\tэ й в е\t1", "dylan\tд и л а н\t1,234"], 2, "'1,234'"),
        (["go\twent\tV", "be\tam\tV;PRS", "do\tdid\tpast tense"], 3, "'past tense'"),
        (["go\twent\tV;PST", "be\tam", "do\tdid\tV;PST"], 2, "3 columns, .* 2 has 2"),
    ],
)
def test_the_first_line_that_hides_a_third_column_is_named(tmp_path, lines, number, received):
    path = written(tmp_path, "".join(f"{line}\n" for line in lines))
    with pytest.raises(ValueError, match=f"(?=.*line {number} has)(?=.*{received}).*name all colu"):
        read_table(path)
    if len({line.count("\t") for line in lines}) == 1:
        with pytest.raises(ValueError, match="order: columns='source,target,-' ignores the third"):
            read_table(path)
        assert len(read_table(path, "source,target,-").pairs) == len(lines)


def test_a_header_of_more_than_two_columns_is_refused(tmp_path):
    for header, row in (("lemma\tform\tfeatures", "go\twent\tV;PST"), ("id\ten\tfr", "1\ta\tb")):
        path = written(tmp_path, f"{header}\n{row}\n")
        with pytest.raises(ValueError, match=r"no header.*line 1 is .*Remove it with tail -n \+2"):
            read_table(path)


def test_the_second_column_is_proposed_as_features_where_it_has_such(tmp_path):
    path = written(tmp_path, "Haus\tPL\tHäuser\nHaus\tSG\tHaus\n")
    with pytest.raises(
        ValueError, match="columns='source,features,target' reads the second"
    ) as error:
        read_table(path)
    assert "source,target" not in str(error.value)


@pytest.mark.parametrize("columns", ["source,target,-", None])
def test_targets_that_look_like_features_are_told(tmp_path, columns):
    lines, third = [], "" if columns is None else "\tx"
    path = written(tmp_path, f"walk\tV;PST{third}\ngo\tV;PRS{third}\n")
    assert read_table(path, columns, say=lines.append).pairs[0] == ("walk", "V;PST")
    assert len(lines) == 1 and "look like features, such as 'V;PST'" in lines[0]
    read_table(written(tmp_path, "N;SG\tN;SG\nV;PST\tV;PRS\n"), columns=PAIRS, say=lines.append)
    assert len(lines) == 1


def test_a_third_column_of_single_features_is_refused_with_the_way_to_read_it(tmp_path):
    path = written(tmp_path, "Haus\tHäuser\tPL\nHaus\tHaus\tSG\n")
    with pytest.raises(ValueError, match="'PL'.*'source,target,features' reads it as features"):
        read_table(path)
    assert read_table(path, "source,target,features").symbols == ["<PL>", "<SG>"]


@pytest.mark.parametrize(
    ("text", "columns", "received"),
    [
        ("a\tb\nc\td\te\n", "source,target", "table.tsv', whose line 2 has 3. Correct"),
        (
            "a\tb\n",
            "source,target,features",
            "3 columns, source, target, features, .* line 1 has 2",
        ),
        ("a\tb\tN\nc\td\tN;unk\n", "source,target,features", "line 2 has 'unk'. Rename"),
        ("a\tb\t▁N\n", "source,target,features", "line 1 has '▁N'. Rename"),
    ],
)
def test_a_wrong_line_is_named_with_its_file(tmp_path, text, columns, received):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=received) as error:
        read_table(path, columns)
    assert re.escape(str(path)) in re.escape(str(error.value)) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "columns",
    [
        *("", "source", "source,target,lemma", "source,source,target", "target,features"),
        "source,target,features,features-first",
    ],
)
def test_columns_must_be_known_and_hold_both_sides(tmp_path, columns):
    with pytest.raises(ValueError, match="`columns` must be names from .* Received: columns="):
        read_table(written(tmp_path, "a\tb\n"), columns)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("a\tb\n", {"columns": "source" * 1000}),
        ("a\tb\n", {"answer_separator": "\t" * 1000}),
        (f"a\tb\t{'▁' * 1000}\n", {"columns": "source,target,features"}),
        (
            f"a\tb\t{';'.join(f'{n:0500}' for n in range(1025))}",
            {"columns": "source,target,features"},
        ),
    ],
    ids=["columns", "separator", "feature", "features"],
)
def test_a_refusal_of_long_text_stays_short(tmp_path, text, arguments):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match="Received: ") as error:
        read_table(path, **arguments)
    assert len(str(error.value)) < 400 + len(str(path))


def test_a_column_of_text_is_not_taken_for_features(tmp_path):
    path = written(tmp_path, "".join(f"a\tb\tw{number}\n" for number in range(1025)))
    with pytest.raises(ValueError, match="at most 1,024 .* line 1025 has one more, 'w1024'"):
        read_table(path, "source,target,features")


@pytest.mark.parametrize("separator", ["", "\t"])
def test_a_separator_must_be_text(tmp_path, separator):
    with pytest.raises(ValueError, match="Received: answer_separator="):
        read_table(written(tmp_path, "a\tb\n"), answer_separator=separator)


def test_features_stand_where_a_column_says(tmp_path):
    path = written(tmp_path, "walk\twalked\tV;PST\n\tx\tN\ngo\twent\t\n")
    last = [("walk <V> <PST>", "walked"), ("", "x"), ("go", "went")]
    first = [("<V> <PST> walk", "walked"), ("", "x"), ("go", "went")]
    for name, expected in (("features", last), ("features-last", last), ("features-first", first)):
        pairs, symbols = read_table(path, f"source,target,{name}")
        assert pairs == expected and symbols == ["<V>", "<PST>", "<N>"]
