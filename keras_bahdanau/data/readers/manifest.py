"""Manifests: files such as images or recordings, and the text of each."""

import os
from pathlib import Path

from keras_bahdanau.data.readers.conventions import check_separated
from keras_bahdanau.data.readers.lines import read_lines

NAMED = 5  # files that a report names; the others are counted


def read_manifest(path: str | os.PathLike) -> list[tuple[Path, str]]:
    """Read a TSV of paths and texts, `path<TAB>text`, as a list of (path, text).

    It is UTF-8, plain or (named `.gz`) compressed. A relative path counts from the directory of the
    manifest. A `Source` opens the files when it needs them. Raises FileNotFoundError if the
    manifest, or a file that it names in a line, does not exist; ValueError if the manifest is not
    text in UTF-8, empty, or a damaged `.gz`; or if a line does not have two columns, or the first
    is not a file.

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
            "A line of a manifest must have two columns, a path and its text, with one tab "
            f"between. Received: path={os.fspath(path)!r}, whose line {number} has "
            f"{has}: {line[:80]!r}. Mend the line, or keep the columns of path and text: cut -f."
        )
    file = directory / columns[0]
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        error = ValueError if file.is_dir() else FileNotFoundError
        raise error(
            "A manifest must name files that exist, relative to its own directory. "
            f"Received: path={os.fspath(path)!r}, whose line {number} names {columns[0]!r}, "
            f"{kind} in {os.fspath(directory)!r}. Mend the line."
        )
    return file


def first_file(path, lines):
    """The file that the first line of a table names, as in a manifest; or ""."""
    name = lines[0].split("\t")[0] if lines else ""
    try:
        return name if name and (Path(path).parent / name).is_file() else ""
    except (OSError, ValueError):  # not a valid file name
        return ""


def report_unreadable(inputs, lengths, source):
    """Lines about the files in which a `Source` finds nothing: one for each reason."""
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
