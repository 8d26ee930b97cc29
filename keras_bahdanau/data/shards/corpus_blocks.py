"""Corpora to prepare: what all of them have, and their records in blocks."""

import hashlib
import json
import os
from typing import NamedTuple

from keras_bahdanau.data.filters import TextSide
from keras_bahdanau.data.line_stream import BLOCK_BYTES
from keras_bahdanau.text.id_rows import rows_by_word
from keras_bahdanau.text.subwords import Subwords


class Block(NamedTuple):
    """Pairs one after the other, not yet taken apart.

    Attributes:
        number: Integer from 0.
        first: Integer from 1, number of the first pair.
        pairs: Integer, number of pairs.
        parts: Tuple, for `texts` of the corpus alone.
    """

    number: int
    first: int
    pairs: int
    parts: tuple


class ParallelText:
    """The members of a corpus that has its sources as text; that of others changes some.

    Attributes:
        paths: List of the paths of its files.
        source: `Source` that is given; None where the vocabulary of the source is to be learnt.
    """

    source = None

    def check(self, settings):
        """Raise ValueError if a setting of `Preparation` does not go with the sources."""

    def states(self):
        """Path, size and time of each file, for JSON: they change if the file is another one."""
        return [_state(path) for path in self.paths]

    def side(self, sources):
        """The sources of some pairs, as filters take them: see `TextSide`."""
        return TextSide(sources)

    def rows(self, subwords, sources):
        """The rows of sources, as `write_shard` takes them."""
        return rows_by_word(subwords, sources, end_of_empty=False)

    def learned(self, pairs, settings, **of_text):
        """List of the `Subwords` of both sides, or of the target alone, learnt from pairs."""
        joint, size = settings.joint, settings.vocabulary_size
        return [*Subwords.train_pair(pairs, size, joint=joint, **of_text)]


def _state(path):
    """[path, bytes, time of the last change] of a file."""
    state = os.stat(path)
    return [os.fspath(path), state.st_size, state.st_mtime_ns]


def fingerprint_of_files(paths):
    """String that is another one if any of so many files, or its place, is."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(json.dumps(_state(path)).encode())
    return digest.hexdigest()


def in_blocks(pairs, most, size_of=None, largest=None):
    """Gather records of a corpus into blocks, whose bounds follow from the records alone.

    Args:
        pairs: Iterable of (source, target) strings.
        most: Integer, most pairs of a block; of long texts it has fewer.
        size_of: Function of a pair, its size; that of both texts for None.
        largest: Integer, such a size at which a block ends; `BLOCK_BYTES` for None.

    Yields:
        `Block`, whose parts are the sources and the targets.
    """
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
    """The string in a record under a name, whose dots stand between keys inside of each other."""
    for key in name.split("."):
        record = record[key]
    if not isinstance(record, str):
        raise TypeError(f"{name} is no string")
    return record


def one_line(text):
    r"""A text with spaces for line ends; U+FFFD for halves of surrogates, as JSON can name them."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\n", " ").replace("\r", " ")
