"""Sentences to translate: lines of a file, sources of a table, or what standard input brings."""

import os
import sys
from pathlib import Path

from keras_bahdanau.cli.console import warn
from keras_bahdanau.data.readers.lines import check_unfinished, decode_lines, read_lines
from keras_bahdanau.data.readers.table import (
    PAIRS,
    find_columns,
    parse_columns,
    parse_table,
    report_header,
)
from keras_bahdanau.data.readers.table_features import hold_features, report_joined_features

STANDARD_INPUT = Path("-")
ARRIVING = 2**16  # bytes of standard input that are translated at once


def check_columns(file, columns):
    """Raise ValueError unless columns are those of a file, with sources among them.

    Args:
        file: Path of a table; None for standard input.
        columns: String, or None.
    """
    if columns is not None and file is None:
        raise ValueError(
            "`columns` is for a TSV file. Received: "
            f"columns={columns!r} with standard input. Give the file."
        )
    if columns is not None:
        parse_columns(columns, needed=("source",))


def chunks_of(file, columns):
    """The sentences of a file, or those that arrive, in lists that are translated at once.

    Args:
        file: Path; None for standard input.
        columns: As in `sentences_of`.

    Returns:
        (list of lists of sentences, or an iterator over those that arrive; symbols of features;
        targets left out): see `sentences_of`.
    """
    if file is None:
        return _telling_tabs(_lines_arriving()), (), ()
    sentences, *others = sentences_of(file, columns)
    return [*_chunked(sentences)], *others


def sentences_of(file, columns):
    """Read the sentences of a file.

    Args:
        file: Path.
        columns: String, the columns of a table; None to find them where a name ends as of one.

    Returns:
        (lines of the file, or sources of a table; symbols of its features; targets left out).

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it can't be read, or has other columns.
    """
    if not os.path.exists(file):  # of Path it would raise for a sentence longer than a name
        raise FileNotFoundError(
            f"`translate` takes a file of sentences. Received: path={str(file)!r}, no such file. "
            "`align` takes one sentence, and without a file the lines of standard input are read."
        )
    lines, found = read_lines(file, may_be_empty=columns is None), columns is None
    if found:
        named = file.name.endswith((".tsv", ".tsv.gz"))
        columns = find_columns(lines, needed=("source",)) if named else None
        if columns is None:
            _tell_tabs(lines, repr(str(file)), "name them by --columns")
            return lines, (), ()
        warn(
            f"columns of {str(file)!r}, found from its text: {columns}; its sources are "
            "translated, not whole lines"
        )
    table = parse_table(file, lines, columns, needed=("source",))
    report_header(file, lines[0], warn)
    report_joined_features(file, table.symbols, warn)
    targets = [target for _, target in table.pairs] if found and columns == PAIRS else ()
    return [source for source, _ in table.pairs], {*table.symbols}, targets


def _tell_tabs(lines, name, mend):
    """Say that lines with tabs are read as sentences, and return if there are any."""
    found = any("\t" in line for line in lines)
    if found:
        warn(
            f"lines of {name} are translated whole, with their tabs. If these part columns, {mend}."
        )
    return found


def _telling_tabs(chunks):
    """The lists of lines of standard input; the first one with tabs is told of."""
    told = False
    for lines in chunks:
        told = told or _tell_tabs(lines, "standard input", "give a file and --columns")
        yield lines


def tell_left_out(file, targets, subwords):
    """Say that a second column is left out, where it holds features that the model reads.

    Args:
        file: Path of the table, or None.
        targets: List of the cells of that column.
        subwords: `Subwords` of the source; None for a source that has none.

    Returns:
        True if it holds such features.
    """
    symbols = {*subwords.tokens(subwords.symbol_ids)} if subwords else set()
    if are_features := hold_features(targets, symbols):
        warn(
            f"the second column of {str(file)!r} is left out as a target: `--columns "
            "source,features` reads it as features"
        )
    return are_features


def _chunked(lines, size=1024):
    for first in range(0, len(lines), size):
        yield lines[first : first + size]


def _lines_arriving():
    """Lists of lines of standard input, as many as have come."""
    number, parts, length = 1, [], 0  # of what has come since the last end of a line
    while data := sys.stdin.buffer.read1(ARRIVING):
        whole, newline, rest = data.rpartition(b"\n")
        if newline:
            lines = decode_lines(b"".join([*parts, whole, newline]), "standard input", number)
            number, parts, length = number + len(lines), [], 0
            yield lines
        parts.append(rest)
        length += len(rest)
        check_unfinished(rest, length, "standard input", number)
    if any(parts):
        yield decode_lines(b"".join(parts), "standard input", number)
