"""Sources that are files, such as images or recordings: their content in shards, decoded late."""

import bisect
import itertools
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_bahdanau.files.integrity import Damage
from keras_bahdanau.files.whole_file import read_or

LARGEST_FILE = 2**30  # bytes of a source
AT_ONCE = 16  # files that are decoded together in order to find broken ones


class Contents(NamedTuple):
    """The content of files, one after another in one array.

    Attributes:
        values: Uint8 array `(bytes of all files,)`.
        starts: Int array `(rows,)`, start of each row in it.
        sizes: Int array `(rows,)`, bytes of each row.
        first: Integer, number of the first row in its shard.
        damaged: Function of a `Damage`, which gives the error that names the shard; None for
            files that are in no shard.
    """

    values: Any
    starts: Any
    sizes: Any
    first: int = 0
    damaged: Any = None


class FileRows:
    """Rows of a source whose inputs are files: read and decoded when a batch asks for them.

    In memory are the lengths alone. The content of a file is an input of the source as good as
    its path, so that the features are those of the file itself.

    Args:
        source: `Source` that reads files.
        contents: List of `Contents`, one for each shard.
        lengths: Int array `(rows,)`, number of positions of each row.

    Attributes:
        lengths: The same array.
    """

    def __init__(self, source, contents, lengths):
        self.lengths = lengths
        self._source, self._contents = source, contents
        self._ends = [*itertools.accumulate(len(one.starts) for one in contents)]

    @classmethod
    def read(cls, source, paths):
        """Rows of files that are in no shard yet, in memory.

        Raises:
            ValueError: If one has more than 2^30 bytes.
        """
        files = [read_or(b"", _content, path) for path in paths]
        sizes = np.fromiter(map(len, files), np.int64, len(files))
        contents = Contents(
            np.frombuffer(b"".join(files), np.uint8), np.cumsum(sizes) - sizes, sizes
        )
        return cls(source, [contents], source.rows(files).lengths)

    @classmethod
    def joined(cls, parts):
        """The rows of several `FileRows` of one source, one after the other."""
        contents = [one for part in parts for one in part._contents]
        return cls(parts[0]._source, contents, np.concatenate([part.lengths for part in parts]))

    def part(self, first, end):
        """The rows of one shard from `first` up to, but without, `end`."""
        (one,) = self._contents
        places = slice(first, end)
        contents = one._replace(
            starts=one.starts[places], sizes=one.sizes[places], first=one.first + first
        )
        return FileRows(self._source, [contents], self.lengths[places])

    def stored(self):
        """The arrays that a shard keeps: a dictionary from the names of its parts."""
        (one,) = self._contents
        return {"bytes": one.values, "sizes": one.sizes, "lengths": self.lengths}

    def padded(self, members, shape):
        """The member rows as features of a shape `(rows, source_time)`: see `Source.rows`.

        Raises:
            ValueError: If a file is not as it was when its shard was written.
        """
        rows = self._source.rows([self._file(member) for member in members])
        features = rows.padded(np.arange(len(members)), shape)
        wrong = (rows.lengths != self.lengths[members]) | getattr(rows, "broken", False)
        for member in members[wrong]:
            contents, row = self._place(member)
            reason = f"the file of row {contents.first + row} is not as it was written"
            raise contents.damaged(Damage(reason))
        return features

    def _file(self, member):
        """The bytes of a file."""
        contents, row = self._place(member)
        start = int(contents.starts[row])
        return contents.values[start : start + int(contents.sizes[row])].tobytes()

    def _place(self, member):
        """(`Contents`, number of the row in them) of a row."""
        part = bisect.bisect_right(self._ends, member)
        return self._contents[part], int(member) - (self._ends[part - 1] if part else 0)


class FileSide:
    """The source side of pairs, for filters: files that are empty, or broken behind their headers.

    It has the members of `filters.TextSide`; a file has no characters to count.

    Args:
        source: `Source` that reads files.
        paths: List of `Path`.
    """

    def __init__(self, source, paths):
        self.lines = paths
        self.lengths = np.zeros(len(paths), np.int64)
        self._source, self._positions = source, None

    def blank(self):
        """Bool `(pairs,)`: files without a position, by their headers."""
        if self._positions is None:
            self._positions = self._source.rows(self.lines).lengths
        return self._positions == 0

    def broken(self):
        """Bool `(pairs,)`: files that give nothing when they are decoded."""
        found = np.zeros(len(self.lines), bool)
        for first in range(0, len(found), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            rows = self._source.rows(self.lines[part]).cut(self._source.longest)
            rows.padded(np.arange(len(rows.lengths)), (len(rows.lengths), max(1, *rows.lengths)))
            found[part] = getattr(rows, "broken", False)
        return found

    def count(self, pattern):
        """Int `(pairs,)`: none."""
        return self.lengths


def _content(path):
    size = os.stat(path).st_size
    if size > LARGEST_FILE:
        raise ValueError(
            f"A file of a corpus must have at most {LARGEST_FILE:,} bytes. Received: "
            f"path={os.fspath(path)!r} with {size:,}. Split it, or leave it out."
        )
    return Path(path).read_bytes()
