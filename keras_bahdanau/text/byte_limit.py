"""Text cut in bytes, before anything reads the whole of it."""

WORD = 512  # most bytes of a source word that is copied, perhaps once a token, to a translation


def byte_limit(tokens):
    """The most bytes of a text that may have a number of tokens.

    That is far above what tokens of words have, some 4 bytes in English and 10 in Hindi; white
    space and characters that no token holds count for bytes alone. Few tokens may have as many
    bytes as a word that is copied, which may be a single unknown token.
    """
    return max(32 * tokens, WORD)


def text_limits(longest):
    """Dictionary for the card of an artefact: how long a text of so many tokens may be."""
    return {"max_source_length": longest, "max_source_bytes": byte_limit(longest)}


def cut_to_bytes(text, most):
    """A text without what stands behind `most` bytes of UTF-8.

    No character is cut in two. A run of bytes that are no UTF-8 is cut anywhere.

    Args:
        text: String, or bytes.
        most: Integer, 4 or more.

    Returns:
        The same object, if it is not longer; or one of the same type.

    Example:
        >>> cut_to_bytes("ab☃☃", 7)
        'ab☃'
    """
    content = text.encode() if isinstance(text, str) else text
    if len(content) <= most:
        return text
    inside = 0  # bytes of a character that begins before the limit
    while inside < 4 and content[most - inside] & 0xC0 == 0x80:
        inside += 1
    content = content[: most - inside % 4]
    return content.decode() if isinstance(text, str) else content
