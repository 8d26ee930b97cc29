"""Reading of pairs: what is kept, and the one line that says what is wrong."""

import gzip
import subprocess
import sys

import pytest

from keras_bahdanau.data import reading
from keras_bahdanau.data.reading import decode_lines, read_lines, read_pairs


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return path


def message_of(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def test_two_files_are_read_line_by_line(tmp_path):
    source = write(tmp_path / "s.en", "a b\nc\n")
    target = write(tmp_path / "t.de", "x\ny z")
    assert read_pairs(source, target) == [("a b", "x"), ("c", "y z")]
    assert read_pairs(str(source), str(target)) == [("a b", "x"), ("c", "y z")]


def test_gzip_and_plain_files_mix(tmp_path):
    source = write(tmp_path / "s.gz", gzip.compress("é\nb\n".encode()))
    target = write(tmp_path / "t", "1\n2\n")
    assert read_pairs(source, target) == [("é", "1"), ("b", "2")]


def test_tsv_gives_its_two_columns(tmp_path):
    path = write(tmp_path / "p.tsv", "a\tx\n\n\ty\n")
    assert read_pairs(path) == [("a", "x"), ("", ""), ("", "y")]


def test_empty_lines_are_kept(tmp_path):
    assert read_lines(write(tmp_path / "f", "\na\n\n\nb\n\n")) == ["", "a", "", "", "b", ""]
    assert read_lines(write(tmp_path / "g", "\n")) == [""]


def test_windows_line_ends_and_byte_order_mark_are_dropped(tmp_path):
    path = write(tmp_path / "f", b"\xef\xbb\xbfa\r\n\r\nb\r\n")
    assert read_lines(path) == ["a", "", "b"]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"])
def test_other_separators_do_not_end_a_line(tmp_path, mark):
    assert read_lines(write(tmp_path / "f", f"a{mark}b\nc\n")) == [f"a{mark}b", "c"]


def test_no_text_has_no_lines():
    assert decode_lines(b"", "stdin") == []
    assert decode_lines(b"a\nb", "stdin") == ["a", "b"]


def test_unequal_line_counts_are_both_named(tmp_path):
    source, target = write(tmp_path / "s", "a\nb\nc\n"), write(tmp_path / "t", "x\ny\n")
    with pytest.raises(ValueError) as error:
        read_pairs(source, target)
    message = message_of(error)
    assert f"{str(source)!r} with 3 lines" in message
    assert f"{str(target)!r} with 2 lines" in message


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        read_lines(tmp_path / "none.en")
    assert "none.en" in message_of(error)


def test_directory_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is a directory") as error:
        read_pairs(tmp_path)
    message_of(error)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_empty_file_is_refused(tmp_path, data):
    with pytest.raises(ValueError, match="which is empty") as error:
        read_lines(write(tmp_path / "f", data))
    message_of(error)


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"\xff", 1), (b"a\nb\xc3\nc\n", 2), (b"\xef\xbb\xbfa\n\n\xe2\x82", 3)],
)
def test_line_of_invalid_utf8_is_named(tmp_path, data, line):
    with pytest.raises(ValueError, match=f"whose line {line} ") as error:
        read_lines(write(tmp_path / "bad.txt", data))
    assert "bad.txt" in message_of(error)


@pytest.mark.parametrize(("line", "columns"), [("b", 1), ("b\ty\tz", 3), (" ", 1)])
def test_tsv_line_with_other_columns_is_named(tmp_path, line, columns):
    path = write(tmp_path / "p.tsv", f"a\tx\n{line}\n")
    with pytest.raises(ValueError, match=f"whose line 2 has {columns}") as error:
        read_pairs(path)
    assert "p.tsv" in message_of(error)


WHOLE = gzip.compress(b"some text\n" * 50, mtime=0)


@pytest.mark.parametrize(
    "data", [b"plain text\n", WHOLE[:-9], WHOLE[:5], WHOLE[:20] + b"\0\0\0" + WHOLE[23:]]
)
def test_damaged_gzip_is_refused(tmp_path, data):
    with pytest.raises(ValueError, match="whole gzip file") as error:
        read_lines(write(tmp_path / "f.gz", data))
    assert "f.gz" in message_of(error)


def test_gzip_that_unfolds_to_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "SMALL", 2**20)
    path = write(tmp_path / "f.gz", gzip.compress(b"a\n" * 2**19))
    assert len(read_lines(path)) == 2**19
    bomb = gzip.compress(b"a\n" * 2**19)
    path = write(tmp_path / "g.gz", bomb + gzip.compress(b"a\n"))
    with pytest.raises(ValueError, match=r"g.gz' of [\d,]+ bytes, .* more than 1,048,576"):
        read_lines(path)


def test_reading_needs_no_tensorflow():
    code = (
        "import sys; from keras_bahdanau.data import read_pairs;"
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
