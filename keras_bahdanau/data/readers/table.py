"""Published tables: TSV files with columns of sources, targets, features and counts."""

import collections
import os
import re
from typing import NamedTuple

from keras_bahdanau.data.readers.conventions import (
    check_separated,
    is_header,
    read_dictionary,
    report_conventions,
)
from keras_bahdanau.data.readers.lines import read_lines

COLUMNS = ("features", "features-first", "features-last")
MOST_FEATURES = 1024
MOST_COLUMNS = 20  # limit for inferring the columns
_SEPARATOR = re.compile(r"[;|\s]+")
_NAMED = re.compile(r"[;|\s]+|,(?=[\w.]+=)")  # separators, also in pos=V,tense=PST
_BUNDLE = re.compile(r"[;|]|,(?=[\w.]+=)")
_OTHER_SEPARATOR = re.compile(r"\w[,+:/&]\w")
_RESERVED = {"pad", "unk", "s", "/s"}  # names of special tokens in SentencePiece
PAIRS = "source,target"
IGNORED = ("count", "-")
_NAMES = ("source", "target", *COLUMNS, *IGNORED)
_COUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?")  # or a score
_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")  # de, deu, pt-BR, zh_Hant


class Table(NamedTuple):
    """The `pairs` in a TSV file, and in `symbols` the different features of its sources."""

    pairs: list
    symbols: list


def parse_columns(text, needed=("source", "target")):
    """Split the names of columns at commas.

    Raises ValueError for unknown, repeated or missing names.
    """
    names = tuple(text.split(","))
    once = [name.partition("-")[0] for name in names if name not in IGNORED]
    if not {*needed} <= {*names} <= {*_NAMES} or len({*once}) < len(once):
        raise ValueError(
            f"`columns` must be names from {', '.join(_NAMES)}, separated by commas. They must "
            f"include {' and '.join(needed)}, only count and - may be repeated, and there may be "
            f"only one column of features. Received: columns={text!r:.80}"
        )
    return names


def find_columns(lines, needed=("source", "target")):
    """Infer the columns of a table from its lines, as a string for `parse_columns`.

    A column contains counts if all of its cells are numbers. It contains features if all of its
    cells are bundles in capitals or with names, such as `V;PST` or `Case=Nom|Number=Sing`, and most
    of them have several features. The other columns are source and target, in this order; language
    codes before a text are ignored. In a table of three columns, only the last one may contain
    counts. If no target is `needed`, the second of two columns may contain features. Returns None
    if the columns are not of these types.
    """
    lines = [line for line in lines if line]
    tabs = {line.count("\t") for line in lines}
    if tabs == {1}:
        last = [line.rpartition("\t")[2].strip(" ") for line in lines]
        return "source,features" if "target" not in needed and are_bundles(last) else PAIRS
    if len(tabs) != 1 or not 1 < min(tabs) < MOST_COLUMNS:
        return None
    rows = ([cell.strip(" ") for cell in line.split("\t")] for line in lines)
    columns = [*zip(*rows, strict=True)]
    kinds = [*map(_kind, columns)]
    for index in [index for index, kind in enumerate(kinds) if kind == "text"][:-1]:
        if are_languages(columns[index]):
            kinds[index] = "-"
    if kinds.count("text") != 2 and tabs == {2} and kinds[2] in ("count", "features"):
        return f"{PAIRS},{kinds[2]}"
    if kinds.count("text") not in (2, len(needed)) or kinds.count("features") > 1:
        return None
    names = iter(PAIRS.split(","))
    return ",".join(next(names) if kind == "text" else kind for kind in kinds)


def _kind(cells):
    """Return the type of a column of cells: "count", "features", "text", or "-" if it is empty."""
    if not any(cells):
        return "-"
    if all(map(_COUNT.fullmatch, cells)):
        return "count"
    return "features" if are_bundles(cells) else "text"


def are_languages(cells):
    """Return True if the cells are language codes that are repeated many times."""
    return len({*cells}) * 5 <= len(cells) and all(map(_LANGUAGE.fullmatch, {*cells}))


def read_table(
    path: str | os.PathLike,
    columns: str | None = None,
    answer_separator: str | None = None,
    needed=("source", "target"),
    say=None,
) -> Table:
    """Read the pairs in a TSV file, with the features of their sources.

    The file is UTF-8, plain or gzip. Features are split at `;`, `|` and white space, and are put in
    angle brackets after the source: `walk` with `V;PST` becomes the source `walk <V> <PST>`. A
    model that reads features before the text moves them there. Counts are ignored: a line is one
    pair. Spaces at the beginning and end of a cell are removed. An empty line is an empty pair. A
    pronouncing dictionary, such as CMUdict, is read without its comments, and READ(1) is another
    pronunciation of READ.

    Args:
        path: Path of the file.
        columns: String, the names of all columns, in order: "source", "target", "features", or
            "features-first" to put features before the text; "count" or "-" for a column to ignore.
            None to infer them: see `find_columns`.
        answer_separator: String that separates several correct targets in one cell, each of which
            makes a pair; None if a cell contains only one.
        needed: Names of required columns.
        say: Function of one string that reports inferred columns and possible problems, such as a
            header; None to report nothing.

    Returns:
        `Table`. Targets are empty if there is no column of targets.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not text, if the columns are invalid, or if a line has another
            number of columns or an invalid feature. The message includes the line number.

    Example:
        >>> pairs, symbols = read_table("turkish-train.tsv.gz")
        >>> pairs[0], symbols[:2]
        (('kuzu <N> <LOC> <PL>', 'kuzularda'), ['<N>', '<LOC>'])
    """
    if columns is not None:
        parse_columns(columns, needed)
    if answer_separator is not None and not answer_separator.strip("\t"):
        raise ValueError(
            "`answer_separator` must be text other than tabs. "
            f"Received: answer_separator={answer_separator!r:.80}"
        )
    lines = read_dictionary(path, read_lines(path), say)
    if "," in (columns or PAIRS) and not any("\t" in line for line in lines if line):
        check_separated(path, lines)
    if columns is None:
        columns = find_columns(lines, needed) or _pairs_or_error(path, lines)
        if columns != PAIRS and say is not None:
            say(f"columns of {os.fspath(path)!r}, inferred from its text: {columns}")
    table = parse_table(path, lines, columns, answer_separator, needed)
    if say is not None:
        report_table(path, lines, table, say)
    return table


def parse_table(path, lines, columns, answer_separator=None, needed=("source", "target")):
    """Parse lines into a `Table`, as `read_table` does. `path` is used in error messages."""
    names = parse_columns(columns, needed)
    features = next(filter(COLUMNS.__contains__, names), None)  # at most one
    pairs, known = [], {}  # symbols by features, in the order of the file
    for number, line in enumerate(lines, start=1):
        if line is None:  # a comment
            continue
        cells = dict(zip(names, _cells(path, number, line, names), strict=True))
        source, target = cells["source"], cells.get("target", "")
        symbols = [
            known.get(feature)
            or known.setdefault(feature, symbol_of(path, number, feature, len(known)))
            for feature in split_features(cells.get(features, ""))
        ]
        if source:  # an empty source stays empty, even with features
            words = [*symbols, source] if features == "features-first" else [source, *symbols]
            source = " ".join(words)
        for answer in _answers(target, answer_separator):
            pairs.append((source, answer))
    return Table(pairs, list(known.values()))


def report_table(path, lines, table, say):
    """Report possible problems in a `Table`: a header, quotation marks, and features."""
    report_conventions(path, [line for line in lines if line is not None], say)
    report_joined_features(path, table.symbols, say)
    _report_targets(path, table.pairs, say)


def _report_targets(path, pairs, say):
    """Report if the targets are bundles of features, but the sources are not."""
    targets = [target for source, target in pairs if source]
    if are_bundles(targets) and not are_bundles([source for source, _ in pairs if source]):
        say(
            f"the targets of {os.fspath(path)!r} look like features, such as {targets[0]!r:.40}. "
            "If they belong to the sources, name the columns: --columns source,features,target"
        )


def check_width(path, number, cells, names, order="in their order"):
    """Raise ValueError unless a line has one cell for each column name."""
    if len(cells) != len(names):
        is_open = sum(cell.count('"') for cell in cells) % 2  # a CSV cell that contains a line end
        quotes = ", and an unmatched quotation mark: CSV is not supported" if is_open else ""
        raise ValueError(
            f"A TSV line must have {len(names)} columns, {', '.join(names)}, separated by one tab "
            f"each. Received: path={os.fspath(path)!r}, whose line {number} has {len(cells)}"
            f"{quotes}. Correct the line, name all columns {order}, or give the two sides as two "
            "parallel files."
        )


def _pairs_or_error(path, lines):
    """Return `PAIRS`, or raise ValueError for a table with a header or with three columns.

    The message includes the number of the line to correct.
    """
    rows = [line for line in lines if line]
    if is_header(rows) and find_columns(rows[1:]):
        raise ValueError(
            f"A table must have no header. Received: path={os.fspath(path)!r}, whose line "
            f"{lines.index(rows[0]) + 1} is {rows[0]!r:.80}. Remove it with tail -n +2 FILE."
        )
    widths = collections.Counter(line.count("\t") + 1 for line in rows)
    if not widths or widths.most_common(1)[0][0] != 3:
        return PAIRS
    cells, second = {}, []
    for number, line in enumerate(lines, start=1):
        if line:
            row = _cells(path, number, line, (*PAIRS.split(","), "a third one"))
            second.append(row[1])
            cells[number] = row[2]
    if are_languages(second):
        raise ValueError(
            "A line of a table must have a source and a target. Received: "
            f"path={os.fspath(path)!r}, whose second column contains languages, such as "
            f"{second[0]!r}. Write each sentence and its translation on the same line."
        )
    are_counts = _COUNT.fullmatch(next(iter(cells.values())))
    fits = _COUNT.fullmatch if are_counts else is_bundle
    number = next((number for number, cell in cells.items() if not fits(cell)), min(cells))
    if all(map(is_bundle, second)):
        order = "'source,features,target' reads the second as features"
    else:
        order = "'source,target,-' ignores the third, 'source,target,features' reads it as features"
    raise ValueError(
        "The third column of a TSV file must contain numbers, or features such as V;PST. "
        f"Received: path={os.fspath(path)!r}, whose line {number} has {cells[number][:40]!r}. "
        "Correct the line, or name all columns in their order: "
        f"columns={order}. Features are split at `;`, `|` and spaces."
    )


def _cells(path, number, line, names):
    """Split a line into cells, without the spaces at their beginning and end."""
    cells = [cell.strip(" ") for cell in line.split("\t")] if line else [""] * len(names)
    check_width(path, number, cells, names)
    return cells


def _answers(cell, separator):
    """Return the different correct answers in a cell."""
    if separator is None:
        return [cell]
    parts = [part.strip() for part in cell.split(separator)]
    return list(dict.fromkeys(filter(None, parts))) or [""]


def split_features(cell):
    """Split a cell into the list of its features: "V;PST" or "pos=V,tense=PST"."""
    return [*filter(None, (_NAMED if "=" in cell else _SEPARATOR).split(cell))]


def symbol_of(path, number, feature, count):
    """Return the token of a feature, such as `<V>`. `count` is the number of features before it."""
    if feature in _RESERVED or "▁" in feature:
        raise ValueError(
            f"A feature must not contain `▁` or be one of {', '.join(sorted(_RESERVED))}. "
            f"Received: path={os.fspath(path)!r}, whose line {number} has {feature!r:.80}. "
            "Rename it."
        )
    if count == MOST_FEATURES:
        raise ValueError(
            f"A table must have at most {MOST_FEATURES:,} different features. Received: "
            f"path={os.fspath(path)!r}, whose line {number} has one more, {feature!r:.80}. If "
            "these are not features, name the columns in their order."
        )
    return f"<{feature}>"


def are_bundles(cells):
    """Return True if the cells are bundles of features, most of them with several features."""
    several = sum(_BUNDLE.search(cell) is not None for cell in cells)
    return 2 * several > len(cells) and all(map(is_bundle, {*cells}))


def is_bundle(cell):
    """Return True if all features are ASCII without spaces, in capitals or as name=value."""
    return all(
        feature.isascii()
        and feature.isprintable()
        and " " not in feature
        and (feature == feature.upper() or "=" in feature)
        for feature in _BUNDLE.split(cell)
    )


def hold_features(cells, symbols):
    """Return True if at least one cell contains only features that are in `symbols`."""
    rows = filter(None, map(split_features, cells))
    return any({f"<{feature}>" for feature in row} <= symbols for row in rows)


def report_joined_features(path, symbols, say):
    """Report if most features in a table seem to be unsplit bundles, such as "N,DAT,SG"."""
    joined = [symbol for symbol in symbols if _OTHER_SEPARATOR.search(symbol)]
    if 4 * len(joined) > 3 * len(symbols):
        say(
            f"{len(joined):,} of {len(symbols):,} features of {os.fspath(path)!r} may each be "
            f"several features, such as {joined[0]!r:.80}: features are split only at `;`, `|` and "
            "spaces"
        )
