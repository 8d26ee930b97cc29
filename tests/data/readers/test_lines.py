"""Reading pairs of lines: the text that is kept, and one-line errors."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
import time

import pytest

from keras_bahdanau.data.readers import lines
from keras_bahdanau.data.readers.lines import decode_lines, read_lines
from keras_bahdanau.data.readers.parallel_files import read_alignments, read_pairs


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
    with pytest.raises(ValueError, match="must be a complete gzip file") as error:
        read_lines(write(tmp_path / "f.gz", data))
    assert "f.gz" in message_of(error)


def test_gzip_that_unfolds_to_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "SMALL", 2**20)
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


ENCODED = {
    encoding: "a b\nc\n".encode(encoding) for encoding in ("utf-16-le", "utf-16-be", "utf-32")
}


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_text_of_another_encoding_is_refused(tmp_path, data):
    path = write(tmp_path / "f", data)
    with pytest.raises(ValueError, match=r"whose line 1 contains the byte 0x(00|ff)") as error:
        read_lines(path)
    assert repr(str(path)) in message_of(error)


@pytest.mark.parametrize("byte", [0, 1, 8, 14, 26, 27, 127])
@pytest.mark.parametrize("name", ["f", "f.gz"])
def test_a_control_character_is_named_with_its_line(tmp_path, byte, name):
    data = b"a\nb\nc" + bytes([byte]) + b"\n"
    path = write(tmp_path / name, gzip.compress(data) if name == "f.gz" else data)
    with pytest.raises(ValueError, match=f"whose line 3 contains the byte 0x{byte:02x}. Remove it"):
        read_lines(path)


@pytest.mark.parametrize("data", [b"a\rb\rc\r", b"a\rb", b"\xef\xbb\xbfa\r\rb"])
def test_lines_that_end_in_cr_alone_are_refused(tmp_path, data):
    with pytest.raises(ValueError, match=r"must end in \\n or \\r\\n") as error:
        read_lines(write(tmp_path / "f", data))
    assert "tr '\\r' '\\n'" in message_of(error)
    assert read_lines(write(tmp_path / "g", b"a\r")) == ["a"]


def test_a_byte_order_mark_is_no_text_where_a_line_or_a_column_begins():
    for first_line in (1, 2):  # two files that were joined have two
        assert decode_lines(
            b"\xef\xbb\xbfa\n\xef\xbb\xbfb\t\xef\xbb\xbfc", "stdin", first_line
        ) == [
            "a",
            "b\tc",
        ]
    assert decode_lines("a\ufeffb\n".encode(), "stdin") == ["a\ufeffb"]
    assert decode_lines(b"a\rb", "stdin", first_line=2) == ["a\rb"]


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ("J'ai déjà mangé.", "latin-1", "ISO-8859-1"),
        ("J’ai déjà mangé.", "cp1252", "CP1252"),
        ("DÉJÀ  D EY2 ZH AA1", "latin-1", "ISO-8859-1"),
        ("これは私の本です。", "cp932", "SHIFT_JIS"),
        ("猫が好きです。", "euc_jp", "EUC-JP"),
        ("我今天去了學校。", "big5", "BIG5"),
        ("我今天去了学校。", "gbk", "GB18030"),
        ("나는 오늘 학교에 갔다.", "euc_kr", "EUC-KR"),
        ("Кошка спит.", "cp1251", "CP1251"),
        ("Кошка спит.", "koi8_r", "KOI8-R"),
        ("Zażółć gęślą jaźń", "cp1250", "CP1250"),
        ("a b", "utf-16-le", "UTF-16LE"),
        ("我今天去了学校。", "utf-16-be", "UTF-16BE"),
        ("a b", "utf-16", "UTF-16"),
        ("a b", "utf-32-be", "UTF-32BE"),
    ],
)
def test_the_encoding_of_text_is_named_with_the_way_to_utf8(tmp_path, text, encoding, name):
    path = write(tmp_path / "f", f"{text}\nabc\n".encode(encoding))
    with pytest.raises(ValueError, match=f"{name}: convert it with iconv -f {name} -t UTF-8"):
        read_lines(path)


@pytest.mark.parametrize("data", ["žluťoučký kůň".encode() + b"\xff\n", b"one\0two\nthree\n"])
def test_a_damaged_line_has_no_other_encoding(tmp_path, data):
    with pytest.raises(ValueError, match="line 1 contains the byte") as error:
        read_lines(write(tmp_path / "f", data))
    assert "iconv" not in message_of(error)


@pytest.mark.parametrize("name", ["text.txt", "text.gz"])
def test_a_file_of_another_form_is_named_with_its_remedy(tmp_path, name):
    for data, form in (
        (bz2.compress(b"a\n"), "a bzip2 file"),
        (lzma.compress(b"a\n"), "an xz file"),
    ):
        with pytest.raises(ValueError, match=f"be UTF-8 text.*{name}', {form}. Unpack it: un|bun"):
            read_lines(write(tmp_path / name, data))


def test_gzip_is_read_by_its_first_bytes(tmp_path):
    assert read_lines(write(tmp_path / "f", gzip.compress(b"a\nb\n"))) == ["a", "b"]
    with pytest.raises(ValueError, match="a gzip file. Unpack it"):
        read_lines(write(tmp_path / "g.gz", gzip.compress(gzip.compress(b"a\n"))))


PAGE = "<!DOCTYPE html>\n<html>\n<head>\n<title>404</title>\n"


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("train.en", PAGE, "an HTML page"),
        (
            "train.en",
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d\n",
            "a Git LFS pointer",
        ),
        ("train.en", '<?xml version="1.0"?>\n<tmx version="1.4">\n<header/>\n', "a TMX file"),
        ("train.en", '[\n{"a": "b"}\n]\n', "a JSON array"),
    ],
)
def test_markup_is_no_sentence(tmp_path, name, text, form):
    with pytest.raises(ValueError, match=form):
        read_lines(write(tmp_path / name, text))


@pytest.mark.parametrize("line", ['{"a": "b"}', "<html>x</html>"])
def test_sentences_may_be_markup(tmp_path, line):
    """The targets of a task may be markup, for example."""
    assert read_lines(write(tmp_path / "train.txt", f"{line}\n" * 3)) == [line] * 3


def test_an_empty_file_may_be_allowed(tmp_path):
    assert read_lines(write(tmp_path / "f", b""), may_be_empty=True) == []


@pytest.fixture
def fifo(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


@pytest.mark.few(1)
@pytest.mark.parametrize("wait", [0.0, 0.2])
def test_a_named_pipe_is_read_to_its_end(fifo, wait):
    def write_later():
        time.sleep(wait)
        with open(fifo, "wb") as stream:
            stream.write(b"a\n")
            stream.flush()
            time.sleep(wait)
            stream.write(b"b\n" * 2**17)

    writer = threading.Thread(target=write_later, daemon=True)
    writer.start()
    assert read_lines(fifo) == ["a", *["b"] * 2**17]
    writer.join()


def test_a_named_pipe_without_a_writer_is_refused(fifo, monkeypatch):
    monkeypatch.setattr(lines, "PATIENCE", 0.1)
    with pytest.raises(ValueError, match="from which nothing came in 0.1 seconds"):
        read_lines(fifo)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such devices here")
def test_a_device_is_read_within_bounds(monkeypatch):
    assert read_lines("/dev/null", may_be_empty=True) == []
    with pytest.raises(ValueError, match="path='/dev/zero', whose line 1 contains the byte 0x00"):
        read_lines("/dev/zero")
    monkeypatch.setattr(lines, "LONGEST_STREAM", 2**20)
    endless = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    with endless, pytest.raises(ValueError, match="must have at most 1,048,576 bytes"):
        read_lines(f"/dev/fd/{endless.stdout.fileno()}")


def test_a_link_of_very_large_positions_is_refused(tmp_path):
    path = write(tmp_path / "links", f"0-0\n{'9' * 5000}-0\n")
    with pytest.raises(ValueError, match="line 2: A link must be written .* Received: item='999"):
        read_alignments(path)
