"""Features in a source text, such as `<V> <PST>`: one word each, before or behind the text.

`walk <V> <PST>` has them last, `<V> <PST> walk` first. A model reads them where it learned them:
`arrange` moves them there. A tag such as `<2de>` stands first and is no feature.
"""

import itertools
import re

FIRST, LAST = PLACES = "first", "last"
_SHAPE = re.compile(r"<\S+>")  # of a feature, known to a vocabulary or new


def check_place(place):
    """Raise ValueError unless a place of features is "first" or "last"."""
    if place not in PLACES:
        raise ValueError(
            "`feature_place` must be 'first' (before the text of a source) or 'last' (behind "
            f"it). Received: feature_place={place!r:.80}"
        )


def place_in_card(card):
    """Return where a model reads features: "first" or "last".

    Args:
        card: Dictionary, the card of a `.keras` or `.tflite` file or of a run. Features stood
            first before cards named the place.
    """
    source = card.get("source")
    config = source.get("config") if isinstance(source, dict) else None
    default = config.get("feature_place") if isinstance(config, dict) else None
    place = card.get("feature_place", default)
    return place if place in PLACES else FIRST


def infer_place(sources, symbols):
    """Infer the place of features from sources: "first" if a symbol begins some and ends none.

    Args:
        sources: Iterable of strings.
        symbols: Symbols of the sources: features and tags.

    Example:
        >>> infer_place(["<V> <PST> walk", "go"], ["<V>", "<PST>"])
        'first'
    """
    known, place = {*symbols}, LAST
    for words in map(str.split, sources if known else ()):
        if words and words[-1] in known:
            return LAST
        if words and words[0] in known:
            place = FIRST
    return place


def arrange(source, symbols, place):
    """Move the features of a source to the place where a model reads them.

    Features behind the text always move to the front. Only two or more move from the front to
    the end: a single symbol there may be a tag. A feature that the vocabulary lacks moves with
    the others.

    Args:
        source: String or bytes.
        symbols: Set of strings, the symbols of the vocabulary.
        place: "first" or "last".

    Returns:
        The same object if nothing moves, otherwise a new one of its type.

    Example:
        >>> arrange("walk <V> <PST>", {"<V>", "<PST>"}, "first")
        '<V> <PST> walk'
    """
    if isinstance(source, bytes):
        text = source.decode("utf-8", "surrogateescape")
        arranged = arrange(text, symbols, place)
        return source if arranged is text else arranged.encode("utf-8", "surrogateescape")
    before, words, behind = _counts(source, symbols, place)
    if not words:
        return source
    *front, text = source.split(None, before)
    text, *back = text.rsplit(None, behind)  # keeps the spaces of the text
    return " ".join([*front, *back, text] if place == FIRST else [text, *front, *back])


def words_before_arranging(spans, source, symbols, place):
    """Number the words of an arranged source as in the source before `arrange`.

    Args:
        spans: Int array `(time, 2)`, the first and the last word of each token of the arranged
            source, the end token last.
        source: String or bytes, the source before.
        symbols: As in `arrange`.
        place: As in `arrange`.

    Returns:
        Int array `(time, 2)`.
    """
    import numpy as np

    text = source.decode("utf-8", "surrogateescape") if isinstance(source, bytes) else source
    before, words, behind = _counts(text, symbols, place)
    total = before + words + behind
    if not words or spans[-1, 1] != total:  # nothing moved, or the source was cut
        return spans
    numbers = np.arange(total)
    front, middle, back = np.split(numbers, [before, before + words])
    parts = [front, back, middle] if place == FIRST else [middle, front, back]
    order = np.concatenate([*parts, [total]]).astype(spans.dtype)
    return np.sort(order[spans], axis=1)


def text_words(source, symbols):
    """Return the numbers of the words of a source between its features and tags, as a range.

    Example:
        >>> text_words("<V> <PST> walk home", ["<V>", "<PST>"])
        range(2, 4)
        >>> text_words("walk home <V> <PST>", ["<V>", "<PST>"])
        range(0, 2)
    """
    words, known = source.split(), {*symbols}
    first = _run(words, known.__contains__)
    last = len(words) - _run(reversed(words), known.__contains__)
    return range(first, max(first, last))


def shift_links(links, pairs, symbols):
    """Shift links between words of texts by the features and tags before each text.

    Args:
        links: List of sets of (source word, target word), one set for each pair.
        pairs: List of (source, target) strings.
        symbols: As in `text_words`.

    Example:
        >>> shift_links([{(0, 0)}], [("<V> <PST> walk", "walked")], ["<V>", "<PST>"])
        [{(2, 0)}]
    """
    if not symbols:
        return links
    starts = [text_words(source, symbols).start for source, _ in pairs]
    return [
        {(source + start, target) for source, target in sentence}
        for start, sentence in zip(starts, links, strict=True)
    ]


def _counts(source, symbols, place):
    """Numbers of words before, in and behind the text of a source; zeros if nothing moves."""
    last = source.rsplit(None, 1)[-1:]
    ends = bool(last) and (last[0] in symbols or bool(_SHAPE.fullmatch(last[0])))
    if ends != (place == FIRST):  # the usual case, decided by one word
        return 0, 0, 0
    words = source.split()

    def is_symbol(word):
        return word in symbols or _SHAPE.fullmatch(word) is not None

    before, behind = _run(words, is_symbol), _run(reversed(words), is_symbol)
    text = len(words) - before - behind
    moved = words[len(words) - behind :] if place == FIRST else words[:before]
    is_moved = symbols.intersection(moved) and len(moved) > (place == LAST)
    return (before, text, behind) if text > 0 and is_moved else (0, 0, 0)


def _run(words, is_symbol):
    """Number of words before the first one that is no symbol."""
    return sum(1 for _ in itertools.takewhile(is_symbol, words))
