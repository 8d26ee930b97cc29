"""The place of the features in a text of a source: `walk <V> <PST>` or `<V> <PST> walk`."""

FIRST, LAST = PLACES = "first", "last"


def check_place(place):
    """Raise ValueError unless a place of features is "first" or "last"."""
    if place not in PLACES:
        raise ValueError(
            "`feature_place` must be 'first' (before the text of a source) or 'last' (behind "
            f"it). Received: feature_place={place!r:.80}"
        )


def place_in_card(card):
    """The place of features that a model has learnt.

    Args:
        card: Dictionary, the card of a `.keras` or `.tflite` file or of a run. One that names no
            place is of a version in which features stood first.

    Returns:
        String, "first" or "last".
    """
    source = card.get("source")
    config = source.get("config") if isinstance(source, dict) else None
    own = config.get("feature_place") if isinstance(config, dict) else None
    place = card.get("feature_place", own)
    return place if place in PLACES else FIRST


def place_of_features(sources, symbols):
    """The place of the features of sources: "first" if a symbol begins some, and ends none.

    Args:
        sources: Iterable of strings.
        symbols: `Table.symbols`, or a set of them. Tags, which stand first, may be among them.

    Example:
        >>> place_of_features(["<V> <PST> walk", "go"], ["<V>", "<PST>"])
        'first'
    """
    known, place = {*symbols}, LAST
    for words in map(str.split, sources if known else ()):
        if words and words[-1] in known:
            return LAST
        if words and words[0] in known:
            place = FIRST
    return place
