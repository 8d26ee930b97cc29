"""The protocol of a corpus: blocks of pairs, read by one process and decoded by others."""

import abc
import hashlib
import json
import os
from typing import NamedTuple

from keras_bahdanau.data.filters import TextSide, excerpt
from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.id_rows import rows_by_word
from keras_bahdanau.text.subwords import Subwords

BLOCK_BYTES = 2**24  # maximum bytes of a file in a block, unless a single line is longer


class Block(NamedTuple):
    """Consecutive pairs that are not decoded yet.

    Blocks are numbered from 0. `first` is the number of the block's first pair, counted from 1.
    """

    number: int
    first: int
    pairs: int
    parts: tuple


class TextCorpus(abc.ABC):
    """Base class for readers of pairs in blocks, from the files `paths`.

    `source` is the `Source` of the inputs, or None for text.
    """

    source = None

    @abc.abstractmethod
    def blocks(self, most):
        """Yield blocks of at most `most` pairs.

        The ValueError for a damaged file includes the line number.
        """

    def texts(self, block):
        """Return (sources, targets) of a block: two lists of strings without line ends."""
        return tuple(map(list, block.parts))

    def check(self, settings):  # noqa: B027
        """Raise ValueError if a setting of `Preparation` does not suit the sources."""

    def states(self):
        """Return the path, size and time of each file, for JSON, to detect changed files."""
        return [_state(path) for path in self.paths]

    def side(self, sources):
        """Return the sources of some pairs in the form that filters use: see `TextSide`."""
        return TextSide(sources)

    def describe(self, source):
        """Return a short text about a source, for a report."""
        return excerpt(source)

    def rows(self, subwords, sources):
        """Return the rows of sources in the form that `write_shard` accepts."""
        texts = ["" if is_blank(source) else source for source in sources]
        return rows_by_word(subwords, texts, end_of_empty=False)

    def learn(self, pairs, settings, **text_settings):
        """Learn the `Subwords` of both sides, or only those of the target, from a list of pairs."""
        joint, size = settings.joint, settings.vocabulary_size
        return [*Subwords.train_pair(pairs, size, joint=joint, **text_settings)]


def blocks_of_pairs(pairs, most, size_of=None, largest=None):
    """Yield `Block`s of at most `most` pairs. A block also ends when it reaches size `largest`."""
    largest = largest or BLOCK_BYTES
    number, first, size, rows = 0, 1, 0, []
    for row in pairs:
        rows.append(row)
        size += size_of(row) if size_of else sum(map(len, row))
        if len(rows) == most or size >= largest:
            yield Block(number, first, len(rows), tuple(zip(*rows, strict=True)))
            number, first, size, rows = number + 1, first + len(rows), 0, []
    if rows:
        yield Block(number, first, len(rows), tuple(zip(*rows, strict=True)))


def value_of(record, name):
    """Return the string with a given name in a record, where dots join the keys of nested records.

    Raises LookupError if it is missing, and TypeError if it is not a string.
    """
    for key in name.split("."):
        record = record[key]
    if not isinstance(record, str):
        raise TypeError(f"{name} is not a string")
    return record


def join_lines(text):
    r"""Replace line ends with spaces, and lone surrogates, which JSON can contain, with U+FFFD."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\n", " ").replace("\r", " ")


def fingerprint_of_files(paths):
    """Return a string that changes if the path, size or time of a file changes."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(json.dumps(_state(path)).encode())
    return digest.hexdigest()


def _state(path):
    state = os.stat(path)
    return [os.fspath(path), state.st_size, state.st_mtime_ns]
