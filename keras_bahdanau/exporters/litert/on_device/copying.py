"""Convert text to ids, and ids to text with unknown tokens replaced by source characters."""

import re

PAD, UNKNOWN, START, END = 0, 1, 2, 3
_COPY = 512  # maximum number of bytes copied for an unknown token
_NO_COPY = "\u2047"  # ⁇, SentencePiece's text for an unknown token
# the mark at the beginning of a word, ASCII white space, and Unicode separators
_SPACE = re.compile("[▁\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_SPACE = " \t\n\v\f\r"
# control characters, white space, and ignorable Unicode characters, such as a byte order mark
_INVISIBLE = (
    "\0- \x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_VISIBLE = re.compile(f"[^{_INVISIBLE}]")


def encoded(vocabulary, text):
    """Return the ids of a text, which is a string, or bytes that may be invalid UTF-8."""
    try:
        return vocabulary.encode(text.encode() if isinstance(text, str) else text)
    except UnicodeEncodeError:
        raise ValueError(
            "A text must be valid Unicode, without surrogates. "
            f"Received: {text[:80]!r}. Decode its bytes again."
        ) from None


def is_blank(text):
    """Return True for a text (string or bytes) without visible characters."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return _VISIBLE.search(text) is None


def surfaces_of(vocabulary, text):
    """Return the part of a text for each of its tokens, which an unknown token may copy."""
    content = text.encode() if isinstance(text, str) else text
    pieces = vocabulary.encode(content, out_type="proto").pieces
    parts = (_cut(content[piece.begin : piece.end]).decode(errors="replace") for piece in pieces)
    return [_SPACE.sub(" ", part).strip(_ASCII_SPACE) for part in parts]


def text_of(vocabulary, target, copied_from, surfaces):
    """Return the text for `target` ids. Unknown ids copy the surfaces at `copied_from`, if any."""
    steps = [step for step, token in enumerate(target) if token not in (PAD, START, END)]
    ids = [target[step] for step in steps]
    if not surfaces or UNKNOWN not in ids:
        return vocabulary.decode(ids)
    pieces = (
        _copy(copied_from[step], surfaces) if token == UNKNOWN else vocabulary.id_to_piece(token)
        for step, token in zip(steps, ids, strict=True)
    )
    return re.sub("▁+", " ", "".join(pieces)).strip(_ASCII_SPACE)


def _cut(content):
    """Return the first bytes of a text, without a partial character at the end."""
    if len(content) <= _COPY:
        return content
    inside = 0  # number of bytes of a character that begins before the limit
    while inside < 4 and content[_COPY - inside] & 0xC0 == 0x80:
        inside += 1
    return content[: _COPY - inside % 4]


def _copy(position, surfaces):
    """Return the surface at a position; ⁇ if it is blank or the position is out of range."""
    return (surfaces[position] if 0 <= position < len(surfaces) else "") or _NO_COPY
