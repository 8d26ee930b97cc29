"""Reading word alignments from files."""

import gzip

import pytest

from keras_bahdanau.data import read_alignments


def test_each_line_holds_the_links_of_a_pair(tmp_path):
    path = tmp_path / "links.txt"
    path.write_text("0-0 1?2\n\n2-1\n")
    sure, possible = read_alignments(path)
    assert sure == [{(0, 0)}, set(), {(2, 1)}]
    assert possible == [{(0, 0), (1, 2)}, set(), {(2, 1)}]


def test_a_compressed_file_reads_alike(tmp_path):
    path = tmp_path / "links.gz"
    path.write_bytes(gzip.compress(b"3-4\r\n0-0"))
    assert read_alignments(path)[0] == [{(3, 4)}, {(0, 0)}]


def test_a_line_that_holds_something_else_is_named(tmp_path):
    path = tmp_path / "links.txt"
    path.write_text("0-0\n1-1 2:2\n")
    with pytest.raises(ValueError, match=r"links.txt', line 2: .*Received: item='2:2'"):
        read_alignments(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_alignments(tmp_path / "nowhere")
