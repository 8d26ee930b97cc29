"""Files that the system can't read are reported and count as empty inputs of any file source."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.data.readers.manifest import report_unreadable
from keras_bahdanau.data.shards.file_rows import FileRows
from keras_bahdanau.files.whole_file import content_of, read_or
from keras_bahdanau.sources import AudioSource, ImageSource
from keras_bahdanau.sources.sounds import encoded

IMAGE, SOUND = ImageSource(16, 48), AudioSource(20)
CONTENTS = {
    "image": tf.io.encode_png(np.eye(16, 24, dtype=np.uint8)[..., np.newaxis] * 255).numpy(),
    "sound": encoded(np.resize(np.int16([9, -9]), (3200, 1)), 16_000),
}
KINDS = pytest.mark.parametrize(
    "source, kind", [(IMAGE, "image"), (SOUND, "sound")], ids=["image", "sound"]
)


@pytest.mark.few(1)
@KINDS
def test_a_file_that_can_not_be_read_is_an_empty_row_and_is_named(tmp_path, source, kind):
    good = tmp_path / "good"
    good.write_bytes(CONTENTS[kind])
    paths = [tmp_path, good, tmp_path / "gone"]  # like a locked file, a directory can't be opened
    rows = source.rows(paths)
    assert (rows.lengths > 0).tolist() == [False, True, False]
    features = rows.padded(np.arange(3), (3, int(rows.lengths[1])))
    np.testing.assert_array_equal(features.lengths, rows.lengths)
    assert not rows.broken.any(), "it was known from the beginning"
    lines = report_unreadable(paths, rows.lengths, source)
    assert lines == [f"2 files are empty or can't be read: {tmp_path}, {tmp_path / 'gone'}"]


@KINDS
def test_its_request_and_its_key_are_those_of_an_empty_file(tmp_path, source, kind):
    (request,) = source.requests([tmp_path]).values()
    assert request.tolist() == [b""] and source.key(tmp_path) == source.key(b"")


@KINDS
def test_a_file_that_goes_away_later_is_broken_and_is_not_cached(tmp_path, source, kind):
    path, cache = tmp_path / "one", tmp_path / "cache"
    path.write_bytes(CONTENTS[kind])
    for known in (source, source.cached(cache, say=print)):
        rows = known.rows([path])
        path.unlink()
        shape = (1, int(rows.lengths[0]))
        assert rows.padded([0], shape).lengths.tolist() == [0]
        assert rows.broken.tolist() == [True] and not [*cache.glob("*")]
        path.write_bytes(CONTENTS[kind])  # for example, a network disk that comes back
        assert rows.padded([0], shape).lengths.tolist() == [shape[1]]
        assert rows.broken.tolist() == [False]


@pytest.mark.skipif(not pathlib.Path("/proc/self/mem").is_file(), reason="no Linux")
@KINDS
def test_a_file_that_opens_and_can_not_be_read_is_none_either(source, kind):
    path = pathlib.Path("/proc/self/mem")  # an input/output error that names no file
    assert source.rows([path]).lengths.tolist() == [0]
    source.check("inputs", [path])


def test_shards_hold_an_empty_row_for_it(tmp_path):
    assert FileRows.read(IMAGE, [tmp_path]).lengths.tolist() == [0]


def test_other_errors_are_not_taken_for_such_files():
    with pytest.raises(TypeError):
        read_or(b"", lambda one: content_of(one, "all"), b"content")
