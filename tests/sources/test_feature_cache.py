"""Decoded inputs on disk: the same as decoding again, never damaged, and of bounded size."""

import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.sources import AudioSource, FeatureSource, ImageSource, decoded_rows
from keras_bahdanau.sources.decoded_rows import FeatureCache
from keras_bahdanau.sources.sounds import encoded

RANDOM = np.random.default_rng(0)
IMAGE = ImageSource(16, 48)
SOUNDS = [encoded(RANDOM.integers(-9000, 9000, (n, 1)).astype(np.int16), n) for n in (9999, 20000)]
PIXELS = RANDOM.integers(0, 256, (3, 16, 30, 1), np.uint8)
PNGS = [tf.io.encode_png(pixels).numpy() for pixels in PIXELS]


def never():
    raise AssertionError("it must come from the cache")


def silent(line):
    raise AssertionError(line)


def same(features, expected):
    for one, other in zip(features, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def cache(tmp_path):
    return FeatureCache(IMAGE, tmp_path / "cache", say=silent)


@pytest.fixture
def undecodable(monkeypatch):
    """Function that makes it impossible to decode images and sound."""

    def end():
        monkeypatch.setattr("keras_bahdanau.sources.images.read", never)
        monkeypatch.setattr("keras_bahdanau.sources.audio_source._row", never)

    return end


@pytest.mark.few(1)
@pytest.mark.parametrize("source, contents", [(IMAGE, PNGS), (AudioSource(20), SOUNDS)])
def test_rows_are_the_same_from_the_disk(tmp_path, source, contents, undecodable):
    path = tmp_path / "one"
    path.write_bytes(contents[0])
    inputs = [path, contents[1], contents[0][:-30], b""]
    cached = source.cached(tmp_path / "cache", say=silent)
    for longest in (None, 4):  # a cut input has a separate file
        expected = source.batch(inputs, longest)
        same(cached.batch(inputs, longest), expected)
    undecodable()
    other = source.cached(tmp_path / "cache", say=silent)
    same(other.batch(inputs, 4), expected)
    np.testing.assert_array_equal(other.batch([path]).lengths, source.rows([path]).lengths)


def test_arrays_are_not_written(tmp_path):
    IMAGE.cached(tmp_path).batch([PIXELS[0]])
    AudioSource().cached(tmp_path).batch([(np.zeros(800), 8000)])
    assert [*tmp_path.iterdir()] == []


def test_a_cache_is_no_part_of_a_source(tmp_path):
    cached = IMAGE.cached(tmp_path)
    assert cached == IMAGE and cached.get_config() == IMAGE.get_config()
    assert IMAGE.cache is None


def test_a_file_that_changes_is_decoded_anew(tmp_path):
    path = tmp_path / "one.png"
    source = IMAGE.cached(tmp_path / "cache", say=silent)
    for pixels, png in zip(PIXELS, PNGS, strict=True):
        path.write_bytes(png)
        os.utime(path, ns=(0, int(pixels[0, 0, 0])))
        np.testing.assert_array_equal(source.batch([path]).values[0, :, :30], pixels)


@pytest.mark.slow
def test_another_source_has_files_of_its_own(tmp_path):
    for source in (IMAGE, ImageSource(16, 48, ink="light")):
        same(source.cached(tmp_path).batch(PNGS), source.batch(PNGS))
    assert len([*tmp_path.iterdir()]) == 6


def test_a_damaged_file_is_written_again(cache, tmp_path):
    array = RANDOM.integers(0, 256, (16, 1, 1), np.uint8)
    same(cache.array(b"x", None, lambda: array), array)
    (file,) = (tmp_path / "cache").iterdir()
    whole = file.read_bytes()
    flipped = [
        whole[:place] + bytes([byte ^ 16]) + whole[place + 1 :] for place, byte in enumerate(whole)
    ]
    for damaged in [*flipped, whole[:-1], whole[:20], b"", whole + b"\0"]:
        file.write_bytes(damaged)
        assert cache.array(b"x", None, lambda: array) is array
        assert file.read_bytes() == whole
    cache.array(b"y", None, lambda: array + 1)
    (other,) = {*(tmp_path / "cache").iterdir()} - {file}
    shutil.copy(other, file)  # intact, but for another input
    assert cache.array(b"x", None, lambda: array) is array


def test_a_pipe_or_a_huge_file_in_a_cache_is_replaced_unread(cache, tmp_path):
    array = RANDOM.integers(0, 256, (16, 1, 1), np.uint8)
    same(cache.array(b"x", None, lambda: array), array)
    (file,) = (tmp_path / "cache").iterdir()
    whole = file.read_bytes()
    key = whole[8:40]
    # The header claims a terabyte; on disk, the file has a single block.
    with open(file, "wb") as sparse:
        sparse.write(decoded_rows._HEAD.pack(decoded_rows._MARK, key, 0, 2**40))
        sparse.truncate(decoded_rows._HEAD.size + 2**40)
    assert cache.array(b"x", None, lambda: array) is array
    assert file.read_bytes() == whole
    file.unlink()
    os.mkfifo(file)
    assert cache.array(b"x", None, lambda: array) is array
    assert file.read_bytes() == whole


def test_a_full_cache_is_told_once_and_decodes_on(tmp_path):
    array, lines = np.zeros((16, 8, 1), np.uint8), []
    cache = FeatureCache(IMAGE, tmp_path, 1000e-9, lines.append)
    for one in (b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"):
        same(cache.array(one, None, lambda: array), array)
    (line,) = lines
    assert "accepts no more files (it uses 9e-07 GB of 1e-06 GB)" in line
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) == 5 * 180
    assert cache.array(b"a", None, never).shape == (16, 8, 1)
    # Another process counts the existing files.
    lines.clear()
    FeatureCache(IMAGE, tmp_path, 1000e-9, lines.append).array(b"i", None, lambda: array)
    assert len(lines) == 1


def test_a_directory_that_goes_away_is_told_once(tmp_path):
    lines = []
    cache = FeatureCache(IMAGE, tmp_path / "cache", say=lines.append)
    cache.array(b"a", None, lambda: PIXELS[0])
    shutil.rmtree(tmp_path / "cache")
    for one in (b"a", b"b"):
        same(cache.array(one, None, lambda: PIXELS[0]), PIXELS[0])
    (line,) = lines
    assert "accepts no more files (A file must be written" in line and "\n" not in line


def test_what_a_killed_process_left_is_removed_in_time(tmp_path):
    old, new, foreign = (tmp_path / name for name in (".1.unfinished", ".2.unfinished", "notes"))
    for path in (old, new, foreign):
        path.write_bytes(b"?")
    os.utime(old, (0, 0))
    FeatureCache(IMAGE, tmp_path).array(b"a", None, lambda: PIXELS[0])
    assert not old.exists() and new.exists() and foreign.exists()


def test_what_can_not_be_removed_takes_no_input_away(cache, tmp_path, monkeypatch):
    left = tmp_path / "cache" / ".of-somebody-else.unfinished"
    left.touch()
    os.utime(left, (0, 0))

    def refused(path):
        if os.path.lexists(path):
            raise PermissionError(13, "Permission denied", path)
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "unlink", refused)
    source = IMAGE.cached(tmp_path / "cache", say=silent)
    rows = source.rows([PNGS[0]])
    same(rows.padded(np.arange(1), (1, 4)), IMAGE.rows([PNGS[0]]).padded(np.arange(1), (1, 4)))
    assert not rows.broken.any()


def test_many_threads_may_share_a_directory(tmp_path):
    caches = [FeatureCache(IMAGE, tmp_path, say=silent) for _ in range(2)]
    faults = []

    def work(cache):
        for number in range(60):
            found = cache.array(b"%d" % (number % 20), None, lambda n=number: PIXELS[n % 20 % 3])
            if not np.array_equal(found, PIXELS[number % 20 % 3]):
                faults.append(number)

    threads = [threading.Thread(target=work, args=(cache,)) for cache in caches * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == [] and len([*tmp_path.iterdir()]) == 20


WORKER = """
import sys, numpy as np
from keras_bahdanau.sources import ImageSource
from keras_bahdanau.sources.decoded_rows import FeatureCache

cache = FeatureCache(ImageSource(16, 48), sys.argv[1])
for number in range(3000):
    expected = np.full((16, 8, 1), number % 50, np.uint8)
    assert np.array_equal(cache.array(b"%d" % (number % 50), None, lambda: expected), expected)
"""


@pytest.mark.slow
def test_two_processes_may_share_a_directory(tmp_path):
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    running = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert len([*tmp_path.iterdir()]) == 50


def test_only_files_are_cached(tmp_path):
    with pytest.raises(ValueError, match="with a FeatureSource. Omit the cache."):
        FeatureSource(3).cached(tmp_path)
    with pytest.raises(ValueError, match="`gigabytes` must be .*Received: gigabytes=nan"):
        IMAGE.cached(tmp_path, gigabytes=float("nan"))
    with pytest.raises(FileExistsError):
        (tmp_path / "file").write_bytes(b"")
        IMAGE.cached(tmp_path / "file")
