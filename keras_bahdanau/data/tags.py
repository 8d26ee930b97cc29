"""Tags before sources, such as the language token `<2de>`: each is one token of the source.

Johnson et al. 2017, "Google's Multilingual Neural Machine Translation System", section 3.
"""

MOST_NAMED = 50  # symbols of a vocabulary, in an error


def check_tag(tag, name):
    """Check that a tag can be one token of a text.

    Args:
        tag: String.
        name: String, the corpus that has it.

    Raises:
        ValueError: If it is several words, not UTF-8, or has the name of a special token.
    """
    from keras_bahdanau.text.vocabulary import is_symbol  # which takes its time

    if not is_symbol(tag):
        raise ValueError(
            "A tag must be one word in UTF-8 without `▁`, and no name of a special token. "
            f"Received: tag={tag!r} of corpus {name!r}. Use one such as <2de>."
        )


def tagged(tag, text):
    """A text behind a tag; an empty one stays empty.

    Raises:
        TypeError: If it is no text.

    Example:
        >>> tagged("<2de>", "A man."), tagged("<2de>", "")
        ('<2de> A man.', '')
    """
    if not isinstance(text, str):
        raise TypeError(
            "A tag stands before text. "
            f"Received: tag={tag!r} before an input of type {type(text).__name__}. Leave it out."
        )
    return f"{tag} {text}" if text.strip() else text


def untagged(tag, text):
    """A text without the tag before it.

    Example:
        >>> untagged("<2de>", "<2de> A man.")
        'A man.'
    """
    return text.removeprefix(f"{tag} ")


def is_token(tag, source):
    """True if a tag is one token of a source, which is text: see `require_token`."""
    from keras_bahdanau.text.vocabulary import UNKNOWN  # which takes its time

    ids = _ids(tag, source)
    return len(ids) == 2 and ids[0] != UNKNOWN  # the second is the end token


def _ids(tag, source):
    (ids,) = source.subwords.encode([tag])
    return ids


def require_token(tag, source):
    """Check that a tag is one token of a source.

    Args:
        tag: String.
        source: `Source`.

    Raises:
        ValueError: If the source is no text, or splits the tag or does not know it.
    """
    if source.subwords is None:
        raise ValueError(
            "A tag stands before text. "
            f"Received: tag={tag!r} for a source that is no text. Leave it out."
        )
    if not is_token(tag, source):
        state = "unknown" if len(_ids(tag, source)) == 2 else "split"
        symbols = source.subwords.tokens(source.subwords.symbol_ids)
        known = sorted({symbol.strip("▁") for symbol in symbols})
        of_training = f": {' '.join(known[:MOST_NAMED])}" if known else ""
        raise ValueError(
            f"A tag must be one token of the source. Received: tag={tag!r}, which is {state} "
            f"there. Use a tag of the training{of_training}, or a vocabulary that was trained with "
            "it: `prepare --symbols`, Subwords.train(symbols=), or update_vocabulary='append' for "
            "a model that is trained further."
        )
