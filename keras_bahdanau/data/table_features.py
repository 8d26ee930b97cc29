"""Features of a table, such as V;PST: one word each, before or behind the text of a source."""

import itertools
import os
import re

from keras_bahdanau.text.feature_place import FIRST, LAST

COLUMNS = {"features": None, "features-first": FIRST, "features-last": LAST}
MOST_FEATURES = 1024
_BETWEEN_FEATURES = re.compile(r"[;|\s]+")
_NO_FEATURE = {"pad", "unk", "s", "/s"}  # the names of SentencePiece's own tokens
_OTHER_SEPARATOR = re.compile(r"\w[,+:/&]\w")


def split_features(cell):
    """List of the features of a cell.

    Example:
        >>> split_features("V;PST")
        ['V', 'PST']
    """
    return [*filter(None, _BETWEEN_FEATURES.split(cell))]


def symbol_of_feature(path, number, feature, known):
    """A feature as a token of its own.

    Args:
        path: Path of the table, for errors.
        number: Integer, the line.
        feature: String.
        known: Dictionary of the features before it.

    Raises:
        ValueError: If it can't be one, or there are too many.
    """
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


def are_bundles(cells):
    """True if cells hold bundles of features, most of them several."""
    several = sum(";" in cell or "|" in cell for cell in cells)
    return 2 * several > len(cells) and all(map(is_bundle, {*cells}))


def is_bundle(cell):
    """True for features of ASCII without white space, in capitals or as name=value."""
    return all(
        one.isascii()
        and one.isprintable()
        and " " not in one
        and (one == one.upper() or "=" in one)
        for one in cell.replace("|", ";").split(";")
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
    return any({f"<{one}>" for one in row} <= symbols for row in rows)


def text_words(source, symbols):
    """The numbers of the words of a source that are its text, as a range.

    Args:
        source: String, as in `Table.pairs`.
        symbols: Words that stand before or behind a text without being its own: features, a tag.

    Example:
        >>> text_words("<V> <PST> walk home", ["<V>", "<PST>"])
        range(2, 4)
        >>> text_words("walk home <V> <PST>", ["<V>", "<PST>"])
        range(0, 2)
    """
    words, known = source.split(), {*symbols}
    first = _count(words, known)
    return range(first, max(first, len(words) - _count(reversed(words), known)))


def moved_features(source, symbols, place):
    """A source with its features in another place, if they stand in the wrong one.

    Args:
        source: String.
        symbols: Set of the features in the form of `Table.symbols`.
        place: String, "first" or "last".

    Returns:
        String; None if two features or more do not stand in the other place. One may be a tag.

    Example:
        >>> moved_features("<V> <PST> walk", {"<V>", "<PST>"}, "last")
        'walk <V> <PST>'
    """
    own = text_words(source, symbols)
    before, behind = own.start, len(source.split()) - own.stop
    moved, there = (before, behind) if place == LAST else (behind, before)
    return with_features_at(source, symbols, place) if own and moved > 1 and not there else None


def with_features_at(source, symbols, place):
    """A source with its features first or last, wherever they stand.

    Args:
        source: String, without a tag.
        symbols: `Table.symbols`, or a set of them.
        place: String, "first" or "last".

    Example:
        >>> with_features_at("<V> walk home <PST>", {"<V>", "<PST>"}, "last")
        'walk home <V> <PST>'
    """
    own = text_words(source, symbols)
    if not own:
        return source
    *before, rest = source.split(None, own.start)
    text, *behind = rest.rsplit(None, len(source.split()) - own.stop)  # its spaces stay
    features = [*before, *behind]
    return " ".join([*features, text] if place == FIRST else [text, *features])


def links_behind(links, pairs, symbols):
    """Links between words of a text, as links between the words that a model reads.

    Args:
        links: List of sets of (source, target), numbers of words, a set for each pair.
        pairs: List of (source, target) strings.
        symbols: As in `text_words`.

    Example:
        >>> links_behind([{(0, 0)}], [("<V> <PST> walk", "walked")], ["<V>", "<PST>"])
        [{(2, 0)}]
    """
    if not symbols:
        return links
    before = [text_words(source, symbols).start for source, _ in pairs]
    return [
        {(source + more, target) for source, target in own}
        for more, own in zip(before, links, strict=True)
    ]


def tell_joined_features(path, symbols, say):
    """Report features that nothing splits, such as "N,DAT,SG", where most are like that.

    Args:
        path: Path of the table.
        symbols: List of strings, its features, each once.
        say: Function of one string.
    """
    joined = [one for one in symbols if _OTHER_SEPARATOR.search(one)]
    if 4 * len(joined) > 3 * len(symbols):
        say(
            f"{len(joined):,} of {len(symbols):,} features of {os.fspath(path)!r} may be several "
            f"in one, such as {joined[0]!r:.80}: features are split at `;`, `|` and spaces alone"
        )


def _count(words, known):
    """The number of words before the first one that is not known."""
    return sum(1 for _ in itertools.takewhile(known.__contains__, words))
