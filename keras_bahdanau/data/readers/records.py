"""Corpora of records with named sides: JSON lines, and Hugging Face datasets on disk."""

import json
import os
from pathlib import Path

from keras_bahdanau.data.readers.line_corpora import LineCorpus
from keras_bahdanau.data.readers.text_corpus import (
    TextCorpus,
    blocks_of_pairs,
    join_lines,
    value_of,
)

MOST_NAMES = 8  # maximum number of keys in a message


class JsonLines(LineCorpus):
    """A file with one JSON object per line. `sides` is the same as in `SavedDataset`."""

    forms = ("a JSON Lines file",)

    def __init__(self, path, sides=None):
        super().__init__(path)
        self.sides = sides or ("source", "target")

    def parse(self, line, number):
        try:
            record = json.loads(line)
            return tuple(join_lines(value_of(record, side)) for side in self.sides)
        except (LookupError, RecursionError, TypeError, ValueError) as error:
            kind = "no JSON" if isinstance(error, ValueError | RecursionError) else "no such texts"
            raise ValueError(
                "Each line must be a JSON object with a text under "
                f"{' and '.join(map(repr, self.sides))}. Received: path={self.paths[0]!r}, whose "
                f"line {number} has {kind}: {line[:40]!r}. {_texts_of(line)}"
            ) from None


def _texts_of(line):
    """Return a sentence that tells how to fix a line of JSON without the two expected texts."""
    try:
        names = [*text_keys(json.loads(line))]
    except (AttributeError, RecursionError, ValueError):
        names = []
    if len(names) < 2:
        return "Correct the line, or name the keys: --sides."
    return f"Name two of its keys, {', '.join(names[:MOST_NAMES])}: --sides {','.join(names[-2:])}."


def text_keys(record, prefix=""):
    """Yield the names of all strings in a record. The keys of nested records are joined by dots."""
    for key, value in record.items():
        if isinstance(value, dict):
            yield from text_keys(value, f"{prefix}{key}.")
        elif isinstance(value, str):
            yield f"{prefix}{key}"


class SavedDataset(TextCorpus):
    """One split of a dataset, written by `save_to_disk`.

    `sides` contains the names of the columns of source and target, such as "translation.en".
    """

    def __init__(self, path, sides=None):
        self.paths = [str(file) for file in sorted(Path(path).iterdir()) if file.is_file()]
        self.directory = os.fspath(path)
        self.sides = sides or ("source", "target")
        self._load()

    def blocks(self, most):
        return blocks_of_pairs(self._pairs(), most)

    def _load(self):
        try:
            import datasets
        except ImportError:
            raise ImportError(
                "To read a dataset, the package `datasets` must be installed. "
                f"Received: path={self.directory!r}, a directory. Install the package with pip "
                "install datasets, or give files."
            ) from None
        try:
            rows = datasets.load_from_disk(self.directory)
        except (OSError, ValueError) as error:
            raise self._unusable(str(error)[:200]) from None
        if not isinstance(rows, datasets.Dataset):
            raise self._unusable(f"several splits: {', '.join(map(str, rows))}")
        return rows

    def _unusable(self, reason):
        return ValueError(
            "The directory must contain one split of a dataset, written by `save_to_disk`, with a "
            f"text under {' and '.join(map(repr, self.sides))}. "
            f"Received: path={self.directory!r} ({reason}). Give the directory of one split, or "
            "give --sides."
        )

    def _pairs(self):
        for number, record in enumerate(self._load(), start=1):
            try:
                yield tuple(join_lines(value_of(record, side)) for side in self.sides)
            except (LookupError, TypeError) as error:
                raise self._unusable(f"row {number}: {error}") from None
