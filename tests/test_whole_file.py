"""Files that are replaced as a whole."""

import os

import pytest

from keras_bahdanau.data.reading import read_lines
from keras_bahdanau.whole_file import replacing, write_text


def test_the_content_reaches_the_disk_before_the_file_gets_its_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "notes.txt", []
    path.write_text("old")
    fsync = os.fsync

    def noted(descriptor):
        fsync(descriptor)
        synced.append((os.read(descriptor, 9), path.read_text()))

    monkeypatch.setattr(os, "fsync", noted)
    with replacing(path, tmp_path / ".notes.txt") as file:
        file.write_text("new")
    assert synced == [(b"new", "old")]
    assert path.read_text() == "new" and [*tmp_path.iterdir()] == [path]


def test_a_disk_that_fails_late_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "notes.txt"
    path.write_text("old")

    def failing(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="must reach the disk as a whole. Received: .*output error"):
        with replacing(path, tmp_path / ".notes.txt") as file:
            file.write_text("new")
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


def test_a_text_named_gz_is_compressed(tmp_path):
    path = tmp_path / "texts.de.gz"
    write_text(path, "ein Mann\neine Köchin\n")
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert read_lines(path) == ["ein Mann", "eine Köchin"]
