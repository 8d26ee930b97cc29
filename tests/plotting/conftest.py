"""Fixtures for a machine that has only Matplotlib's fonts, and for fonts to install on it."""

from pathlib import Path

import matplotlib
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from keras_bahdanau.plotting import fonts as packaged_fonts


@pytest.fixture
def only_fonts_of_matplotlib(monkeypatch):
    own = Path(matplotlib.get_data_path())
    fonts = [
        entry for entry in font_manager.fontManager.ttflist if own in Path(entry.fname).parents
    ]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda *args, **kwargs: [])
    monkeypatch.setattr(packaged_fonts, "packaged_font", lambda: None)


@pytest.fixture
def new_font(tmp_path):
    """Function `new_font(name, characters)` that writes a font of squares and returns its path."""

    def build(name, characters):
        pen = TTGlyphPen(None)
        for step, point in enumerate([(0, 0), (0, 500), (500, 500), (500, 0)]):
            (pen.lineTo if step else pen.moveTo)(point)
        pen.closePath()
        builder = FontBuilder(1000, isTTF=True)
        builder.setupGlyphOrder([".notdef", "square"])
        builder.setupCharacterMap({ord(character): "square" for character in characters})
        builder.setupGlyf({".notdef": pen.glyph(), "square": pen.glyph()})
        builder.setupHorizontalMetrics({".notdef": (600, 0), "square": (600, 0)})
        builder.setupHorizontalHeader(ascent=800, descent=-200)
        builder.setupNameTable({"familyName": name, "styleName": "Regular"})
        builder.setupOS2(sTypoAscender=800, usWeightClass=400)
        builder.setupPost()
        path = tmp_path / f"{name}.ttf"
        builder.save(path)
        return str(path)

    return build
