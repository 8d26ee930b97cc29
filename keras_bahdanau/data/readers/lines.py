"""Reading the lines of text into memory: UTF-8, plain or gzip, from files, devices and pipes."""

import contextlib
import gzip
import io
import os
import re
import select
import zlib
from pathlib import Path

from keras_bahdanau.files.forms import FIRST_BYTES, detect_form, guess_encoding

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file, even if its name does not end in .gz
UNFOLDED, SMALL = 20, 2**28  # limits; most text expands to three to five times the size of its .gz
PATIENCE = 10  # seconds to wait for the first byte of a named pipe
LONGEST_LINE = 2**26  # bytes; a stream may have no end
LONGEST_STREAM = 2**30  # maximum number of bytes from a device or a pipe
FIRST_LINES = 20  # number of lines from which JSON lines or HTML are recognized
# Bytes that do not occur in UTF-8 text: control characters except white space.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1b\x7f]")
# Byte order marks inside a file come from files that were joined, as lines or as columns.
BYTE_ORDER_MARK = re.compile("(?:^|(?<=[\n\t]))\ufeff")


class Unreadable(ValueError):
    """A text file can't be read at the moment because of the disk, the network or permissions."""


def read_lines(path: str | os.PathLike, may_be_empty: bool = False) -> list[str]:
    r"""Read the lines of a UTF-8 file, plain or gzip, as strings without their line ends.

    Only `\n` and `\r\n` end a line; other separators, such as U+2028, belong to the sentence. Empty
    lines are kept. A byte order mark at the beginning of a line or a column is removed.

    Args:
        path: Path of the file, or of a pipe.
        may_be_empty: Bool. True to return an empty list for an empty file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the path is a directory, if the file is empty or not UTF-8 text, if a gzip
            file is damaged or expands to more than 20 times its size and more than 256 MiB, or if a
            pipe yields nothing within 10 seconds, or more than 1 GiB.
    """
    data = _read_bytes(path)
    check_form(data, os.fspath(path))
    lines = decode_lines(data, os.fspath(path))
    if not lines and not may_be_empty:
        raise ValueError(
            f"A text file must contain at least one line. Received: path={os.fspath(path)!r}, "
            "which is empty. Give a file with one sentence per line."
        )
    return lines


def decode_lines(data: bytes, name: str, first_line: int = 1) -> list[str]:
    r"""Decode UTF-8 text and split it at `\n` or `\r\n`.

    The ValueError for invalid text includes the `name` and the line number.
    """
    check_control(data, name, first_line)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + first_line
        raise ValueError(
            f"Text must be UTF-8. Received: path={name!r}, whose line {line} contains the byte "
            f"0x{data[error.start]:02x}, which is invalid there. {_conversion(data)}"
        ) from None
    text = BYTE_ORDER_MARK.sub("", text)
    if first_line == 1 and "\n" not in text and "\r" in text[:-1]:
        raise ValueError(
            r"Lines must end in \n or \r\n. "
            rf"Received: path={name!r}, whose lines end only in \r. "
            r"Convert them: tr '\r' '\n'."
        )
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines]


def check_form(data: bytes, name: str):
    """Raise ValueError if the first bytes of a file show that it is not plain text.

    A file is JSON lines or HTML if more than three quarters of its first lines are.
    """
    form = detect_form(data[:FIRST_BYTES])
    if form is None:
        return
    if form.is_text:
        lines = [*filter(None, data[: 2**16].split(b"\n", FIRST_LINES)[:FIRST_LINES])]
        if 4 * sum(detect_form(line[:FIRST_BYTES]) == form for line in lines) > 3 * len(lines):
            return
    raise form_error(form, name)


def check_encoding(data: bytes, name: str):
    """Raise ValueError unless nine tenths of a file's first lines are UTF-8."""
    *lines, _ = data.split(b"\n")  # the last line may be incomplete
    wrong = sum(not _is_utf8(line) for line in lines)
    if 10 * wrong > len(lines) or guess_encoding(data).startswith("UTF"):
        raise ValueError(
            f"Text must be UTF-8. Received: path={name!r}, which is not. {_conversion(data)}"
        )


def _is_utf8(line):
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def form_error(form, name):
    """Create the error for a file whose `Form` is not text."""
    return ValueError(
        f"The file must be UTF-8 text. Received: path={name!r}, {form.name}. {form.remedy}"
    )


def _conversion(data):
    """Return a sentence that tells how to fix text that is not UTF-8."""
    encoding = guess_encoding(data[: 2**16])
    if not encoding:
        return "Convert the file to UTF-8, or correct the line."
    return f"It may be {encoding}: convert it with iconv -f {encoding} -t UTF-8."


def check_control(data: bytes, name: str, first_line: int = 1):
    """Raise ValueError if the bytes contain a control character that is not white space."""
    match = _CONTROL.search(data)
    if match is not None:
        line = data.count(b"\n", 0, match.start()) + first_line
        is_wide = guess_encoding(data[: 2**16]).startswith("UTF")
        remedy = _conversion(data) if is_wide else "Remove it."
        raise ValueError(
            "Text must not contain control characters. "
            f"Received: path={name!r}, whose line {line} "
            f"contains the byte 0x{match[0][0]:02x}. {remedy}"
        )


def check_unfinished(part: bytes, length: int, name: str, number: int):
    """Raise ValueError if an unfinished line is not text, or is too long."""
    check_control(part, name, number)
    if length > LONGEST_LINE:
        raise ValueError(
            f"A line must have at most {LONGEST_LINE:,} bytes. "
            f"Received: path={name!r}, whose line {number} has more. Split it."
        )


@contextlib.contextmanager
def file_errors(name):
    """Context manager that converts errors from reading a file `name` to the package's format."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(
            f"A text file must exist. Received: path={name!r}. "
            "Check the spelling, and the current directory."
        ) from None
    except IsADirectoryError:
        raise ValueError(
            f"The path must be that of a text file. Received: path={name!r}, which is a directory. "
            "Give the path of a file in it."
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            "A file named .gz, or with the first bytes of gzip, must be a complete gzip file. "
            f"Received: path={name!r} ({error}). "
            "Copy or compress it again, or remove .gz from the name of an uncompressed file."
        ) from None
    except OSError as error:
        raise Unreadable(
            f"A text file must be readable. Received: path={name!r} ({error.strerror}). "
            "Check its permissions."
        ) from None


def is_gzip(name, head):
    """Return True if a file is to be read as gzip, because of its first bytes or its name."""
    return head.startswith(GZIP) or name.endswith(".gz")


def _read_bytes(path):
    name = os.fspath(path)
    with file_errors(name):
        data = _read_all(path)
        if name.endswith(".gz") and not data.startswith(GZIP):
            check_form(data, name)
        return _unfold(name, data) if is_gzip(name, data) else data


def _unfold(name, packed):
    """Decompress a .gz file, up to a limit that is proportional to its size."""
    size, data = len(packed), bytearray()
    most = max(UNFOLDED * size, SMALL)
    with gzip.open(io.BytesIO(packed)) as file:
        while chunk := file.read(2**20):
            data += chunk
            if len(data) > most:
                raise ValueError(
                    f"A .gz file of text must not expand to more than {UNFOLDED} times its size "
                    f"and {SMALL:,} bytes. Received: path={name!r} of {size:,} bytes, "
                    f"which expands to more than {most:,}. If this is correct, decompress it first."
                )
    return bytes(data)


def _read_all(path):
    """Read the bytes of a file, or those of a device or a pipe up to a limit."""
    if os.path.isfile(path):
        return Path(path).read_bytes()
    name, data, line = os.fspath(path), bytearray(), 1
    with _open_stream(path) as stream:
        while part := stream.read(2**20):
            if not is_gzip(name, bytes(data[:2]) or part):
                if not data:
                    check_form(part, name)
                check_control(part, name, line)
            line += part.count(b"\n")
            data += part
            if len(data) > LONGEST_STREAM:
                raise ValueError(
                    f"A stream must have at most {LONGEST_STREAM:,} bytes. "
                    f"Received: path={name!r}, which has more. Write the data to a file."
                )
    return bytes(data)


def _open_stream(path):
    """Open a device or a pipe. Wait until a named pipe has data."""
    # an unnamed pipe, such as /dev/stdin, does not link to a path
    if not Path(os.path.realpath(path)).is_fifo():
        return open(path, "rb")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(1000 * PATIENCE):
        os.close(descriptor)
        raise ValueError(
            "Another process must write to a named pipe. "
            f"Received: path={os.fspath(path)!r}, from which nothing "
            f"came in {PATIENCE} seconds. Start the writer first."
        )
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb")
