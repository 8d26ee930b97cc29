"""Lines of files of any size, block by block, plain or .gz."""

import gzip
import io
import os

import numpy as np

from keras_bahdanau.data.reading import check_unfinished, file_errors

BLOCK_BYTES = 2**24  # of a file in a block, which is longer if one line is
_LINE_END = 10


def check_text_file(path):
    """Raise an error unless there is a file at a path, which can be read more than once.

    Args:
        path: Path.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is empty, a directory, a pipe or a device, or can't be read.
    """
    with open_bytes(path) as file, file_errors(os.fspath(path)):
        if not file.peek(1):
            raise ValueError(
                "A corpus must hold at least one pair. "
                f"Received: path={os.fspath(path)!r}, which is empty. Give another file."
            )


def open_bytes(path):
    """Open a regular file, a .gz one unpacked.

    Args:
        path: Path.

    Returns:
        `io.BufferedReader`. The errors of a damaged .gz come while it is read.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is something else, or can't be read.
    """
    name = os.fspath(path)
    with file_errors(name):
        if os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name):
            raise ValueError(
                "A corpus is read more than once. "
                f"Received: path={name!r}, which is a pipe or a device. Write it to a file."
            )
        if not name.endswith(".gz"):
            return open(name, "rb")
        return io.BufferedReader(gzip.open(name), 2**18)


def line_blocks(paths, most):
    """Yield the lines of parallel files in blocks, whose bounds follow from the files alone.

    Args:
        paths: List of paths of files that `check_text_file` accepts.
        most: Integer, most lines of a block.

    Yields:
        (number of lines, list of bytes, those lines of each file, with a line end behind each).

    Raises:
        ValueError: If the files have different numbers of lines, a line is longer than 64 MiB, or
            a .gz is damaged.
    """
    windows, lines = [_Window(path) for path in paths], 0
    try:
        while True:
            ends = [window.ends(lines) for window in windows]
            count = min(most, *map(len, ends))
            if not count:
                break
            lines += count
            parts = [w.take(int(end[count - 1]) + 1) for w, end in zip(windows, ends, strict=True)]
            yield count, parts
    finally:
        for window in windows:
            window.close()
    _check_ended(paths, ends, lines)


def _check_ended(paths, ends, lines):
    """Raise ValueError if a file has lines where another one has ended."""
    longer = [path for path, left in zip(paths, ends, strict=True) if len(left)]
    if longer:
        shorter = next(path for path, left in zip(paths, ends, strict=True) if not len(left))
        raise ValueError(
            "Parallel files must have as many lines as each other. "
            f"Received: path={os.fspath(shorter)!r} with {lines:,} lines, where "
            f"{os.fspath(longer[0])!r} has more. Give two files in which line i of one translates "
            "line i of the other."
        )


class _Window:
    """The next bytes of a file."""

    def __init__(self, path):
        self._name = os.fspath(path)
        self._file = open_bytes(path)
        self._data = b""
        self._ended = False

    def ends(self, before):
        """Int array, places of the line ends among the next bytes; empty at the file's end."""
        size = BLOCK_BYTES
        while True:
            self._fill(size)
            places = np.flatnonzero(np.frombuffer(self._data, np.uint8) == _LINE_END)
            if len(places) or not self._data:
                # of a line that is longer than a block, the end is the first one
                return places[: max(1, np.searchsorted(places, BLOCK_BYTES))]
            check_unfinished(b"", len(self._data), self._name, before + 1)
            size += BLOCK_BYTES

    def take(self, size):
        """The first bytes, which are gone then."""
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def close(self):
        self._file.close()

    def _fill(self, size):
        """Read until there are so many bytes, or the file ends, which ends a line."""
        with file_errors(self._name):
            while len(self._data) < size and not self._ended:
                some = self._file.read(size - len(self._data))
                self._ended = not some
                self._data += some
        if self._ended and self._data and not self._data.endswith(b"\n"):
            self._data += b"\n"
