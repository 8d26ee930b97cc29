"""Fonts that have the letters of a text, whatever its script."""

import functools
import os
import re
import unicodedata
import warnings
from pathlib import Path

import matplotlib
from matplotlib import font_manager
from matplotlib.font_manager import FontProperties

FILE = "FiraGO-Regular.ttf"


@functools.cache
def packaged_font():
    """Path of the font's file in matplotlib's cache, or None if the package is not installed."""
    try:
        from pymupdf_fonts import fontbuffers
    except ImportError:
        return None
    path = Path(matplotlib.get_cachedir()) / FILE
    if not path.is_file():
        unfinished = path.with_name(f".{os.getpid()}-{FILE}")
        unfinished.write_bytes(fontbuffers["figo"]())
        os.replace(unfinished, path)
    return str(path)


def find_fonts():
    """Paths of all fonts there are: those of the system, and the packaged one."""
    own = packaged_font()
    return [*font_manager.findSystemFonts(), *([own] if own else [])]


PREFERRED = "Noto Sans"
PLACEHOLDERS = "Last Resort"  # matplotlib's font of boxes, which has a box for everything
INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs"}
EAST_ASIAN = {"HANGUL", "HIRAGANA", "KATAKANA"}


def families_for(texts):
    """Name font families that together have every character of the texts.

    Families of `matplotlib.rcParams["font.family"]` come first, then one or more installed ones for
    what they lack, among them the one of `pip install "keras-bahdanau[fonts]"`. A font that is
    not installed can be given to matplotlib before:

        >>> matplotlib.font_manager.fontManager.addfont("NotoSansDevanagari-Regular.ttf")

    Letters that change with their neighbours, as those of Devanagari and Arabic do, take
    matplotlib 3.11 to be joined.

    Args:
        texts: Iterable of strings.

    Returns:
        List of strings, for the `fontfamily` of a matplotlib text, which takes the first family
        that has a character. If nothing has it, a warning describes what to install, and matplotlib
        draws a box.
    """
    families = list(matplotlib.rcParams["font.family"])
    own = (font_manager.findfont(FontProperties(family=[name])) for name in families)
    missing = {character for character in set().union(*texts) if _is_drawn(character)}
    missing = missing.difference(*map(_characters, own))
    if missing:
        _find_new_fonts()
    while missing:
        entry = _most_complete(missing)
        found = missing & _characters(entry.fname)
        if not found:
            _warn(missing)
            break
        families.append(entry.name)
        missing -= found
    return families


def _is_drawn(character):
    return unicodedata.category(character) not in INVISIBLE


@functools.cache
def _characters(path):
    """Frozenset of the characters that a font file has."""
    try:
        return frozenset(map(chr, font_manager.get_font(path).get_charmap()))
    except (OSError, RuntimeError):  # it was there when matplotlib listed the fonts
        return frozenset()


def _find_new_fonts():
    """List what was installed since matplotlib last listed the fonts."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in set(find_fonts()) - known:
        try:
            font_manager.fontManager.addfont(path)
        except Exception:  # noqa: BLE001, as in matplotlib: a broken font is no font
            continue


def _most_complete(missing):
    """The listed font with the most of these characters: the first that has all, if any."""
    upright = [
        entry
        for entry in font_manager.fontManager.ttflist
        if entry.style == "normal" and not entry.name.startswith(PLACEHOLDERS)
    ]
    upright.sort(key=lambda entry: (not entry.name.startswith(PREFERRED), entry.name, entry.fname))
    for entry in upright:
        if missing <= _characters(entry.fname):
            return entry
    return max(upright, key=lambda entry: len(missing & _characters(entry.fname)))


def _warn(missing):
    fonts = " and ".join(sorted({f"Noto Sans {_script(character)}" for character in missing}))
    shown = "".join(sorted(missing))
    warnings.warn(
        f"No installed font has the characters {shown[:9]!r}, so boxes stand for them. "
        f"Install {fonts} (https://fonts.google.com/noto; on Debian and Ubuntu "
        "`apt install fonts-noto`), or `pip install 'keras-bahdanau[fonts]'` for Devanagari and "
        "Thai, or give a font's file to matplotlib.font_manager.fontManager.addfont(path).",
        stacklevel=4,
    )


def _script(character):
    """Noto's name for the script of a character."""
    if unicodedata.category(character)[0] == "S":
        return "Symbols"
    name = re.match("[A-Z]*", unicodedata.name(character, ""))[0]
    return "CJK" if name in EAST_ASIAN | {"CJK"} else name.title()
