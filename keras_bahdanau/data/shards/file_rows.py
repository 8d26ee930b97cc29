"""Sources that are files, such as images. They are stored in shards and decoded when needed."""

import bisect
import itertools
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_bahdanau.data.readers.manifest import read_manifest
from keras_bahdanau.data.readers.text_corpus import (
    TextCorpus,
    blocks_of_pairs,
    fingerprint_of_files,
)
from keras_bahdanau.files.integrity import Damage
from keras_bahdanau.files.whole_file import read_or
from keras_bahdanau.text.folding import FOLD, KEPT
from keras_bahdanau.text.subwords import Subwords

LARGEST_FILE = 2**30  # maximum number of bytes in a source
AT_ONCE = 16  # number of files to decode together when broken ones are searched
SHARD_BYTES = 2**26  # bytes of the files in a shard, unless a single file is larger
_OF_SOURCE_TEXT = ("source_script", "symbols")


class ManifestCorpus(TextCorpus):
    """The files listed in a manifest, with their texts.

    Its shards contain the files and the token ids of the texts.

    Args:
        path: Path of the manifest: see `read_manifest`.
        source: `Source` that reads the files.

    Raises:
        FileNotFoundError: If the manifest, or a file that it lists, does not exist.
        ValueError: If the source does not read files, or a line of the manifest is invalid.

    Example:
        >>> corpus = ManifestCorpus("formulas/train.tsv", ImageSource(height=64, width=640))
        >>> shards = prepare(corpus, "corpora/formulas")
    """

    def __init__(self, path, source):
        if source.inputs_are != "files":
            raise ValueError(
                "A manifest needs a source that reads files. Received: "
                f"path={os.fspath(path)!r}, for a {type(source).__name__}, which reads "
                f"{source.inputs_are}. Give another source."
            )
        self.paths = [os.fspath(path)]
        self.source = source
        read_manifest(path)  # to check it now

    def check(self, settings):
        for name in _OF_SOURCE_TEXT:
            if getattr(settings, name):
                raise ValueError(
                    f"`{name}` is only for text sources. Received: {name}="
                    f"{getattr(settings, name)!r} with the manifest {self.paths[0]!r}. Leave it "
                    "out."
                )
        if not settings.drop_broken:  # in training, each broken file would look like damage
            raise ValueError(
                "Shards must not contain broken files. Received: drop_broken=False with the "
                f"manifest {self.paths[0]!r}. Leave --keep-broken out."
            )

    def blocks(self, most):
        pairs = read_manifest(self.paths[0])
        return blocks_of_pairs(pairs, most, lambda pair: os.stat(pair[0]).st_size, SHARD_BYTES)

    def states(self):
        named = (path for path, _ in read_manifest(self.paths[0]))
        return [*super().states(), fingerprint_of_files(named)]

    def side(self, sources):
        return FileSide(self.source, sources)

    def describe(self, source):
        path = super().describe(source)
        if self.source.batch([source], 1).lengths[0]:
            return path
        return f"{path} is {self.source.emptiness(source).reason}"

    def rows(self, source, sources):
        return FileRows.read(source, sources)

    def learn(self, pairs, settings, **text_settings):
        texts = [text for _, text in pairs]
        if text_settings["normalization"] == FOLD:
            text_settings["normalization"] = KEPT
        size = settings.vocabulary_size
        return [Subwords.train(texts, size, name="target text", **text_settings)]


class FileContents(NamedTuple):
    """The contents of files, one after another.

    `values` is a uint8 array of all bytes; `starts` and `sizes` are int arrays `(rows,)`.
    """

    values: Any
    starts: Any
    sizes: Any
    first: int = 0
    damaged: Any = None


class FileRows:
    """Rows of files, which are read and decoded only when a batch is created.

    `lengths` is an int array `(rows,)` of the positions of each file.
    """

    def __init__(self, source, contents, lengths):
        self.lengths = lengths
        self._source, self._contents = source, contents
        self._ends = [*itertools.accumulate(len(part.starts) for part in contents)]

    @classmethod
    def read(cls, source, paths):
        """Read the rows of files that are not in shards into memory.

        Raises ValueError for a file of more than 2^30 bytes.
        """
        files = [read_or(b"", _content, path) for path in paths]
        sizes = np.fromiter(map(len, files), np.int64, len(files))
        contents = FileContents(
            np.frombuffer(b"".join(files), np.uint8), np.cumsum(sizes) - sizes, sizes
        )
        return cls(source, [contents], source.rows(files).lengths)

    @classmethod
    def joined(cls, parts):
        contents = [contents for part in parts for contents in part._contents]
        return cls(parts[0]._source, contents, np.concatenate([part.lengths for part in parts]))

    def part(self, first, end):
        """Return the rows of a single shard from `first` up to, but not including, `end`."""
        (contents,) = self._contents
        starts, sizes = contents.starts[first:end], contents.sizes[first:end]
        part = contents._replace(starts=starts, sizes=sizes, first=contents.first + first)
        return FileRows(self._source, [part], self.lengths[first:end])

    def stored(self):
        (contents,) = self._contents
        return {"bytes": contents.values, "sizes": contents.sizes, "lengths": self.lengths}

    def padded(self, members, shape):
        """Return the rows `members` as features of shape `(rows, source_time)`: see `Source.rows`.

        The ValueError for a changed file includes the number of its row.
        """
        rows = self._source.rows([self._file(member) for member in members])
        features = rows.padded(np.arange(len(members)), shape)
        wrong = (rows.lengths != self.lengths[members]) | getattr(rows, "broken", False)
        for member in members[wrong]:
            contents, row = self._locate(member)
            reason = f"the file of row {contents.first + row} has changed since it was written"
            raise contents.damaged(Damage(reason))
        return features

    def _file(self, member):
        contents, row = self._locate(member)
        start = int(contents.starts[row])
        return contents.values[start : start + int(contents.sizes[row])].tobytes()

    def _locate(self, member):
        part = bisect.bisect_right(self._ends, member)
        return self._contents[part], int(member) - (self._ends[part - 1] if part else 0)


class FileSide:
    """Files as the source side in filters, with the methods of `filters.TextSide`."""

    def __init__(self, source, paths):
        self.lines = paths
        self.lengths = np.zeros(len(paths), np.int64)
        self._source, self._positions = source, None

    def blank(self):
        """Return a bool array `(pairs,)`: True for files whose header shows no positions."""
        if self._positions is None:
            self._positions = self._source.rows(self.lines).lengths
        return self._positions == 0

    def broken(self):
        """Return a bool array `(pairs,)`: True for files that can't be decoded."""
        broken = np.zeros(len(self.lines), bool)
        for first in range(0, len(broken), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            rows = self._source.rows(self.lines[part]).cut(self._source.longest)
            rows.padded(np.arange(len(rows.lengths)), (len(rows.lengths), max(1, *rows.lengths)))
            broken[part] = getattr(rows, "broken", False)
        return broken

    def count(self, pattern):
        """Return zeros `(pairs,)`, because files contain no text that a pattern can match."""
        return self.lengths


def _content(path):
    size = os.stat(path).st_size
    if size > LARGEST_FILE:
        raise ValueError(
            f"A file in a corpus must have at most {LARGEST_FILE:,} bytes. Received: "
            f"path={os.fspath(path)!r} with {size:,} bytes. Split it, or leave it out."
        )
    return Path(path).read_bytes()
