"""Fonts that contain the characters of texts in any script."""

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
    """Return the path of the packaged font in matplotlib's cache; None if it is not installed."""
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
    """Return the paths of the system's fonts and of the packaged font."""
    return [*font_manager.findSystemFonts(), *filter(None, [packaged_font()])]


PREFERRED = "Noto Sans"
PLACEHOLDERS = "Last Resort"  # matplotlib's fallback font, which draws every character as a box
INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs"}
EAST_ASIAN = {"HANGUL", "HIRAGANA", "KATAKANA"}


def families_for(texts):
    """Return a list of font families that together contain every character of the texts.

    The families in `matplotlib.rcParams["font.family"]` come first. They are followed by installed
    ones, such as the font from `pip install "keras-bahdanau[fonts]"` or one that was added with
    `matplotlib.font_manager.fontManager.addfont(path)`. Joined letters, as in Devanagari and
    Arabic, need matplotlib 3.11. If no font contains a character, a warning names it.
    """
    families = list(matplotlib.rcParams["font.family"])
    paths = (font_manager.findfont(FontProperties(family=[name])) for name in families)
    missing = {character for character in set().union(*texts) if _is_drawn(character)}
    missing = missing.difference(*map(_characters, paths))
    if missing:
        _find_new_fonts()
    while missing:
        entry = _most_complete(missing)
        covered = missing & _characters(entry.fname)
        if not covered:
            _warn(missing)
            break
        families.append(entry.name)
        missing -= covered
    return families


def _is_drawn(character):
    return unicodedata.category(character) not in INVISIBLE


@functools.cache
def _characters(path):
    try:
        return frozenset(map(chr, font_manager.get_font(path).get_charmap()))
    except (OSError, RuntimeError):  # removed since matplotlib listed the fonts
        return frozenset()


def _find_new_fonts():
    """Add fonts that were installed since matplotlib last listed them."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in set(find_fonts()) - known:
        try:
            font_manager.fontManager.addfont(path)
        except Exception:  # noqa: BLE001, as in matplotlib, which skips broken fonts
            continue


def _most_complete(missing):
    """Return the first listed font with all of these characters, or the one with most of them."""
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
    examples = "".join(sorted(missing))[:9]
    warnings.warn(
        f"No installed font contains the characters {examples!r}, so they are drawn as boxes. "
        f"Install {fonts} (https://fonts.google.com/noto; on Debian and Ubuntu "
        "`apt install fonts-noto`), or `pip install 'keras-bahdanau[fonts]'` for Devanagari and "
        "Thai, or pass a font file to matplotlib.font_manager.fontManager.addfont(path).",
        stacklevel=4,
    )


def _script(character):
    """Return Noto's name for the script of a character."""
    if unicodedata.category(character)[0] == "S":
        return "Symbols"
    name = re.match("[A-Z]*", unicodedata.name(character, ""))[0]
    return "CJK" if name in EAST_ASIAN | {"CJK"} else name.title()
