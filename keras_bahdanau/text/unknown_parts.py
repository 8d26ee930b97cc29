"""Reports of texts that have parts for which a vocabulary has no id."""

import unicodedata

NAMED, LONGEST = 6, 40  # parts that are named, and characters of each
_FORMS = ("NFC", "NFD")


def name_of_part(part):
    """A part of a text, readable where it is a mark, a space or another invisible character.

    Args:
        part: String, not empty.

    Example:
        >>> name_of_part("ö"), name_of_part(" ")
        ('ö', 'U+0020')
    """
    part = part[:LONGEST]
    visible = part.isprintable() and not part.isspace() and not unicodedata.combining(part[0])
    return part if visible else " ".join(f"U+{ord(one):04X}" for one in part)


def report_unknown(kind, texts, subwords):
    """One line about texts with parts that a vocabulary does not know.

    Args:
        kind: String, the name of the texts, such as "sources".
        texts: List of strings.
        subwords: `Subwords` of their side; None for a source that has none.

    Returns:
        String, which names the first of these parts, and the form of Unicode in which fewer
        texts have any, if there is one; "" if all is known.

    Example:
        >>> report_unknown("sources", ["lower <b>", "newest"], subwords)
        '1 of 2 sources has parts that the vocabulary does not know: < >'
    """
    found = subwords.unknown(texts) if subwords else []
    count = _with_any(found)
    if not count:
        return ""
    parts = [*dict.fromkeys(part for row in found for part in row)]
    named = " ".join(map(name_of_part, parts[:NAMED])) + (" …" if len(parts) > NAMED else "")
    have = "has" if count == 1 else "have"
    form = better_form(texts, subwords, count)
    mend = f". In Unicode's form {form} fewer have: convert the file" if form else ""
    return (
        f"{count:,} of {len(texts):,} {kind} {have} parts that the vocabulary does not know: "
        f"{named}{mend}"
    )


def better_form(texts, subwords, count):
    """The form of Unicode in which fewer texts have parts that a vocabulary does not know.

    Args:
        texts: List of strings.
        subwords: `Subwords` of their side.
        count: Integer, how many of the texts have such parts as they are.

    Returns:
        String, "NFC" or "NFD"; None if there is no such form.
    """
    for form in _FORMS:
        others = [unicodedata.normalize(form, text) for text in texts]
        if others != texts and _with_any(subwords.unknown(others)) < count:
            return form
    return None


def report_unknown_pairs(pairs, source, target, of=""):
    """Lines of `report_unknown` about both sides of pairs.

    Args:
        pairs: Iterable of (source, target string), such as `Pairs` in memory. Only sources that
            are strings are texts.
        source: `Source`.
        target: `Subwords`, or None for one that reads no text.
        of: String behind the name of a side, such as " of the validation".

    Returns:
        List of strings.
    """
    sources = [one for one, _ in pairs if isinstance(one, str)]
    lines = (
        report_unknown(f"sources{of}", sources, getattr(source, "subwords", None)),
        report_unknown(f"targets{of}", [text for _, text in pairs], target),
    )
    return [*filter(None, lines)]


def _with_any(found):
    return sum(map(bool, found))
