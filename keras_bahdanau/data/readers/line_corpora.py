"""Corpora of lines: two parallel files, or one file with a pair on each line."""

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

HEAD = 1000  # number of lines from which the columns of a TSV are inferred
_LINE_END = 10


class ParallelFiles(TextCorpus):
    """Two parallel files, where line i of one is the translation of line i of the other."""

    def __init__(self, source, target):
        self.paths = [os.fspath(source), os.fspath(target)]
        for path in self.paths:
            check_text_file(path)

    def blocks(self, most):
        return _blocks(self.paths, most)

    def texts(self, block):
        return tuple(map(decode_lines, block.parts))


class LineCorpus(TextCorpus):
    """A corpus in one file with a pair on each line."""

    forms = ()  # for `check_text_file`

    def __init__(self, path):
        self.paths = [os.fspath(path)]
        check_text_file(path, self.forms)

    @abc.abstractmethod
    def parse(self, line, number):
        """Return (source, target) of a line. Raises ValueError, with the number, if invalid."""

    def blocks(self, most):
        return _blocks(self.paths, most)

    def texts(self, block):
        lines = decode_lines(block.parts[0])
        pairs = [self.parse(line, number) for number, line in enumerate(lines, block.first)]
        return [source for source, _ in pairs], [target for _, target in pairs]


class TableFile(LineCorpus):
    """A TSV file without features. `columns` and `say` are the same as in `read_table`."""

    def __init__(self, path, columns=None, say=None):
        super().__init__(path)
        _, (head,) = next(line_blocks([path], HEAD))
        lines = decode_lines(head)
        if read_dictionary(path, lines) != lines:
            raise ValueError(
                "A pronouncing dictionary can't be prepared in parts. Received: "
                f"path={self.paths[0]!r}. Give the file directly to `train`."
            )
        if not any("\t" in line for line in lines):
            check_separated(path, lines)
        if columns is None:
            columns = find_columns(lines) or PAIRS
        self.columns = parse_columns(columns)
        if {*COLUMNS} & {*self.columns}:
            raise ValueError(
                "A corpus with features can't be prepared in parts. Received: "
                f"path={self.paths[0]!r} with columns={columns!r}. Give the file directly to "
                "`train`."
            )
        self._sides = tuple(map(self.columns.index, ("source", "target")))
        file = first_file(path, lines)
        if file:
            raise ValueError(
                "A text corpus must have text on both sides. Received: "
                f"path={self.paths[0]!r}, a manifest, which lists the file {file!r}. Give the "
                "source that reads such files, for example --source image (`data.ManifestCorpus`)."
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
    """Yield the `Block`s of parallel files. The parts of a block are the bytes of each file."""
    first = 1
    for number, (count, parts) in enumerate(line_blocks(paths, most)):
        yield Block(number, first, count, tuple(parts))
        first += count


def decode_lines(content):
    """Decode bytes into lines without line ends and byte order marks.

    Invalid UTF-8 is replaced by U+FFFD.
    """
    texts = BYTE_ORDER_MARK.sub("", content.decode("utf-8", "replace")).split("\n")
    texts.pop()  # the empty string after the last line end
    return [text.rstrip("\r") for text in texts] if b"\r" in content else texts


def check_text_file(path, forms=()):
    """Check that a path is that of a readable, non-empty regular file in an allowed format.

    `forms` contains names from `files.forms`. If it is empty, the file must be UTF-8 text.
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
                "A corpus must contain at least one pair. "
                f"Received: path={os.fspath(path)!r}, which is empty. Give another file."
            )


def open_bytes(path):
    """Open a regular file, plain or gzip, as an `io.BufferedReader`."""
    name = os.fspath(path)
    with file_errors(name):
        if os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name):
            raise ValueError(
                "A corpus is read more than once, so it must be a regular file. "
                f"Received: path={name!r}, which is a pipe or a device. Write the data to a file."
            )
        file = open(name, "rb")
        if not is_gzip(name, file.peek(2)):
            return file
        file.close()
        return io.BufferedReader(gzip.open(name), 2**18)


def line_blocks(paths, most):
    """Yield (number of lines, bytes of these lines in each file), at most `most` lines at a time.

    Raises ValueError if the files have different numbers of lines, a line is longer than 64 MiB, or
    a .gz file is damaged.
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
            "Parallel files must have the same number of lines. "
            f"Received: path={os.fspath(shorter)!r} with {lines:,} lines, but "
            f"{os.fspath(longer[0])!r} has more. Give two files in which line i of one is the "
            "translation of line i of the other."
        )


class _LineBuffer:
    """A buffer of the next bytes of a file."""

    def __init__(self, path):
        self._name = os.fspath(path)
        self._file = open_bytes(path)
        self._data = b""
        self._ended = False

    def ends(self, lines_before):
        """Return an int array of the positions of line ends in the buffer; empty at file end."""
        size = BLOCK_BYTES
        while True:
            self._fill(size)
            ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == _LINE_END)
            if len(ends) or not self._data:
                # a line longer than a block is a block by itself
                return ends[: max(1, np.searchsorted(ends, BLOCK_BYTES))]
            check_unfinished(b"", len(self._data), self._name, lines_before + 1)
            size += BLOCK_BYTES

    def take(self, size):
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def close(self):
        self._file.close()

    def _fill(self, size):
        """Read until the buffer has `size` bytes, or the file ends. The end of file ends a line."""
        with file_errors(self._name):
            while len(self._data) < size and not self._ended:
                chunk = self._file.read(size - len(self._data))
                self._ended = not chunk
                self._data += chunk
        if self._ended and self._data and not self._data.endswith(b"\n"):
            self._data += b"\n"
