"""Reading parallel text and word alignments: plain, .gz or TSV."""

import codecs
import contextlib
import gzip
import io
import os
import re
import select
import zlib
from pathlib import Path

UNFOLDED, SMALL = 20, 2**28  # text unfolds to three to five times the size of its .gz
PATIENCE = 10  # seconds to wait for the first byte of a named pipe
LONGEST_LINE = 2**26  # bytes; of a stream, which may have no end
LONGEST_STREAM = 2**30  # bytes of what is no regular file
# Bytes that no text has, in UTF-8: control characters other than white space.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1b\x7f]")


def read_pairs(
    source: str | os.PathLike, target: str | os.PathLike | None = None
) -> list[tuple[str, str]]:
    """Read sentence pairs from two parallel files or from one TSV file.

    Files are UTF-8, plain or (named `.gz`) compressed. Empty lines are kept, so that pair `i`
    is line `i + 1` of each file; an empty line of a TSV is an empty pair.

    Args:
        source: Path of the source sentences, one a line; or, without `target`, of a file with
            exactly two tab-separated columns, source and target (see `read_table` for others).
        target: Path of the target sentences, line by line the translations of `source`.

    Returns:
        List of `(source, target)` strings, one pair a line.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If a file is a directory, empty, not text in UTF-8, or a damaged `.gz`; if the
            two files have different numbers of lines; or if a line of a TSV has not two columns.

    Example:
        >>> pairs = read_pairs("train.en", "train.de.gz")
        >>> pairs = read_pairs("train.tsv")
    """
    if target is None:
        from keras_bahdanau.data.columns import PAIRS, read_table  # which reads lines

        return read_table(source, PAIRS).pairs
    source_lines, target_lines = read_lines(source), read_lines(target)
    check_parallel(source=(source, len(source_lines)), target=(target, len(target_lines)))
    return list(zip(source_lines, target_lines, strict=True))


def check_parallel(**files):
    """Raise ValueError unless two files have as many lines as each other.

    Args:
        **files: (path, number of its lines) of each, by the name of its argument.
    """
    if len({lines for _, lines in files.values()}) > 1:
        received = [
            f"{name}={os.fspath(path)!r} with {lines} {'line' if lines == 1 else 'lines'}"
            for name, (path, lines) in files.items()
        ]
        raise ValueError(
            "Parallel files must have as many lines as each other. "
            f"Received: {', '.join(received)}. "
            "Give two files in which line i of one translates line i of the other."
        )


def read_lines(path: str | os.PathLike, may_be_empty: bool = False) -> list[str]:
    r"""Read the lines of a UTF-8 file, plain or `.gz`.

    Only `\n` and `\r\n` end a line: other separators, such as U+2028, belong to the sentence.

    Args:
        path: Path of the file, or of a pipe; a name that ends in `.gz` is decompressed.
        may_be_empty: Bool. True if a file without a line gives an empty list.

    Returns:
        List of strings without their line ends. Empty lines are kept.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is a directory, empty, not text in UTF-8, or a `.gz` that is damaged or
            unfolds to more than 20 times its size and 256 MiB; or a pipe from which nothing
            comes in 10 seconds, or more than 1 GiB.
    """
    lines = decode_lines(_read_bytes(path), os.fspath(path))
    if not lines and not may_be_empty:
        raise ValueError(
            f"A text file must hold at least one line. Received: path={os.fspath(path)!r}, "
            "which is empty. Give a file with one sentence a line."
        )
    return lines


def decode_lines(data: bytes, name: str, first_line: int = 1) -> list[str]:
    r"""Decode UTF-8 text and split it at `\n` or `\r\n`.

    Args:
        data: The bytes of the text. A byte order mark at its beginning is dropped.
        name: Name of the text in an error, such as its path.
        first_line: Integer. Number of the first of the lines, where they are part of a text.

    Returns:
        List of strings without their line ends; empty if there is no text.

    Raises:
        ValueError: If the bytes are not UTF-8, hold a control character that is no white
            space, or only the line ends `\r` of old. The message names the line.
    """
    if first_line == 1:
        data = data.removeprefix(codecs.BOM_UTF8)
    check_control(data, name, first_line)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + first_line
        raise ValueError(
            f"Text must be UTF-8. Received: path={name!r}, whose line {line} holds the byte "
            f"0x{data[error.start]:02x} where UTF-8 allows none. "
            "Convert the file to UTF-8 or repair the line."
        ) from None
    if first_line == 1 and "\n" not in text and "\r" in text[:-1]:
        raise ValueError(
            r"Lines must end in \n or \r\n. "
            rf"Received: path={name!r}, whose line 1 ends in \r alone, as all others. "
            r"Convert them: tr '\r' '\n'."
        )
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines]


def check_control(data: bytes, name: str, first_line: int = 1):
    """Raise ValueError if bytes hold a control character that no text has.

    Args:
        data: Bytes of the text, or of its beginning.
        name: Name of the text in the error.
        first_line: Integer, number of the first of the lines.
    """
    found = _CONTROL.search(data)
    if found is not None:
        line = data.count(b"\n", 0, found.start()) + first_line
        raise ValueError(
            f"Text must have no control characters. Received: path={name!r}, whose line {line} "
            f"holds the byte 0x{found[0][0]:02x}. Remove it; if the text is UTF-16 or UTF-32, as "
            "many zero bytes tell, convert it: iconv -f UTF-16 -t UTF-8."
        )


def check_unfinished(part: bytes, length: int, name: str, number: int):
    """Raise ValueError if a part of an unfinished line is no text, or all of it is too long.

    Args:
        part: The bytes that came last.
        length: Integer, bytes of the line so far.
        name: Name of the text in the error.
        number: Integer, number of the line.
    """
    check_control(part, name, number)
    if length > LONGEST_LINE:
        raise ValueError(
            f"A line must have at most {LONGEST_LINE:,} bytes. "
            f"Received: path={name!r}, whose line {number} has more. Split it."
        )


def _read_bytes(path):
    name = os.fspath(path)
    with file_errors(name):
        return _unfolded(name, _whole(path)) if name.endswith(".gz") else _whole(path)


class Unreadable(ValueError):
    """A text file that the system does not read, for now at least: disk, network, permission."""


@contextlib.contextmanager
def file_errors(name):
    """Give the errors of a file that can't be read as text the form of this package.

    Args:
        name: String, the path of the file.
    """
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(
            f"A text file must exist. Received: path={name!r}. "
            "Check the spelling and the current directory."
        ) from None
    except IsADirectoryError:
        raise ValueError(
            f"A text file is needed. Received: path={name!r}, which is a directory. "
            "Give the path of one file in it."
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"A file named .gz must be a whole gzip file. Received: path={name!r} ({error}). "
            "Copy or compress it again, or drop .gz from the name of an uncompressed file."
        ) from None
    except OSError as error:
        raise Unreadable(
            f"A text file must be readable. Received: path={name!r} ({error.strerror}). "
            "Check its permissions."
        ) from None


def _unfolded(name, packed):
    """The bytes that a .gz holds, as far as they are in proportion to its size."""
    size, data = len(packed), bytearray()
    most = max(UNFOLDED * size, SMALL)
    with gzip.open(io.BytesIO(packed)) as file:
        while chunk := file.read(2**20):
            data += chunk
            if len(data) > most:
                raise ValueError(
                    f"A .gz file of text may unfold to {UNFOLDED} times its size, or to "
                    f"{SMALL:,} bytes. Received: path={name!r} of {size:,} bytes, "
                    f"which unfolds to more than {most:,}. Unpack it yourself if that is right."
                )
    return bytes(data)


def _whole(path):
    """The bytes of a file; of a device or pipe, which may have no end, as many as are allowed."""
    if os.path.isfile(path):
        return Path(path).read_bytes()
    name, data, line = os.fspath(path), bytearray(), 1
    with _opened(path) as stream:
        while part := stream.read(2**20):
            if not name.endswith(".gz"):
                check_control(part, name, line)
            line += part.count(b"\n")
            data += part
            if len(data) > LONGEST_STREAM:
                raise ValueError(
                    f"A stream must have at most {LONGEST_STREAM:,} bytes. "
                    f"Received: path={name!r}, which has more. Write it to a file."
                )
    return bytes(data)


def _opened(path):
    """A device or a pipe, open for reading; a named pipe once something comes from it."""
    # of a pipe without a name, such as /dev/stdin, the target is no path
    if not Path(os.path.realpath(path)).is_fifo():
        return open(path, "rb")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(1000 * PATIENCE):
        os.close(descriptor)
        raise ValueError(
            f"A pipe must be written to. Received: path={os.fspath(path)!r}, from which nothing "
            f"came in {PATIENCE} seconds. Start its writer first."
        )
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb")


def read_alignments(path: str | os.PathLike) -> tuple[list[frozenset], list[frozenset]]:
    """Read the links of sentence pairs from a file in Pharaoh form.

    The file is UTF-8, plain or (named `.gz`) compressed. Line `i + 1` holds the links of pair
    `i`, such as `0-0 1-2 2?2`: see `alignments.parse_pharaoh`. An empty line means no links.

    Args:
        path: Path of the file.

    Returns:
        `(sure, possible)`, two lists with one set of links `(source, target)` for each line, as
        `BatchedPairs` and `alignment_error_rate` take them. Sure links are possible, too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it cannot be read as text, or a line holds something else than links. The
            message names the line.

    Example:
        >>> sure, possible = read_alignments("train.links.gz")
        >>> data = batches(pairs, source, target, alignments=sure)
    """
    from keras_bahdanau.text.alignments import parse_pharaoh  # which loads NumPy

    sure, possible = [], []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            links = parse_pharaoh(line)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)!r}, line {number}: {error}") from None
        sure.append(links[0])
        possible.append(links[1])
    return sure, possible
