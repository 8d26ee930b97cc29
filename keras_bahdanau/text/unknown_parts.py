"""Reports about texts with parts that are not in a vocabulary."""

import unicodedata

NAMED, LONGEST = 6, 40  # limits on the number of parts to name, and on the characters of each
_FORMS = ("NFC", "NFD")


def name_of_part(part):
    """Return a part of a text, or its code points ("U+0020") if it is invisible or a mark."""
    part = part[:LONGEST]
    visible = part.isprintable() and not part.isspace() and not unicodedata.combining(part[0])
    return part if visible else " ".join(f"U+{ord(character):04X}" for character in part)


def report_unknown(kind, texts, subwords):
    """Return a line about parts of texts that are not in a vocabulary; "" if there are none."""
    unknown = subwords.unknown(texts) if subwords else []
    count = sum(map(bool, unknown))
    if not count:
        return ""
    parts = [*dict.fromkeys(part for row in unknown for part in row)]
    named = " ".join(map(name_of_part, parts[:NAMED])) + (" …" if len(parts) > NAMED else "")
    have = "has" if count == 1 else "have"
    form = better_form(texts, subwords, count)
    mend = f". Fewer have such parts in Unicode form {form}: convert the file" if form else ""
    return (
        f"{count:,} of {len(texts):,} {kind} {have} parts that the vocabulary does not know: "
        f"{named}{mend}"
    )


def better_form(texts, subwords, count):
    """Return the Unicode form that leaves fewer than `count` texts with unknown parts, or None.

    The form is "NFC" or "NFD".
    """
    for form in _FORMS:
        normalized = [unicodedata.normalize(form, text) for text in texts]
        if normalized != texts and sum(map(bool, subwords.unknown(normalized))) < count:
            return form
    return None
