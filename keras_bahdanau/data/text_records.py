"""Parallel text in records: the translation units of TMX, and datasets of Hugging Face."""

import itertools
import os
import xml.parsers.expat
from pathlib import Path

from keras_bahdanau.data.line_stream import check_text_file, open_bytes
from keras_bahdanau.data.reading import LONGEST_LINE, file_errors
from keras_bahdanau.data.shards.corpus_blocks import ParallelText, in_blocks, one_line, value_of

_CODES = {"bpt", "ept", "it", "ph", "ut"}  # marks of formatting inside of a text, which are none
_CHUNK = 2**16


def _code(language):
    """The code of a language as all files are compared by it, such as "en-us"."""
    return language.lower().replace("_", "-")


class _Records(ParallelText):
    """Records that are taken apart as they are read."""

    def texts(self, block):
        """(sources, targets) of a block: two lists of strings without line ends."""
        return tuple(map(list, block.parts))

    def blocks(self, most):
        """Yield the blocks: see `ParallelFiles.blocks`."""
        return in_blocks(self._pairs(), most)


class TmxFile(_Records):
    """A TMX file (Translation Memory eXchange 1.4), read as a stream.

    Args:
        path: Path, plain or .gz.
        sides: Two languages; a shorter name stands for its regions too, "en" for "en-GB". None
            for the only two languages of the file, the first of the first unit as the source.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it can't be read.
    """

    def __init__(self, path, sides=None):
        self.paths = [os.fspath(path)]
        check_text_file(path)
        self.sides = sides and tuple(map(_code, sides))

    def _pairs(self):
        units, sides = _Units(self.paths[0]), self.sides
        with open_bytes(self.paths[0]) as file, file_errors(self.paths[0]):
            chunks = ((chunk, False) for chunk in iter(lambda: file.read(_CHUNK), b""))
            # expat 2.6 and later may hold bytes back until the last call
            for chunk, is_last in itertools.chain(chunks, [(b"", True)]):
                for languages in units.fed(chunk, is_last):
                    if sides is None and len(languages) == 2:
                        sides = tuple(languages)
                    yield self._pair(languages, sides)

    def _pair(self, languages, sides):
        if self.sides is None and (not sides or not set(languages) <= set(sides)):
            raise ValueError(
                "A TMX of other than two languages needs --sides. Received: "
                f"path={self.paths[0]!r} with {', '.join(sorted({*languages, *(sides or ())}))}. "
                "Name source and target: --sides en,de."
            )
        return tuple(
            next((text for name, text in languages.items() if _is_of(name, side)), "")
            for side in sides
        )


def _is_of(language, side):
    return language == side or language.startswith(f"{side}-")


class _Units:
    """The translation units that a stream of XML holds, as dictionaries of texts by language."""

    def __init__(self, path):
        self._path = path
        self._found, self._unit, self._language, self._text = [], None, None, None
        self._skipped = 0  # depth inside of a mark of formatting
        self._size = 0  # characters of a unit
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse
        self._parser.SkippedEntityHandler = self._refuse

    def fed(self, chunk, is_last=False):
        """The units that end in a chunk of bytes."""
        self._found = []
        try:
            self._parser.Parse(chunk, is_last)
        except xml.parsers.expat.ExpatError as error:
            raise self._damaged(f"whose line {error.lineno} is no XML: {error}") from None
        return self._found

    def _damaged(self, reason):
        return ValueError(
            f"A TMX file must be whole XML without entities of its own. Received: "
            f"path={self._path!r}, {reason}. Mend it, or write it again."
        )

    def _refuse(self, name, *_):
        raise self._damaged(f"which declares or names the entity {name!r:.80}")

    def _start(self, name, attributes):
        if self._text is not None:
            self._skipped += bool(self._skipped or name in _CODES)
        elif name == "tu":
            self._unit, self._size = {}, 0
        elif name == "tuv":
            language = attributes.get("xml:lang") or attributes.get("lang", "")
            self._language = _code(language)
            self._count(len(language) + 1)  # of empty texts there may be any number
        elif name == "seg" and self._unit is not None:
            self._text = []

    def _characters(self, text):
        if self._text is None or self._skipped:
            return
        self._text.append(text)
        self._count(len(text))

    def _count(self, characters):
        """Bound the memory of one unit, in all its languages."""
        self._size += characters
        if self._size > LONGEST_LINE:
            line = self._parser.CurrentLineNumber
            raise self._damaged(
                f"whose unit in line {line} has more than {LONGEST_LINE:,} characters"
            )

    def _end(self, name):
        if self._skipped:
            self._skipped -= 1
        elif name == "seg" and self._text is not None:
            self._unit.setdefault(self._language, one_line("".join(self._text)))
            self._text = None
        elif name == "tu" and self._unit is not None and self._text is None:
            self._found.append(self._unit)
            self._unit = None


class SavedDataset(_Records):
    """A dataset that `datasets.Dataset.save_to_disk` wrote: one split, with texts in columns.

    Args:
        path: Path of its directory.
        sides: Names of two columns, with dots between keys inside of each other, such as
            ("translation.en", "translation.de"); None for "source" and "target".

    Raises:
        ImportError: If `datasets` is not installed.
        ValueError: If the directory holds no such dataset.
    """

    def __init__(self, path, sides=None):
        self.paths = [str(one) for one in sorted(Path(path).iterdir()) if one.is_file()]
        self.directory = os.fspath(path)
        self.sides = sides or ("source", "target")
        self._rows()

    def _rows(self):
        try:
            import datasets
        except ImportError:
            raise ImportError(
                "A dataset is read by the package `datasets`, which must be installed. "
                f"Received: path={self.directory!r}, a directory. Install it: pip install "
                "datasets; or give files."
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
            "A directory must hold one split of a dataset, as `save_to_disk` writes it, with a "
            f"text under {' and '.join(map(repr, self.sides))}. "
            f"Received: path={self.directory!r} ({reason}). Give that of one split, or --sides."
        )

    def _pairs(self):
        for number, record in enumerate(self._rows(), start=1):
            try:
                yield tuple(one_line(value_of(record, side)) for side in self.sides)
            except (LookupError, TypeError) as error:
                raise self._unusable(f"row {number}: {error}") from None
