"""Rows of inputs, usually files, that are decoded on demand, and a disk cache for them."""

import abc
import concurrent.futures
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
from keras_bahdanau.files.whole_file import open_regular, read_or, replacing
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.option import check_value, number

GIGABYTES = number(0, 1_000_000)  # total size of the files
_SUFFIX, _UNFINISHED = ".features", ".unfinished"
_HEAD = struct.Struct("<8s32sIQ")  # mark, key, and CRC-32 and size in bytes of the values
_MARK = b"kbcache1"
LARGEST, _SPARE = 2**31, 2**20  # maximum bytes of an array, and of its last position
_LEFT_ALONE = 3600  # seconds; an older unfinished file was left by a killed process


def side_by_side(function, *lists):
    """Return a list of the results of `map(function, *lists)`, computed in threads."""
    with concurrent.futures.ThreadPoolExecutor(usable_cores()) as pool:
        return [*pool.map(function, *lists)]


class DecodedRows(abc.ABC):
    """Rows of inputs, of which only the headers are read until `padded` decodes them in parallel.

    `lengths`, int `(rows,)`, is the number of positions according to the headers, at most
    `longest`. `truncated`, bool `(rows,)`, marks the rows that are longer. `broken`, bool
    `(rows,)`, marks rows that have a valid header but can't be decoded or read.
    """

    blank = 0  # value of padding

    def __init__(self, source, inputs, headers, longest, broken=None):
        self._source, self._inputs, self._headers = source, inputs, headers
        self._longest = longest
        self.lengths, self.truncated = self.measured(headers, longest)
        self.broken = np.zeros(len(inputs), bool) if broken is None else broken

    @abc.abstractmethod
    def measured(self, headers, longest):
        """Return the attributes (lengths, truncated) of inputs with these headers."""

    @abc.abstractmethod
    def decoded(self, raw, header, longest):
        """Return the values of at most `longest` positions of an input; none if it is broken.

        Raises OSError if its file can't be read.
        """

    @abc.abstractmethod
    def positions(self, array):
        """Return the number of positions of a decoded array."""

    def cut(self, longest):
        longest = min(longest, self._longest)
        return type(self)(self._source, self._inputs, self._headers, longest, self.broken)

    def padded(self, members, shape):
        """Return the rows `members` as features, padded with `blank`.

        `shape` is `(rows, source_time)`.
        """
        specs = self._source.batch_spec(*shape)
        values = np.full(specs.values.shape, self.blank, specs.values.dtype.as_numpy_dtype)
        lengths = np.zeros(shape[0], np.int32)

        def fill(row, member):
            array = read_or(None, self.array, member)  # the cache does not keep unreadable files
            if array is not None:
                array = array[tuple(map(slice, values.shape[1:]))]
                values[(row, *map(slice, array.shape))] = array
                lengths[row] = min(self.lengths[member], self.positions(array))
            self.broken[member] = self.lengths[member] > lengths[row] == 0

        side_by_side(fill, range(len(members)), members)
        return type(specs)(values, lengths)

    def array(self, member):
        """Return the values of the row `member`, decoded or from the cache."""
        raw, cache = self._inputs[member], self._source.cache

        def decoded():
            with tf.device("CPU:0"):
                return self.decoded(raw, self._headers[member], self._longest)

        if cache is None:
            return decoded()
        # an array that is not truncated is the same for every limit
        longest = self._longest if self.truncated[member] else None
        values = self._source.batch_spec(1, int(self.lengths[member])).values
        most = 2 * values.shape.num_elements() * values.dtype.size + _SPARE
        return cache.array(raw, longest, decoded, most)


class FeatureCache:
    """Cache of decoded inputs, with one file per input, which several processes can share.

    The name of a file is a hash of the source's config, the versions of the decoders, and the
    input: its bytes, or the path, size and modification time of its file. A file is written
    completely or not at all, and damaged files are replaced. See `Source.cached` for the arguments
    and errors.
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
        self._bytes = None  # total size of the files, as far as this process knows
        self._counted = 0  # total size when it was last counted
        self._full = False

    def array(self, raw, longest, decode, most=LARGEST):
        """Return the array of an input, from its cache file or from `decode()`.

        The array is cut to `longest` positions unless that is None. A file of more than `most`
        bytes counts as damaged and is not read.
        """
        identity = _identity(raw)
        if identity is None:
            return decode()
        key = hashlib.sha256(b"\0".join([self._origin, b"%r" % longest, identity])).digest()
        path = self._directory / f"{key.hex()}{_SUFFIX}"
        array = self._read(path, key, most)
        if array is None:
            array = decode()
            self._write(path, key, array)
        return array

    def _read(self, path, key, most):
        """Return the array in a file; None if the file is missing or incomplete."""
        try:
            with open_regular(path) as file:
                mark, owner, crc, size = _HEAD.unpack(file.read(_HEAD.size))
                length = os.fstat(file.fileno()).st_size
                if (mark, owner) != (_MARK, key) or length != _HEAD.size + size or size > most:
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
        """Return whether a file of `size` bytes may be written; if so, count it."""
        with self._lock:
            if self._full:
                return False
            # other processes also write files
            if self._bytes is None or self._bytes - self._counted > self._most // 100:
                self._bytes = self._counted = self._count()
            if self._bytes + size <= self._most:
                self._bytes += size
                return True
        self._end(f"it uses {self._bytes / 10**9:.3g} GB of {self._most / 10**9:.3g} GB")
        return False

    def _count(self):
        """Return the total size of the files in bytes, and remove old unfinished files."""
        total = 0
        with os.scandir(self._directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # renamed meanwhile, or owned by another user
                    if entry.name.endswith(_SUFFIX):
                        total += entry.stat().st_size
                    elif entry.name.endswith(_UNFINISHED):
                        if time.time() - entry.stat().st_mtime > _LEFT_ALONE:
                            os.unlink(entry.path)
        return total

    def _end(self, reason):
        with self._lock:
            was_full, self._full = self._full, True
        if not was_full:
            self._say(
                f"the cache {str(self._directory)!r} accepts no more files ({reason}): inputs that "
                "are not in it are decoded each time"
            )


def _identity(raw):
    """Return bytes that identify an input; None for an array."""
    if isinstance(raw, bytes):
        return hashlib.sha256(raw).digest()
    if not isinstance(raw, os.PathLike):
        return None
    state = os.stat(raw)
    return os.fsencode(os.path.abspath(raw)) + b"\0%d\0%d" % (state.st_size, state.st_mtime_ns)
