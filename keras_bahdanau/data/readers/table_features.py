"""Features in the cells of a table, such as `V;PST`."""

import os
import re

COLUMNS = ("features", "features-first", "features-last")
MOST_FEATURES = 1024
_SEPARATOR = re.compile(r"[;|\s]+")
_OTHER_SEPARATOR = re.compile(r"\w[,+:/&]\w")
_RESERVED = {"pad", "unk", "s", "/s"}  # the names of SentencePiece's own tokens


def split_features(cell):
    """Split a cell into the list of its features: "V;PST" into V and PST."""
    return [*filter(None, _SEPARATOR.split(cell))]


def symbol_of(path, number, feature, count):
    """A feature as a token of its own: `<V>`.

    Args:
        path: Path of the table, for errors.
        number: Integer, the line, for errors.
        feature: String.
        count: Integer, the different features before it.

    Raises:
        ValueError: If it can't be one, or there are too many.
    """
    if feature in _RESERVED or "▁" in feature:
        raise ValueError(
            f"A feature must have no `▁` and be none of {', '.join(sorted(_RESERVED))}. "
            f"Received: path={os.fspath(path)!r}, whose line {number} has {feature!r:.80}. "
            "Rename it."
        )
    if count == MOST_FEATURES:
        raise ValueError(
            f"A table must have at most {MOST_FEATURES:,} different features. Received: "
            f"path={os.fspath(path)!r}, whose line {number} has one more, {feature!r:.80}. Name "
            "the columns in their order."
        )
    return f"<{feature}>"


def are_bundles(cells):
    """True if cells hold bundles of features, most of them several."""
    several = sum(";" in cell or "|" in cell for cell in cells)
    return 2 * several > len(cells) and all(map(is_bundle, {*cells}))


def is_bundle(cell):
    """True for features of ASCII without white space, in capitals or as name=value."""
    return all(
        feature.isascii()
        and feature.isprintable()
        and " " not in feature
        and (feature == feature.upper() or "=" in feature)
        for feature in cell.replace("|", ";").split(";")
    )


def hold_features(cells, symbols):
    """True if some cells of a column hold features, and nothing else.

    Args:
        cells: List of strings.
        symbols: Set of features in the form of `Table.symbols`.

    Example:
        >>> hold_features(["PST", "V;PRS"], {"<V>", "<PST>", "<PRS>"})
        True
    """
    rows = filter(None, map(split_features, cells))
    return any({f"<{feature}>" for feature in row} <= symbols for row in rows)


def report_joined_features(path, symbols, say):
    """Report features that nothing splits, such as "N,DAT,SG", where most are like that.

    Args:
        path: Path of the table.
        symbols: List of strings, its features, each once.
        say: Function of one string.
    """
    joined = [symbol for symbol in symbols if _OTHER_SEPARATOR.search(symbol)]
    if 4 * len(joined) > 3 * len(symbols):
        say(
            f"{len(joined):,} of {len(symbols):,} features of {os.fspath(path)!r} may be several "
            f"in one, such as {joined[0]!r:.80}: features are split at `;`, `|` and spaces alone"
        )
