"""The protocol of a corpus: pairs in blocks, read by one process and decoded by others."""

import abc
import hashlib
import json
import os
from typing import NamedTuple

from keras_bahdanau.data.filters import TextSide, excerpt
from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.id_rows import rows_by_word
from keras_bahdanau.text.subwords import Subwords

BLOCK_BYTES = 2**24  # bytes of a file in a block, unless one line is longer


class Block(NamedTuple):
    """Consecutive pairs, not yet decoded; `number` from 0, `first` pair from 1."""

    number: int
    first: int
    pairs: int
    parts: tuple


class TextCorpus(abc.ABC):
    """A reader of pairs in blocks from `paths`; `source` is None if its vocabulary is learned."""

    source = None

    @abc.abstractmethod
    def blocks(self, most):
        """Yield blocks of at most `most` pairs; ValueError with the line if a file is damaged."""

    def texts(self, block):
        """(sources, targets) of a block: two lists of strings without line ends."""
        return tuple(map(list, block.parts))

    def check(self, settings):  # noqa: B027
        """Raise ValueError if a setting of `Preparation` does not suit the sources."""

    def states(self):
        """Path, size and time of each file, for JSON, to notice a changed file."""
        return [_state(path) for path in self.paths]

    def side(self, sources):
        """The sources of some pairs, in the form for filters: see `TextSide`."""
        return TextSide(sources)

    def describe(self, source):
        """Short text about a source, for a report."""
        return excerpt(source)

    def rows(self, subwords, sources):
        """The rows of sources, in the form for `write_shard`."""
        texts = ["" if is_blank(source) else source for source in sources]
        return rows_by_word(subwords, texts, end_of_empty=False)

    def learn(self, pairs, settings, **text_settings):
        """Learn the `Subwords` of both sides, or only of the target, from a list of pairs."""
        joint, size = settings.joint, settings.vocabulary_size
        return [*Subwords.train_pair(pairs, size, joint=joint, **text_settings)]


def blocks_of_pairs(pairs, most, size_of=None, largest=None):
    """Gather pairs into `Block`s of at most `most` pairs that end at the size `largest`."""
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
    """The string in a record under a name, with dots between the keys of nested records."""
    for key in name.split("."):
        record = record[key]
    if not isinstance(record, str):
        raise TypeError(f"{name} is no string")
    return record


def join_lines(text):
    r"""A text with spaces for line ends and U+FFFD for lone surrogates, which JSON can hold."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\n", " ").replace("\r", " ")


def fingerprint_of_files(paths):
    """String that changes if a file's path or content changes."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(json.dumps(_state(path)).encode())
    return digest.hexdigest()


def _state(path):
    state = os.stat(path)
    return [os.fspath(path), state.st_size, state.st_mtime_ns]
