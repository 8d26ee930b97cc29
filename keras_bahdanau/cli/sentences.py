"""Sentences to translate: lines of a file, sources of a table, or lines of standard input."""

import os
import sys

from keras_bahdanau.cli.console import warn
from keras_bahdanau.data.readers import check_no_records
from keras_bahdanau.data.readers.conventions import (
    check_separated,
    read_dictionary,
    report_conventions,
)
from keras_bahdanau.data.readers.lines import check_unfinished, decode_lines, read_lines
from keras_bahdanau.data.readers.table import (
    PAIRS,
    find_columns,
    hold_features,
    parse_columns,
    parse_table,
    report_table,
)

ARRIVING = 2**16  # bytes of standard input that are translated at once


def check_columns(file, columns):
    """Raise ValueError unless columns are those of a file, with sources among them."""
    if columns is not None and file is None:
        raise ValueError(
            "`columns` is for a TSV file. Received: "
            f"columns={columns!r} with standard input. Give the file."
        )
    if columns is not None:
        parse_columns(columns, needed=("source",))


def chunks_of(file, columns):
    """The sentences of a file or of standard input, in lists that are translated at once."""
    if file is None:
        return _whole_lines(_lines_arriving()), (), ()
    sentences, symbols, targets = sentences_of(file, columns)
    return [*_chunked(sentences)], symbols, targets


def sentences_of(file, columns):
    """Read the sentences of a file."""
    if not os.path.exists(file):  # of Path it would raise for a sentence longer than a name
        raise FileNotFoundError(
            f"`translate` takes a file of sentences. Received: path={str(file)!r}, no such file. "
            "`align` takes one sentence, and without a file the lines of standard input are read."
        )
    check_no_records(file)
    lines, inferred = read_lines(file, may_be_empty=columns is None), columns is None
    if inferred:
        if file.name.endswith((".csv", ".csv.gz")):
            check_separated(file, lines)
        is_table = file.name.endswith((".tsv", ".tsv.gz"))
        lines = read_dictionary(file, lines, warn) if is_table else lines
        columns = find_columns(lines, needed=("source",)) if is_table else None
        if columns is None:
            _warn_of_tabs(lines, repr(str(file)), "name them by --columns")
            report_conventions(file, lines, warn, tables=False)
            return lines, (), ()
        warn(
            f"columns of {str(file)!r}, found from its text: {columns}; its sources are "
            "translated, not whole lines"
        )
    table = parse_table(file, lines, columns, needed=("source",))
    report_table(file, lines, table, warn)
    targets = [target for _, target in table.pairs] if inferred and columns == PAIRS else ()
    return [source for source, _ in table.pairs], {*table.symbols}, targets


def _warn_of_tabs(lines, name, mend):
    """Warn that lines with tabs are read as sentences; True if there are any."""
    has_tabs = any("\t" in line for line in lines)
    if has_tabs:
        warn(
            f"lines of {name} are translated whole, with their tabs. If these part columns, {mend}."
        )
    return has_tabs


def _whole_lines(chunks):
    """Yield the lists of lines of standard input, and warn of the first one with tabs."""
    warned = False
    for lines in chunks:
        warned = warned or _warn_of_tabs(lines, "standard input", "give a file and --columns")
        yield lines


def warn_of_features(file, targets, subwords):
    """Warn that a second column is left out, if it holds features that the model reads."""
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
    number, parts, length = 1, [], 0  # of the line that has not ended yet
    while data := sys.stdin.buffer.read1(ARRIVING):
        whole, newline, tail = data.rpartition(b"\n")
        if newline:
            lines = decode_lines(b"".join([*parts, whole, newline]), "standard input", number)
            number, parts, length = number + len(lines), [], 0
            yield lines
        parts.append(tail)
        length += len(tail)
        check_unfinished(tail, length, "standard input", number)
    if any(parts):
        yield decode_lines(b"".join(parts), "standard input", number)
