"""Corpora of lines: two parallel files, or one file with a pair in each line."""

import abc
import gzip
import io
import os

import numpy as np

from keras_bahdanau.data.readers.conventions import (
    check_separated,
    read_dictionary,
    report_conventions,
)
from keras_bahdanau.data.readers.lines import (
    BYTE_ORDER_MARK,
    check_encoding,
    check_form,
    check_unfinished,
    file_errors,
    form_error,
    is_gzip,
)
from keras_bahdanau.data.readers.manifest import first_file
from keras_bahdanau.data.readers.table import (
    COLUMNS,
    IGNORED,
    PAIRS,
    check_width,
    find_columns,
    parse_columns,
)
from keras_bahdanau.data.readers.text_corpus import BLOCK_BYTES, Block, TextCorpus
from keras_bahdanau.files.forms import FIRST_BYTES, detect_form

HEAD = 1000  # lines from which the columns of a TSV are inferred
_LINE_END = 10


class ParallelFiles(TextCorpus):
    """Two files: line i of one translates line i of the other."""

    def __init__(self, source, target):
        self.paths = [os.fspath(source), os.fspath(target)]
        for path in self.paths:
            check_text_file(path)

    def blocks(self, most):
        return _blocks(self.paths, most)

    def texts(self, block):
        return tuple(map(decode_lines, block.parts))


class LineCorpus(TextCorpus):
    """A corpus with a pair in each line of one file."""

    forms = ()  # see `check_text_file`

    def __init__(self, path):
        self.paths = [os.fspath(path)]
        check_text_file(path, self.forms)

    @abc.abstractmethod
    def parse(self, line, number):
        """Return (source, target) of a line; ValueError with its number if it has another form."""

    def blocks(self, most):
        return _blocks(self.paths, most)

    def texts(self, block):
        lines = decode_lines(block.parts[0])
        pairs = [self.parse(line, number) for number, line in enumerate(lines, block.first)]
        return [source for source, _ in pairs], [target for _, target in pairs]


class TableFile(LineCorpus):
    """A TSV file without features; `columns` and `say` as in `read_table`."""

    def __init__(self, path, columns=None, say=None):
        super().__init__(path)
        _, (head,) = next(line_blocks([path], HEAD))
        lines = decode_lines(head)
        if read_dictionary(path, lines) != lines:
            raise ValueError(
                "A pronouncing dictionary is read as a whole. Received: "
                f"path={self.paths[0]!r}. Give it to `train` itself."
            )
        if not any("\t" in line for line in lines):
            check_separated(path, lines)
        if columns is None:
            columns = find_columns(lines) or PAIRS
        self.columns = parse_columns(columns)
        if {*COLUMNS} & {*self.columns}:
            raise ValueError(
                "A corpus of features is read as a whole. Received: "
                f"path={self.paths[0]!r} with columns={columns!r}. Give it to `train` itself."
            )
        self._sides = tuple(map(self.columns.index, ("source", "target")))
        file = first_file(path, lines)
        if file:
            raise ValueError(
                "A corpus is prepared from texts on both sides. Received: "
                f"path={self.paths[0]!r}, a manifest, which names the file {file!r}. Name the "
                "source that reads it, such as --source image (`data.ManifestCorpus`)."
            )
        if say is not None:
            report_conventions(path, lines, say)

    def parse(self, line, number):
        if not line:
            return "", ""
        cells = line.split("\t")
        ignored = f"({' and '.join(IGNORED)} are ignored)"
        check_width(self.paths[0], number, cells, self.columns, f"in their order {ignored}")
        return tuple(cells[column].strip(" ") for column in self._sides)


def _blocks(paths, most):
    """Yield the `Block`s of parallel files, whose parts are the lines of each file as bytes."""
    first = 1
    for number, (count, parts) in enumerate(line_blocks(paths, most)):
        yield Block(number, first, count, tuple(parts))
        first += count


def decode_lines(content):
    """Lines of bytes without their ends and marks; U+FFFD where they are not UTF-8."""
    texts = BYTE_ORDER_MARK.sub("", content.decode("utf-8", "replace")).split("\n")
    texts.pop()  # after the last line end
    return [text.rstrip("\r") for text in texts] if b"\r" in content else texts


def check_text_file(path, forms=()):
    """Check that a path is a readable, non-empty regular file of an allowed form.

    `forms` are names of `files.forms`; without any the file must be UTF-8 text.
    """
    with open_bytes(path) as file, file_errors(os.fspath(path)):
        head = file.peek(1)
        form = detect_form(head[:FIRST_BYTES])
        if not forms:
            check_form(head, os.fspath(path))
            check_encoding(head, os.fspath(path))
        elif form is not None and form.name not in forms:
            raise form_error(form, os.fspath(path))
        if not head:
            raise ValueError(
                "A corpus must hold at least one pair. "
                f"Received: path={os.fspath(path)!r}, which is empty. Give another file."
            )


def open_bytes(path):
    """Open a regular file as an `io.BufferedReader`; decompress gzip."""
    name = os.fspath(path)
    with file_errors(name):
        if os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name):
            raise ValueError(
                "A corpus is read more than once. "
                f"Received: path={name!r}, which is a pipe or a device. Write it to a file."
            )
        file = open(name, "rb")
        if not is_gzip(name, file.peek(2)):
            return file
        file.close()
        return io.BufferedReader(gzip.open(name), 2**18)


def line_blocks(paths, most):
    """Yield (number of lines, bytes of those lines of each file), at most `most` lines a block.

    ValueError if the files differ in length, a line exceeds 64 MiB, or a .gz is damaged.
    """
    buffers, lines = [_LineBuffer(path) for path in paths], 0
    try:
        while True:
            ends = [buffer.ends(lines) for buffer in buffers]
            count = min(most, *map(len, ends))
            if not count:
                break
            lines += count
            sizes = [int(end[count - 1]) + 1 for end in ends]
            parts = [buffer.take(size) for buffer, size in zip(buffers, sizes, strict=True)]
            yield count, parts
    finally:
        for buffer in buffers:
            buffer.close()
    _check_ended(paths, ends, lines)


def _check_ended(paths, ends, lines):
    longer = [path for path, left in zip(paths, ends, strict=True) if len(left)]
    if longer:
        shorter = next(path for path, left in zip(paths, ends, strict=True) if not len(left))
        raise ValueError(
            "Parallel files must have as many lines as each other. "
            f"Received: path={os.fspath(shorter)!r} with {lines:,} lines, where "
            f"{os.fspath(longer[0])!r} has more. Give two files in which line i of one translates "
            "line i of the other."
        )


class _LineBuffer:
    """The next bytes of a file."""

    def __init__(self, path):
        self._name = os.fspath(path)
        self._file = open_bytes(path)
        self._data = b""
        self._ended = False

    def ends(self, lines_before):
        """Positions of the line ends among the next bytes, int array; empty at the file's end."""
        size = BLOCK_BYTES
        while True:
            self._fill(size)
            ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == _LINE_END)
            if len(ends) or not self._data:
                # a line longer than a block ends at the first line end
                return ends[: max(1, np.searchsorted(ends, BLOCK_BYTES))]
            check_unfinished(b"", len(self._data), self._name, lines_before + 1)
            size += BLOCK_BYTES

    def take(self, size):
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def close(self):
        self._file.close()

    def _fill(self, size):
        """Read until there are so many bytes, or the file ends, which ends a line."""
        with file_errors(self._name):
            while len(self._data) < size and not self._ended:
                chunk = self._file.read(size - len(self._data))
                self._ended = not chunk
                self._data += chunk
        if self._ended and self._data and not self._data.endswith(b"\n"):
            self._data += b"\n"
