"""Tables as they are published: TSV files whose columns are source, target, features, counts."""

import collections
import itertools
import os
import re
from typing import NamedTuple

from keras_bahdanau.data.joined_features import tell_joined_features
from keras_bahdanau.data.reading import read_lines

PAIRS = "source,target"
IGNORED = ("count", "-")
MOST_FEATURES = 1024
FEATURES = ("features", "features-last")  # before the text of a source, and behind it
_NAMES = ("source", "target", *FEATURES, *IGNORED)
_BETWEEN_FEATURES = re.compile(r"[;|\s]+")
_COUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?")  # or a score
_NO_FEATURE = {"pad", "unk", "s", "/s"}  # the names of SentencePiece's own tokens


class Table(NamedTuple):
    """The content of a TSV file.

    Attributes:
        pairs: List of (source, target) strings. Features stand before the text of a source, as
            one word each: `<V> <PST> walk`; those of a column "features-last" behind it.
        symbols: List of the different features in this form, for `train(symbols=)`.
    """

    pairs: list
    symbols: list


def parsed_columns(text, needed=("source", "target")):
    """The names of columns, from one string.

    Args:
        text: String, names with commas between.
        needed: Names of which each must come.

    Returns:
        Tuple of names.

    Raises:
        ValueError: If a name is unknown, comes twice, or is missing.

    Example:
        >>> parsed_columns("source,target,features")
        ('source', 'target', 'features')
    """
    names = tuple(text.split(","))
    once = [name for name in names if name not in IGNORED]
    if not {*needed} <= {*names} <= {*_NAMES} or len({*once}) < len(once):
        raise ValueError(
            f"`columns` must be names out of {', '.join(_NAMES)} with commas between, "
            f"{' and '.join(needed)} among them; only count and - may come twice. "
            f"Received: columns={text!r:.80}"
        )
    return names


def find_columns(lines, needed=("source", "target")):
    r"""The names of columns of a table as it is published, found from its text.

    The last of three columns holds counts if each of its cells is a number, and features if they
    are bundles such as `V;PST` or `Case=Nom|Number=Sing`, most of them of several features, in
    capitals or with names. Where no target is needed, the second of two columns can hold
    features, too.

    Args:
        lines: List of strings; empty ones are no rows.
        needed: As in `parsed_columns`.

    Returns:
        String for `parsed_columns`; None if the lines have other columns.

    Example:
        >>> find_columns(["mannerheim\tм а н н е р г е й м\t2", "euwe\tэ й в е\t1"])
        'source,target,count'
    """
    lines = [line for line in lines if line]
    tabs = {line.count("\t") for line in lines}
    last = [line.rpartition("\t")[2].strip(" ") for line in lines]
    if tabs == {1}:
        return "source,features" if "target" not in needed and _are_features(last) else PAIRS
    if tabs == {2} and all(map(_COUNT.fullmatch, last)):
        return f"{PAIRS},count"
    return f"{PAIRS},features" if tabs == {2} and _are_features(last) else None


def _are_features(cells):
    """True if cells hold bundles of features, most of them several."""
    several = sum(";" in cell or "|" in cell for cell in cells)
    return 2 * several > len(cells) and all(map(_is_bundle, {*cells}))


def _is_bundle(cell):
    """True for features of ASCII without white space, in capitals or as name=value."""
    return all(
        one.isascii()
        and one.isprintable()
        and " " not in one
        and (one == one.upper() or "=" in one)
        for one in cell.replace("|", ";").split(";")
    )


def read_table(
    path: str | os.PathLike,
    columns: str | None = None,
    answer_separator: str | None = None,
    needed=("source", "target"),
    say=None,
) -> Table:
    """Read a TSV file by the names of its columns.

    The file is UTF-8, plain or (named `.gz`) compressed. Features are split at `;`, `|` and white
    space, and each is put in angle brackets before the source: `walk` with `V;PST` is the source
    `<V> <PST> walk`, or with the column "features-last" `walk <V> <PST>`. Counts are ignored: a
    line is one pair, however often it was seen. Spaces at the ends of a cell are left out. An
    empty line is an empty pair.

    Args:
        path: Path of the file.
        columns: Names of all columns in their order: "source", "target", "features" or
            "features-last", and "count" or "-" for a column to ignore. Left out, a third column
            of numbers or of features is found from the text: see `find_columns`.
        answer_separator: String between several right targets of one cell, each of which makes
            a pair; None if a cell holds one.
        needed: Names of columns that there must be.
        say: Function of one string, which is told of columns other than source and target that
            were found, and of features that may be several in one; None for none.

    Returns:
        `Table`. Without a column of targets they are empty.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it can't be read as text, the columns are not as above, or a line has
            another number of them or an invalid feature. The message names the line.

    Example:
        >>> pairs, symbols = read_table("turkish-train.tsv.gz")
        >>> pairs[0], symbols[:2]
        (('<N> <LOC> <PL> kuzu', 'kuzularda'), ['<N>', '<LOC>'])
    """
    if columns is not None:
        parsed_columns(columns, needed)
    if answer_separator is not None and not answer_separator.strip("\t"):
        raise ValueError(
            "`answer_separator` must be text other than tabs. "
            f"Received: answer_separator={answer_separator!r:.80}"
        )
    lines = read_lines(path)
    if columns is None:
        columns = find_columns(lines, needed) or _pairs_or_error(path, lines)
        if columns != PAIRS and say is not None:
            say(f"columns of {os.fspath(path)!r}, found from its text: {columns}")
    table = table_of_lines(path, lines, columns, answer_separator, needed)
    if say is not None:
        tell_joined_features(path, table.symbols, say)
    return table


def table_of_lines(path, lines, columns, answer_separator=None, needed=("source", "target")):
    """The `Table` of lines that have been read: see `read_table`.

    Args:
        path: Path of their file, for errors.
        lines: List of strings.
        columns: String, the names of all columns.
        answer_separator: String, or None.
        needed: Names of columns that there must be.

    Raises:
        ValueError: If the columns are not as in `read_table`, or a line has another number of
            them or an invalid feature.
    """
    names = parsed_columns(columns, needed)
    pairs, known = [], {}  # symbols by features, in the order of the file
    for number, line in enumerate(lines, start=1):
        cells = dict(zip(names, _cells(path, number, line, names), strict=True))
        source, target = cells["source"], cells.get("target", "")
        before, behind = (
            [
                known.get(one) or known.setdefault(one, _symbol(path, number, one, known))
                for one in _features(cells.get(column, ""))
            ]
            for column in FEATURES
        )
        if source:  # or features alone would make it one
            source = " ".join([*before, source, *behind])
        for answer in _answers(target, answer_separator):
            pairs.append((source, answer))
    return Table(pairs, list(known.values()))


def hold_features(cells, symbols):
    """True if some cells of a column hold features, and nothing else.

    Args:
        cells: List of strings.
        symbols: Set of features in the form of `Table.symbols`.

    Example:
        >>> hold_features(["PST", "V;PRS"], {"<V>", "<PST>", "<PRS>"})
        True
    """
    rows = filter(None, map(_features, cells))
    return any({f"<{one}>" for one in row} <= symbols for row in rows)


def features_before(source, symbols):
    """The number of features before the text of a source of a table.

    Args:
        source: String, as in `Table.pairs`.
        symbols: `Table.symbols`, or a set of them.

    Example:
        >>> features_before("<V> <PST> walk", ["<V>", "<PST>"])
        2
    """
    return sum(1 for _ in itertools.takewhile({*symbols}.__contains__, source.split()))


def links_behind(links, pairs, symbols):
    """Links between words of a text, as links between the words that a model reads.

    Args:
        links: List of sets of (source, target), numbers of words, a set for each pair.
        pairs: List of (source, target) strings.
        symbols: The words that stand before a text without being its own: features, a tag.

    Example:
        >>> links_behind([{(0, 0)}], [("<V> <PST> walk", "walked")], ["<V>", "<PST>"])
        [{(2, 0)}]
    """
    if not symbols:
        return links
    before = [features_before(source, symbols) for source, _ in pairs]
    return [
        {(source + more, target) for source, target in own}
        for more, own in zip(before, links, strict=True)
    ]


def _pairs_or_error(path, lines):
    """`PAIRS`; or the error of a table of three columns, which names the line to mend."""
    widths = collections.Counter(line.count("\t") + 1 for line in lines if line)
    if not widths or widths.most_common(1)[0][0] != 3:
        return PAIRS
    cells = {}
    for number, line in enumerate(lines, start=1):
        if line:
            *_, cells[number] = _cells(path, number, line, (*PAIRS.split(","), "a third one"))
    are_counts = _COUNT.fullmatch(next(iter(cells.values())))
    fits = _COUNT.fullmatch if are_counts else _is_bundle
    number = next((number for number, cell in cells.items() if not fits(cell)), min(cells))
    raise ValueError(
        "The third column of a TSV file must be numbers, or features such as V;PST. Received: "
        f"path={os.fspath(path)!r}, whose line {number} has {cells[number][:40]!r}. Mend the "
        "line, or name all columns in their order: columns='source,target,-' ignores the third."
    )


def _cells(path, number, line, names):
    """The cells of a line, as many as there are names.

    Spaces at their ends, which no one sees, are no tokens and no part of a right answer.
    """
    cells = [cell.strip(" ") for cell in line.split("\t")] if line else [""] * len(names)
    if len(cells) != len(names):
        raise ValueError(
            f"A TSV line must have {len(names)} columns, {', '.join(names)}, with one tab "
            f"between. Received: path={os.fspath(path)!r}, whose line {number} has {len(cells)}. "
            "Mend the line, name all columns in their order, or give the two sides as two "
            "parallel files."
        )
    return cells


def _features(cell):
    """The features of a cell."""
    return [*filter(None, _BETWEEN_FEATURES.split(cell))]


def _symbol(path, number, feature, known):
    """A feature as a token of its own."""
    if feature in _NO_FEATURE or "▁" in feature:
        raise ValueError(
            f"A feature must have no `▁` and be none of {', '.join(sorted(_NO_FEATURE))}. "
            f"Received: path={os.fspath(path)!r}, whose line {number} has {feature!r:.80}. "
            "Rename it."
        )
    if len(known) == MOST_FEATURES:
        raise ValueError(
            f"A table must have at most {MOST_FEATURES:,} different features. Received: "
            f"path={os.fspath(path)!r}, whose line {number} has one more, {feature!r:.80}. Name "
            "the columns in their order."
        )
    return f"<{feature}>"


def _answers(cell, separator):
    """The right answers of a cell, each once."""
    if separator is None:
        return [cell]
    parts = [part.strip() for part in cell.split(separator)]
    return list(dict.fromkeys(filter(None, parts))) or [""]
