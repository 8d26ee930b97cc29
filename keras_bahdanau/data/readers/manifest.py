"""Manifests: lists of files, such as images or recordings, with the text of each file."""

import os
from pathlib import Path

from keras_bahdanau.data.readers.conventions import check_separated
from keras_bahdanau.data.readers.lines import read_lines

NAMED = 5  # number of files to name in a report; the others are counted


def read_manifest(path: str | os.PathLike) -> list[tuple[Path, str]]:
    """Read a TSV of paths and texts, `path<TAB>text`, as a list of (path, text).

    The manifest is UTF-8, plain or compressed (if named `.gz`). Paths are relative to the directory
    of the manifest. A `Source` opens the files when it needs them.

    Raises:
        FileNotFoundError: If the manifest, or a file that it lists, does not exist.
        ValueError: If the manifest is empty, not UTF-8 text, or a damaged `.gz`; or if a line does
            not have two columns, or its first column is not the path of a file.

    Example:
        >>> pairs = read_manifest("train.tsv")
        >>> pairs[0]
        (PosixPath('audio/fash/an251.wav'), 'YES')
    """
    directory, lines = Path(path).parent, read_lines(path)
    if not any("\t" in line for line in lines):
        check_separated(path, lines)
    return [
        (_file(path, number, directory, line), line.split("\t")[1])
        for number, line in enumerate(lines, start=1)
    ]


def _file(path, number, directory, line):
    columns = line.split("\t")
    if len(columns) != 2 or not columns[0]:
        has = len(columns) if columns[0] else "no path"
        raise ValueError(
            "A line of a manifest must have two columns, a path and its text, separated by one "
            f"tab. Received: path={os.fspath(path)!r}, whose line {number} has "
            f"{has}: {line[:80]!r}. Correct the line, or select the two columns with cut -f."
        )
    file = directory / columns[0]
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        error = ValueError if file.is_dir() else FileNotFoundError
        raise error(
            "A manifest must list existing files, with paths relative to its directory. "
            f"Received: path={os.fspath(path)!r}, whose line {number} lists {columns[0]!r}, "
            f"{kind} in {os.fspath(directory)!r}. Correct the line."
        )
    return file


def first_file(path, lines):
    """Return the file named on the first line of a table, if it is a manifest; otherwise ""."""
    name = lines[0].split("\t")[0] if lines else ""
    try:
        return name if name and (Path(path).parent / name).is_file() else ""
    except (OSError, ValueError):  # not a valid file name
        return ""


def report_unreadable(inputs, lengths, source):
    """Return lines about the files in which a `Source` finds nothing, one line per reason."""
    names = {}
    for path, length in zip(inputs, lengths, strict=True):
        if isinstance(path, os.PathLike) and not length:
            names.setdefault(source.emptiness(path), []).append(str(path))
    return [_line(*emptiness, paths) for emptiness, paths in names.items()]


def _line(reason, remedy, names):
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    each = " each" if reason.startswith(("a ", "an ")) else ""
    count = "1 file is" if len(names) == 1 else f"{len(names):,} files are{each}"
    line = f"{count} {reason}: {', '.join(names[:NAMED])}{more}"
    return f"{line}. {remedy}" if remedy else line
