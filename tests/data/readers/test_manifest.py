"""Manifests that list files and their text."""

import gzip

import numpy as np
import pytest

from keras_bahdanau.data.readers.manifest import read_manifest, report_unreadable
from keras_bahdanau.sources import AudioSource

SOURCE = AudioSource(20)


@pytest.fixture
def manifest(tmp_path):
    """Function that writes a manifest next to the files a.wav and b/c.wav."""
    (tmp_path / "b").mkdir()
    for name in ("a.wav", "b/c.wav"):
        (tmp_path / name).write_bytes(b"")

    def write(text, name="train.tsv"):
        path = tmp_path / name
        content = text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.mark.parametrize("name", ["train.tsv", "train.tsv.gz"])
def test_paths_count_from_the_directory_of_the_manifest(manifest, tmp_path, monkeypatch, name):
    path = manifest("a.wav\tYES\nb/c.wav\tTWO  words\n", name)
    monkeypatch.chdir("/")
    expected = [(tmp_path / "a.wav", "YES"), (tmp_path / "b" / "c.wav", "TWO  words")]
    assert read_manifest(path) == expected


def test_an_absolute_path_stays(manifest, tmp_path):
    path = manifest(f"{tmp_path / 'a.wav'}\t\n")
    assert read_manifest(path) == [(tmp_path / "a.wav", "")]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a.wav\tx\nd.wav\ty\n", FileNotFoundError, "line 2 lists 'd.wav', no such file"),
        ("b\tx\n", ValueError, "line 1 lists 'b', a directory"),
        ("a.wav\n", ValueError, "line 1 has 1: 'a.wav'"),
        ("a.wav\tx\ty\n", ValueError, "line 1 has 3"),
        ("a.wav\tx\n\n", ValueError, "line 2 has no path"),
        ("\tx\n", ValueError, "line 1 has no path: "),
        ("", ValueError, "at least one line"),
    ],
)
def test_a_bad_line_is_named(manifest, text, error, message):
    with pytest.raises(error, match=message):
        read_manifest(manifest(text))


def test_files_that_give_nothing_are_counted_and_named(manifest):
    one, other = (path for path, _ in read_manifest(manifest("a.wav\tx\nb/c.wav\ty\n")))
    assert report_unreadable([one, other], np.array([3, 1]), SOURCE) == []
    line = f"1 file is empty or can't be read: {other}"
    assert report_unreadable([one, other], np.array([3, 0]), SOURCE) == [line]
    (many,) = report_unreadable([one, other] * 4, np.zeros(8, int), SOURCE)
    assert many.startswith("8 files are empty or can't be read: ") and many.endswith(" and 3 more")
    assert report_unreadable(["", "text"], np.zeros(2, int), SOURCE) == []


def test_files_in_another_form_are_counted_by_it_with_the_way_out(tmp_path):
    contents = [b"NIST_1A\n   1024\n", b"RIFF0000WEBPVP8 ", b"NIST_1A\n", b"<!DOCTYPE html>"]
    files = [tmp_path / f"{number}.wav" for number in range(4)]
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(content)
    assert report_unreadable(files, np.zeros(4, int), SOURCE) == [
        f"2 files are NIST SPHERE, not WAV or FLAC: {files[0]}, {files[2]}. "
        "Convert to WAV, for example with sox or ffmpeg.",
        f"1 file is WebP, not WAV or FLAC: {files[1]}. Use a recording.",
        f"1 file is an HTML page, not WAV or FLAC: {files[3]}. "
        "It may be a failed download: look at it, and download the actual file.",
    ]
