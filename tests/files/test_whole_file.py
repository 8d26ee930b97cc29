"""Files that are always replaced as a whole."""

import os

import pytest

from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.files.whole_file import new_file, replacing, write_text


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


@pytest.mark.parametrize("make", [replacing, lambda path, _: new_file(path)])
def test_a_link_in_the_place_of_a_draft_is_not_followed(tmp_path, make):
    path, other = tmp_path / "notes.txt", tmp_path / "other.txt"
    other.write_text("another's")
    for draft in (".notes.txt", f".unfinished-{os.getpid()}-notes.txt"):
        (tmp_path / draft).symlink_to(other)
    with make(path, tmp_path / ".notes.txt") as file:
        file.write_text("new")
    assert (path.read_text(), other.read_text()) == ("new", "another's")
    assert not path.is_symlink()


def test_a_disk_that_fails_late_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "notes.txt"
    path.write_text("old")

    def failing(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="must be written completely. Received: .*output error"):
        with replacing(path, tmp_path / ".notes.txt") as file:
            file.write_text("new")
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


def test_a_text_named_gz_is_compressed(tmp_path):
    path = tmp_path / "texts.de.gz"
    write_text(path, "ein Mann\neine Köchin\n")
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert read_lines(path) == ["ein Mann", "eine Köchin"]


def test_a_new_file_takes_the_place_of_no_other(tmp_path):
    path = tmp_path / "scores.json"
    with pytest.raises(FileExistsError, match=r"Received: path='.*scores.json'.*: rename it"):
        with new_file(path) as draft:
            draft.write_text("ours")
            path.write_text("another's")
    assert path.read_text() == "another's" and draft.read_text() == "ours"
    assert draft.suffix == path.suffix
    with new_file(tmp_path / "other.json") as draft:
        draft.write_text("ours")
    assert (tmp_path / "other.json").read_text() == "ours" and not draft.exists()


def test_a_new_file_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), new_file(tmp_path / "scores.json") as draft:
        draft.write_text("a part")
        raise KeyError
    assert not [*tmp_path.iterdir()]


def test_a_file_system_without_links_takes_new_files(tmp_path, monkeypatch):
    def unsupported(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    write_text(tmp_path / "one.txt", "one", new=True)
    assert (tmp_path / "one.txt").read_text() == "one"
    with pytest.raises(FileExistsError, match="in the meantime"):
        write_text(tmp_path / "one.txt", "two", new=True)
    assert (tmp_path / "one.txt").read_text() == "one"
