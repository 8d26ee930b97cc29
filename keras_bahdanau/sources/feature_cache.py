"""Decoded inputs on disk, so that PNG, JPEG or FLAC are decoded once."""

import contextlib
import hashlib
import json
import os
import struct
import threading
import time
import uuid
import zlib
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau import __version__
from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.settings.option import check_value, number

GIGABYTES = number(0, 1_000_000)  # of all files
_SUFFIX, _UNFINISHED = ".features", ".unfinished"
_HEAD = struct.Struct("<8s32sIQ")  # mark, key, CRC-32 of the values and their bytes
_MARK = b"kbcache1"
_LEFT_ALONE = 3600  # seconds: an older unfinished file is that of a process that was killed


class FeatureCache:
    """Arrays of decoded inputs, one file each, which several processes may share.

    The name of a file is a hash of the source's config, of the versions that decode, and of the
    input: of the content of bytes, or of the path, size and time of a file. Arrays are in memory
    already, and are not written. A file is written as a whole or not at all. One that is damaged
    or of another origin is ignored, and written again.

    Args:
        source: `Source`.
        directory: Path of a directory, which is made if it is not there.
        gigabytes: Number, about as much of 10^9 bytes at most in all files; beyond, inputs are
            decoded as without a cache.
        say: Function of one string, which is told once that nothing more is written.

    Raises:
        OSError: If the directory can't be made.
        ValueError: If `gigabytes` is not from 0 to 1,000,000.
    """

    def __init__(self, source, directory, gigabytes=32, say=print):
        check_value("gigabytes", gigabytes, GIGABYTES)
        self._directory = Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._most, self._say = int(gigabytes * 10**9), say
        name = keras.saving.get_registered_name(type(source))
        origin = [name, source.get_config(), __version__, tf.__version__]
        self._origin = json.dumps(origin, sort_keys=True).encode()
        values = source.feature_spec.values
        self._dtype = values.dtype.as_numpy_dtype
        self._shape = [-1 if size is None else size for size in values.shape[1:]]
        self._lock = threading.Lock()
        self._bytes = None  # of all files, as far as is known
        self._counted = 0  # when they were last counted
        self._full = False

    def array(self, one, longest, decode):
        """The array of an input: that of its file, or that of `decode`, which is written.

        Args:
            one: An input.
            longest: Integer, positions to which it is cut; None for a whole one.
            decode: Function that gives the array.
        """
        identity = _identity(one)
        if identity is None:
            return decode()
        key = hashlib.sha256(b"\0".join([self._origin, b"%r" % longest, identity])).digest()
        path = self._directory / f"{key.hex()}{_SUFFIX}"
        array = self._read(path, key)
        if array is None:
            array = decode()
            self._write(path, key, array)
        return array

    def _read(self, path, key):
        """The array of a file; None if there is none, or it is not whole."""
        try:
            with open(path, "rb") as file:
                mark, owner, crc, size = _HEAD.unpack(file.read(_HEAD.size))
                here = os.fstat(file.fileno()).st_size
                if (mark, owner) != (_MARK, key) or here != _HEAD.size + size:
                    return None
                content = file.read()
            if zlib.crc32(content) != crc:
                return None
            return np.frombuffer(content, self._dtype).reshape(self._shape)
        except (OSError, ValueError, struct.error):
            return None

    def _write(self, path, key, array):
        content = np.ascontiguousarray(array, self._dtype).tobytes()
        head = _HEAD.pack(_MARK, key, zlib.crc32(content), len(content))
        unfinished = path.with_name(f".{uuid.uuid4().hex}{_UNFINISHED}")
        try:
            if not self._has_room(_HEAD.size + len(content)):
                return
            with replacing(path, unfinished):
                unfinished.write_bytes(head + content)
        except OSError as error:
            self._end(str(error).partition(" Make room")[0])

    def _has_room(self, size):
        """True if a file of so many bytes may be written; it is counted then."""
        with self._lock:
            if self._full:
                return False
            # other processes write too
            if self._bytes is None or self._bytes - self._counted > self._most // 100:
                self._bytes = self._counted = self._count()
            if self._bytes + size <= self._most:
                self._bytes += size
                return True
        self._end(f"it has {self._bytes / 10**9:.3g} GB of {self._most / 10**9:.3g} GB")
        return False

    def _count(self):
        """Bytes of all files; those that were left unfinished are removed."""
        total = 0
        with os.scandir(self._directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # renamed in the meantime, or of somebody else
                    if entry.name.endswith(_SUFFIX):
                        total += entry.stat().st_size
                    elif entry.name.endswith(_UNFINISHED):
                        if time.time() - entry.stat().st_mtime > _LEFT_ALONE:
                            os.unlink(entry.path)
        return total

    def _end(self, reason):
        with self._lock:
            told, self._full = self._full, True
        if not told:
            self._say(
                f"the cache {str(self._directory)!r} takes no more files ({reason}): the others "
                "are decoded each time"
            )


def _identity(one):
    """Bytes that stand for an input; None for an array."""
    if isinstance(one, bytes):
        return hashlib.sha256(one).digest()
    if not isinstance(one, os.PathLike):
        return None
    found = os.stat(one)
    return os.fsencode(os.path.abspath(one)) + b"\0%d\0%d" % (found.st_size, found.st_mtime_ns)
