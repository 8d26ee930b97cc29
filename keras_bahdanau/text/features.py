"""Features and tags in a source text, such as `<V> <PST>` and `<2de>`; each is one word.

In `walk <V> <PST>` the features are last; `arrange` moves them to the position that the model was
trained with. A tag comes first (Johnson et al. 2017, section 3).
"""

import functools
import itertools
import re

FIRST, LAST = POSITIONS = "first", "last"
MOST_NAMED = 50  # symbols listed in an error
_SHAPE = re.compile(r"<\S+>")  # a feature, whether or not it is in the vocabulary
# first and last code points of invisible characters: controls, Unicode's White_Space, and the
# Default_Ignorable_Code_Point characters of plane 0, such as a zero-width space and a BOM
INVISIBLE = (
    *((0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C)),
    *((0x115F, 0x1160), (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F)),
    *((0x2028, 0x202F), (0x205F, 0x206F), (0x3000, 0x3000), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
)


def check_position(position):
    """Raise ValueError unless the position of features is "first" or "last"."""
    if position not in POSITIONS:
        raise ValueError(
            "`feature_place` must be 'first' (before the text of a source) or 'last' (after "
            f"it). Received: feature_place={position!r:.80}"
        )


def position_in_card(card):
    """Return where the model of a card expects features; "first" if the card does not say."""
    source = card.get("source")
    config = source.get("config") if isinstance(source, dict) else None
    default = config.get("feature_place") if isinstance(config, dict) else None
    position = card.get("feature_place", default)
    return position if position in POSITIONS else FIRST


def infer_position(sources, symbols):
    """Infer the position of features and tags from texts.

    Returns "first" if a symbol begins some text and no text ends with one, otherwise "last".
    """
    known, position = {*symbols}, LAST
    for words in map(str.split, sources if known else ()):
        if words and words[-1] in known:
            return LAST
        if words and words[0] in known:
            position = FIRST
    return position


def arrange(source, symbols, position):
    """Move the features of a source, a string or bytes, to `position`, "first" or "last".

    Features after the text always move to the front. Features before the text move to the end only
    if there are at least two, since a single symbol there may be a tag. Returns the same object if
    nothing moves.

    Example:
        >>> arrange("walk <V> <PST>", {"<V>", "<PST>"}, "first")
        '<V> <PST> walk'
    """
    if isinstance(source, bytes):
        text = source.decode("utf-8", "surrogateescape")
        arranged = arrange(text, symbols, position)
        return source if arranged is text else arranged.encode("utf-8", "surrogateescape")
    before, words, behind = _counts(source, symbols, position)
    if not words:
        return source
    *front, text = source.split(None, before)
    text, *back = text.rsplit(None, behind)  # keeps the spaces of the text
    return " ".join([*front, *back, text] if position == FIRST else [text, *front, *back])


def words_before_arranging(spans, source, symbols, position):
    """Convert word spans, int `(time, 2)`, of an arranged source to those before `arrange`."""
    import numpy as np

    text = source.decode("utf-8", "surrogateescape") if isinstance(source, bytes) else source
    before, words, behind = _counts(text, symbols, position)
    total = before + words + behind
    if not words or spans[-1, 1] != total:  # nothing moved, or the source was truncated
        return spans
    numbers = np.arange(total)
    front, middle, back = np.split(numbers, [before, before + words])
    parts = [front, back, middle] if position == FIRST else [middle, front, back]
    order = np.concatenate([*parts, [total]]).astype(spans.dtype)
    return np.sort(order[spans], axis=1)


def text_words(source, symbols):
    """Return the range of positions of the source's words that are neither features nor tags."""
    words, known = source.split(), {*symbols}
    first = _run(words, known.__contains__)
    last = len(words) - _run(reversed(words), known.__contains__)
    return range(first, max(first, last))


def shift_links(links, pairs, symbols):
    """Shift links (source word, target word) by the number of features and tags in front."""
    if not symbols:
        return links
    starts = [text_words(source, symbols).start for source, _ in pairs]
    return [
        {(source + start, target) for source, target in sentence}
        for start, sentence in zip(starts, links, strict=True)
    ]


def _counts(source, symbols, position):
    """Return the numbers of words before, in and after the text; all are 0 if nothing moves."""
    last = source.rsplit(None, 1)[-1:]
    ends = bool(last) and (last[0] in symbols or bool(_SHAPE.fullmatch(last[0])))
    if ends != (position == FIRST):  # the usual case, decided by one word
        return 0, 0, 0
    words = source.split()

    def is_symbol(word):
        return word in symbols or _SHAPE.fullmatch(word) is not None

    before, behind = _run(words, is_symbol), _run(reversed(words), is_symbol)
    text = len(words) - before - behind
    moved = words[len(words) - behind :] if position == FIRST else words[:before]
    is_moved = symbols.intersection(moved) and len(moved) > (position == LAST)
    return (before, text, behind) if text > 0 and is_moved else (0, 0, 0)


def _run(words, is_symbol):
    """Count the words before the first one that is not a symbol."""
    return sum(1 for _ in itertools.takewhile(is_symbol, words))


@functools.cache
def _visible():
    return re.compile(f"[^{''.join(f'{chr(a)}-{chr(b)}' for a, b in INVISIBLE)}]")


def is_blank(text):
    """Return True if a text, a string or bytes, contains no visible character."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return _visible().search(text) is None


def check_tag(tag, name):
    """Raise ValueError unless the tag of the corpus `name` can be a single token."""
    from keras_bahdanau.text.vocabulary import is_symbol  # slow to import

    if not is_symbol(tag):
        raise ValueError(
            "A tag must be one word in UTF-8 without `▁`, and not the name of a special token. "
            f"Received: tag={tag!r} for the corpus {name!r}. Use a tag such as <2de>."
        )


def tagged(tag, text):
    """Put a tag before a text; blank text is unchanged. Raises TypeError if it is not text."""
    if not isinstance(text, str):
        raise TypeError(
            "Only text can have a tag. "
            f"Received: tag={tag!r} for an input of type {type(text).__name__}. Omit the tag."
        )
    return text if is_blank(text) else f"{tag} {text}"


def untagged(tag, text):
    """Remove the tag before a text: "<2de> A man." becomes "A man."."""
    return text.removeprefix(f"{tag} ")


def is_token(tag, source):
    """Return True if a tag is a single token of a text source (see `require_token`)."""
    from keras_bahdanau.text.vocabulary import UNKNOWN  # slow to import

    ids = _ids(tag, source)
    return len(ids) == 2 and ids[0] != UNKNOWN  # the second is the end token


def _ids(tag, source):
    (ids,) = source.subwords.encode([tag])
    return ids


def require_token(tag, source):
    """Raise ValueError unless a tag is a single token of a text `Source`."""
    if source.subwords is None:
        raise ValueError(
            "Only text can have a tag. "
            f"Received: tag={tag!r} for a source that is not text. Omit the tag."
        )
    if not is_token(tag, source):
        state = "unknown" if len(_ids(tag, source)) == 2 else "split"
        symbols = source.subwords.tokens(source.subwords.symbol_ids)
        known = sorted({symbol.strip("▁") for symbol in symbols})
        listed = f": {' '.join(known[:MOST_NAMED])}" if known else ""
        raise ValueError(
            "A tag must be one token of the source vocabulary. "
            f"Received: tag={tag!r}, which is {state} there. Use a tag that the model was trained "
            f"with{listed}, or a vocabulary that contains the tag: `prepare --symbols`, "
            "Subwords.train(symbols=), or update_vocabulary='append' to fine-tune a model."
        )
