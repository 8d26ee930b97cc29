"""Parallel text of any size: blocks of pairs from two files, a TSV, JSON lines, TMX or a dataset.

A corpus is read by one process, block by block, and its blocks are taken apart by others.
"""

import codecs
import json
import os
from pathlib import Path

from keras_bahdanau.data import text_records
from keras_bahdanau.data.columns import (
    IGNORED,
    PAIRS,
    find_columns,
    parsed_columns,
    tell_header,
)
from keras_bahdanau.data.line_stream import check_text_file, line_blocks
from keras_bahdanau.data.shards.corpus_blocks import Block, ParallelText, one_line, value_of
from keras_bahdanau.data.shards.manifest import first_file
from keras_bahdanau.data.table_features import COLUMNS

SEEN = 1000  # lines that tell the columns of a TSV


def open_corpus(source, target=None, sides=None, columns=None, say=None):
    """The corpus in one or two files, by their names.

    Args:
        source: Path of the source sentences, a TSV, a `.jsonl`, a `.tmx` (each plain or `.gz`), or
            the directory of a dataset that `datasets` saved.
        target: Path of the target sentences; None for another form.
        sides: String, two names with a comma between: keys of JSON lines or columns of a dataset,
            with dots between keys inside of each other; languages of TMX. "source,target" for
            the first two if left out, the only two languages of a TMX.
        columns: String, the columns of a TSV in their order: see `parsed_columns`.
        say: Function of one string, which is told of a header of a TSV; None for none.

    Returns:
        `ParallelFiles`, or an object with the same methods.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a name has no known form, or an option does not go with it.

    Example:
        >>> corpus = open_corpus("en-de.tmx.gz", sides="en,de")
        >>> for block in corpus.blocks(100_000):
        ...     sources, targets = corpus.texts(block)
    """
    name = Path(source).name.removesuffix(".gz")
    named = None if sides is None else tuple(sides.split(","))
    if named and (len(named) != 2 or not all(named)):
        raise ValueError(
            "`sides` must be two names with a comma between, source and target. "
            f"Received: sides={sides!r:.80}"
        )
    is_table = target is None and name.endswith((".tsv", ".txt"))
    has_sides = target is None and (name.endswith((".jsonl", ".tmx")) or Path(source).is_dir())
    _check_given("columns", columns, is_table, "a TSV")
    _check_given("sides", sides, has_sides, "JSON lines, TMX or a dataset")
    if target is not None:
        return ParallelFiles(source, target)
    if is_table:
        return TableFile(source, columns, say)
    if name.endswith(".jsonl"):
        return JsonLines(source, named or ("source", "target"))
    if has_sides:
        kind = text_records.TmxFile if name.endswith(".tmx") else text_records.SavedDataset
        return kind(source, named)
    raise ValueError(
        "Parallel text in one file must be named .tsv, .txt, .jsonl or .tmx, or these with .gz. "
        f"Received: path={os.fspath(source)!r}. Rename it, or give the two sides as two files."
    )


def _check_given(name, value, fits, kind):
    if value is not None and not fits:
        raise ValueError(
            f"`{name}` is for {kind}, in one file. Received: {name}={value!r:.80}. Leave it out."
        )


def _blocks_of_lines(paths, most):
    """The same of files with a record in each line; the parts are the lines of each file."""
    first = 1
    for number, (count, parts) in enumerate(line_blocks(paths, most)):
        yield Block(number, first, count, tuple(parts))
        first += count


def decoded(lines, is_first):
    """Strings of lines of bytes, whose ends are dropped; U+FFFD where they are not UTF-8."""
    if is_first:
        lines = lines.removeprefix(codecs.BOM_UTF8)
    texts = lines.decode("utf-8", "replace").split("\n")
    texts.pop()  # behind the last line end
    return [one.rstrip("\r") for one in texts] if b"\r" in lines else texts


class ParallelFiles(ParallelText):
    """Two files, of which each line of one translates that line of the other.

    Args:
        source: Path.
        target: Path.

    Attributes:
        paths: List of the paths.
    """

    def __init__(self, source, target):
        self.paths = [os.fspath(source), os.fspath(target)]
        for path in self.paths:
            check_text_file(path)

    def blocks(self, most):
        """Yield the blocks of the corpus.

        Args:
            most: Integer, most pairs of a block.

        Raises:
            ValueError: If a file is not as it should be. The message names the line.
        """
        return _blocks_of_lines(self.paths, most)

    def texts(self, block):
        """(sources, targets) of a block: two lists of strings without line ends."""
        return tuple(decoded(part, block.number == 0) for part in block.parts)


class _OneFile(ParallelText):
    """A file with a pair in each line."""

    def __init__(self, path):
        self.paths = [os.fspath(path)]
        check_text_file(path)

    def blocks(self, most):
        return _blocks_of_lines(self.paths, most)

    def texts(self, block):
        lines = decoded(block.parts[0], block.number == 0)
        pairs = [self._pair(line, number) for number, line in enumerate(lines, block.first)]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


class TableFile(_OneFile):
    """A TSV file: see `read_table`, without features.

    Args:
        path: Path.
        columns: String, names of all columns in their order; None to find them from the text.
        say: Function of one string, which is told of a header; None for none.
    """

    def __init__(self, path, columns=None, say=None):
        super().__init__(path)
        _, (some,) = next(line_blocks([path], SEEN))
        lines = decoded(some, True)
        if columns is None:
            columns = find_columns(lines) or PAIRS
        self.columns = parsed_columns(columns)
        if {*COLUMNS} & {*self.columns}:
            raise ValueError(
                "A corpus of features is read as a whole. Received: "
                f"path={self.paths[0]!r} with columns={columns!r}. Give it to `train` itself."
            )
        self._places = tuple(map(self.columns.index, ("source", "target")))
        named = first_file(path, lines)
        if named:
            raise ValueError(
                "A corpus is prepared from texts on both sides. Received: "
                f"path={self.paths[0]!r}, a manifest, which names the file {named!r}. Name the "
                "source that reads it, such as --source image (`data.ManifestCorpus`)."
            )
        if say is not None:
            tell_header(path, lines[0], say)

    def _pair(self, line, number):
        if not line:
            return "", ""
        cells = line.split("\t")
        if len(cells) != len(self.columns):
            raise ValueError(
                f"A TSV line must have {len(self.columns)} columns, {', '.join(self.columns)}, "
                f"with one tab between. Received: path={self.paths[0]!r}, whose line {number} has "
                f"{len(cells)}. Mend the line, name all columns in their order "
                f"({' and '.join(IGNORED)} are ignored), or give the sides as two parallel files."
            )
        return tuple(cells[place].strip(" ") for place in self._places)


class JsonLines(_OneFile):
    """A file with one JSON object a line.

    Args:
        path: Path.
        sides: The keys of the two texts; dots stand between keys inside of each other.
    """

    def __init__(self, path, sides):
        super().__init__(path)
        self.sides = sides

    def _pair(self, line, number):
        try:
            record = json.loads(line)
            return tuple(one_line(value_of(record, side)) for side in self.sides)
        except (LookupError, RecursionError, TypeError, ValueError) as error:
            kind = "no JSON" if isinstance(error, ValueError | RecursionError) else "no such texts"
            raise ValueError(
                "Each line must be a JSON object with a text under "
                f"{' and '.join(map(repr, self.sides))}. Received: path={self.paths[0]!r}, whose "
                f"line {number} has {kind}: {line[:40]!r}. Mend it, or name other --sides."
            ) from None
