"""Typing errors for dates: functions of a text and a random number generator."""

import unicodedata

import regex

# Characters in CLDR that keyboards lack, and what is typed in their place.
TYPED = str.maketrans({"\u202f": " ", "\xa0": " ", "\u200f": None, "’": "'", "׳": "'"})
KEYBOARDS = (
    *("qwertyuiop", "asdfghjkl", "zxcvbnm", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    *("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ", "קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),
    *("ضصثقفغعهخحج", "شسيبلاتنمك", "ئءؤرىةوزظ"),
)
_MARKS = regex.compile(r"(?<=[\p{Latin}\p{Greek}])\p{Mn}+")


def plain(text):
    """Remove what errors in the whole text can change: case, diacritics, CLDR's characters."""
    return without_diacritics(text.translate(TYPED)).casefold()


def without_diacritics(text):
    """Remove the marks of Latin and Greek letters; in other scripts, marks are letters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))


def _places(text, kinds):
    return [n for n, one in enumerate(text) if unicodedata.category(one)[0] in kinds]


def _at_a_letter(change):
    """Return an error that applies `change` to a random letter or mark and the next one."""

    def changed(text, draw):
        places = _places(text, "LM")
        if not places:
            return text
        place = draw.choice(places)
        following = text[place + 1 : place + 2]
        following = following if following and unicodedata.category(following)[0] in "LM" else ""
        rest = text[place + 1 + len(following) :]
        return text[:place] + change(text[place], following, draw) + rest

    return changed


def _neighbour(letter, draw):
    """Return a neighbouring letter on the keyboard in the same case, or the letter itself."""
    row = next((row for row in KEYBOARDS if letter.lower() in row), "")
    place = row.find(letter.lower())
    beside = [row[n] for n in (place - 1, place + 1) if row and 0 <= n < len(row)]
    other = draw.choice(beside or [letter])
    return other.upper() if letter.isupper() else other


def _spacing(text, draw):
    places = _places(text, "ZPC")
    if not places:
        return text
    place = draw.choice(places)
    return text[:place] + draw.choice(("", 2 * text[place])) + text[place + 1 :]


# Typing errors by name: functions of a text and a random number generator.
CHANGES = {
    "dropped": _at_a_letter(lambda one, following, draw: following),
    "doubled": _at_a_letter(lambda one, following, draw: one + one + following),
    "swapped": _at_a_letter(lambda one, following, draw: following + one),
    "neighbour": _at_a_letter(lambda one, following, draw: _neighbour(one, draw) + following),
    "case": lambda text, draw: draw.choice((text.lower(), text.upper())),
    "diacritics": lambda text, draw: without_diacritics(text),
    "spacing": _spacing,
    "typed": lambda text, draw: text.translate(TYPED),
}
