"""Lines of files of any size, one at a time, plain or .gz."""

import gzip
import io
import os

from keras_bahdanau.data.reading import LONGEST_LINE, check_unfinished, file_errors


def check_text_file(path):
    """Raise an error unless there is a file at a path, which can be read more than once.

    Args:
        path: Path.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is a directory, a pipe or a device, or can't be read.
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
        return (
            io.BufferedReader(gzip.open(name), 2**18) if name.endswith(".gz") else open(name, "rb")
        )


def stream_lines(path):
    """Yield the lines of a file as bytes, a line end behind each.

    Args:
        path: Path of a file that `check_text_file` accepts.

    Raises:
        ValueError: If a line is longer than 64 MiB, or a .gz is damaged.
    """
    name = os.fspath(path)
    with open_bytes(path) as file, file_errors(name):
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                check_unfinished(b"", len(line), name, number)
            yield line if line.endswith(b"\n") else line + b"\n"
