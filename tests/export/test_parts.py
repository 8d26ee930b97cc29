"""Parts of a corpus: pieces that cover the whole part, and outputs that keep the input's data."""

import datetime
import decimal
import importlib
import json
import math
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "export" / "offline"
LINES = [
    b"one",
    b"",
    b"two three\r",
    "f\u00fcnf".encode(),
    b"not \xff UTF-8",
    b"a\tb",
    b"long " * 9,
]


def text_of(line):
    """Return the text of a line or the path of a file; None for invalid UTF-8."""
    return None if b"\xff" in line else line.removesuffix(b"\r").decode()


@pytest.fixture(scope="module")
def parts():
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("parts")
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("line_parts", "table_parts", "parts"):
            sys.modules.pop(name, None)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def translated(part, path, names, size, result_of):
    """Write a part's output, where `result_of` maps an input to its triple. Return the bytes."""
    with part.writing(path, names) as add:
        for span in part.spans(size):
            add(*span, [result_of(one) for one in part.inputs(*span)])
    return path.read_bytes()


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_pieces_of_any_size_hold_each_line_once_and_in_order(parts, write, end):
    content = b"\n".join(LINES) + end
    part = parts.part_of(write("a.txt", content), "text")
    for size in range(1, len(content) + 2):
        spans = [*part.spans(size)]
        assert [begin for begin, _ in spans] == [0, *(end for _, end in spans[:-1])]
        assert spans[-1][1] == len(content)
        found = [one for span in spans for one in part.inputs(*span)]
        assert found == [text_of(line) for line in LINES]
    assert len([*part.spans(1)]) == len(LINES)


def test_a_byte_order_mark_is_no_part_of_the_first_line(parts, write):
    part = parts.part_of(write("a.txt", b"\xef\xbb\xbfone\ntwo\n"), "text")
    inputs = [one for span in part.spans(1) for one in part.inputs(*span)]
    assert inputs == ["one", "two"]


def test_an_empty_file_has_no_piece_and_an_empty_output(parts, write, tmp_path):
    for name in ("empty.txt", "empty.jsonl"):
        part = parts.part_of(write(name, b""), "text")
        assert [*part.spans(9)] == []
        assert translated(part, tmp_path / "out", ("t", "s", "c"), 9, None) == b""


def test_an_endless_line_is_refused(parts, write, monkeypatch):
    monkeypatch.setattr("line_parts.LONGEST_LINE", 100)
    part = parts.part_of(write("a.txt", b"x" * 300), "text")
    with pytest.raises(ValueError, match="at most 100 bytes. Received: part=.*a.txt"):
        [*part.spans(20)]


def test_a_line_of_text_gets_its_translation_in_front(parts, write, tmp_path):
    part = parts.part_of(write("a.txt", b"one\ttwo\r\n\xff\nthree"), "text")
    results = {"one\ttwo": ("eins\tz\nwei", -0.12346, 0.5), "three": ("", 0.0, 1.0)}
    found = translated(
        *(part, tmp_path / "out", ("t", "s", "c"), 1),
        lambda one: results.get(one, ("", math.nan, math.nan)),
    )
    assert found == b"eins z wei\t-0.1235\t0.5000\tone\ttwo\n\t\t\t\xff\n\t0.0000\t1.0000\tthree\n"


def test_json_objects_keep_their_fields(parts, write, tmp_path):
    rows = [
        {"id": 2**70, "text": "one", "more": {"a": [1, None, 1.5]}},
        {"text": None, "lone": "\ud800"},
        {"id": "\u00fc"},
    ]
    lines = [*map(json.dumps, rows), "[1]", "no json", ""]
    part = parts.part_of(write("a.jsonl", "\n".join(lines).encode() + b"\n"), "text")
    assert [one for span in part.spans(30) for one in part.inputs(*span)] == ["one"] + [None] * 5
    bad = ("", math.nan, math.nan)
    content = translated(
        *(part, tmp_path / "out", ("t", "s", "c"), 30),
        lambda one: ("\u00e4", -0.1234567, 0.25) if one else bad,
    )
    assert "\u00e4".encode() in content and rb"\u00fc" in content
    found = [json.loads(line) for line in content.splitlines()]
    none = {"t": "", "s": None, "c": None}
    assert found == [
        {**rows[0], "t": "\u00e4", "s": -0.123457, "c": 0.25},
        *({**row, **none} for row in (*rows[1:], *({"line": line} for line in lines[3:]))),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "one", "a": 1e400}',
        b'{"text": "one", "a": 12345678901234567890.5, "b": 1.0e2, "c": -0.0}',
        b'{"text": "one", "a": %s}' % (b"9" * 6000),
        b'{"a": NaN, "text":"one","a":"twice" , "b": "\\u00e9\\ud800"}',
        b' {"text": "one", "b": {"c": [1E+2, "\xed\xa0\x80"]} }  ',
    ],
)
def test_the_fields_of_an_object_are_written_as_they_were_read(parts, write, tmp_path, line):
    part = parts.part_of(write("a.jsonl", line + b"\n"), "text")
    names = ("new", "score", "sure")
    content = translated(part, tmp_path / "out", names, 30, lambda _: ("eins", -0.5, 0.25))
    head = line.rstrip().removesuffix(b"}").rstrip()
    assert content == head + b', "new": "eins", "score": -0.5, "sure": 0.25}\n'


def test_an_empty_object_gets_the_new_names_alone(parts, write, tmp_path):
    part = parts.part_of(write("a.jsonl", b"{ }\n"), "text")
    none = ("", math.nan, math.nan)
    content = translated(part, tmp_path / "out", ("t", "s", "c"), 30, lambda _: none)
    assert json.loads(content) == {"t": "", "s": None, "c": None}


def test_a_name_that_an_object_has_is_refused(parts, write, tmp_path):
    part = parts.part_of(write("a.jsonl", b'{"text": "one", "score": 3}\n'), "text")
    with pytest.raises(ValueError, match="must be new. Received: part=.*with .'score'.. Set"):
        translated(part, tmp_path / "out", ("t", "score", "c"), 30, lambda one: ("", 0.0, 1.0))


def test_parts_are_found_by_name(parts, write, tmp_path):
    for name in ("b.txt", "a.jsonl", "c.parquet", ".hidden.txt", "_card.jsonl", "notes.md"):
        write(name, b"")
    found = parts.find_parts([tmp_path])
    assert [path.name for path in found] == ["a.jsonl", "b.txt", "c.parquet"]
    assert parts.find_parts([tmp_path / "b.txt"]) == [tmp_path / "b.txt"]
    with pytest.raises(ValueError, match="must have different names.*Rename one"):
        parts.find_parts([tmp_path, tmp_path / "b.txt"])
    with pytest.raises(FileNotFoundError, match="none.txt', which does not exist"):
        parts.find_parts([tmp_path / "none.txt"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="There must be a part.*empty"):
        parts.find_parts([tmp_path / "empty"])
    with pytest.raises(ValueError, match="must end in one of .txt, .jsonl, .parquet. Received"):
        parts.part_of(tmp_path / "notes.md", "text")


def test_a_table_keeps_its_columns_types_and_row_groups(parts, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra offline")
    import pyarrow.parquet as parquet

    count = 10
    texts = [None if number == 3 else f"sentence {number}" for number in range(count)]
    table = pyarrow.table(
        {
            "id": pyarrow.array([None, *range(1, count)], pyarrow.int64()),
            "text": pyarrow.array(texts),
            "price": pyarrow.array([decimal.Decimal("1.10")] * count),
            "when": pyarrow.array([datetime.datetime(2020, 1, 2)] * count, pyarrow.timestamp("ns")),
            "tags": pyarrow.array([[{"a": 1}, {"a": None}]] * count),
            "kind": pyarrow.array(["x", "y"] * 5).dictionary_encode(),
        }
    ).replace_schema_metadata({"note": "kept"})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    table = parquet.read_table(tmp_path / "a.parquet")  # Parquet renames list items
    part = parts.part_of(tmp_path / "a.parquet", "text")
    part.check(("t", "s", "c"))

    def result_of(text):
        return ("", math.nan, math.nan) if text is None else (text.upper(), 0.5, 1.0)

    for size in (1, 60, 10**6):
        spans = [*part.spans(size)]
        assert spans[0][0] == 0 and spans[-1][1] == count and len(spans) >= 3
        assert [one for span in spans for one in part.inputs(*span)] == texts
        out = tmp_path / f"{size}.parquet"
        translated(part, out, ("t", "s", "c"), size, result_of)
        found = parquet.ParquetFile(out)
        sizes = [found.metadata.row_group(group).num_rows for group in range(3)]
        assert sizes == [4, 4, 2]
        read = found.read()
        assert read.select(table.column_names).equals(table, check_metadata=True)
        assert read["t"].to_pylist() == [(one or "").upper() for one in texts]
        assert read["s"].to_pylist() == [None if one is None else 0.5 for one in texts]
    parquet.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    empty = parts.part_of(tmp_path / "empty.parquet", "text")
    assert [*empty.spans(5)] == []
    translated(empty, tmp_path / "out", ("t", "s", "c"), 5, None)
    assert parquet.read_table(tmp_path / "out").column_names == [*table.column_names, *"tsc"]


@pytest.mark.parametrize("column, names", [("none", "tsc"), ("tags", "tsc"), ("text", ["id"])])
def test_a_table_without_the_column_or_with_a_name_to_add_is_refused(
    parts, tmp_path, column, names
):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra offline")
    import pyarrow.parquet as parquet

    table = pyarrow.table({"id": [1], "text": ["one"], "tags": [["a"]]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=f"a column '{column}' of texts, and none of"):
        parts.part_of(tmp_path / "a.parquet", column).check(names)


def test_a_table_that_is_none_is_refused(parts, write):
    pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra offline")
    part = parts.part_of(write("a.parquet", b"no table, and longer than a footer"), "text")
    with pytest.raises(ValueError, match="must be a Parquet table. Received: part="):
        part.check(("t", "s", "c"))
