"""The font of the extra `fonts` is used if no other font has the letters."""

import matplotlib
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from keras_bahdanau.plotting import fonts as packaged_fonts
from keras_bahdanau.plotting.fonts import families_for

pytest.importorskip("pymupdf_fonts")
TEXTS = ["मैं हर रविवार क्रिकेट खेलता हूँ।", "ฉันอ่านหนังสือ"]


@pytest.fixture
def font(monkeypatch, tmp_path):
    """The path of the font, which isn't cached yet; Matplotlib's fonts are the only other ones."""
    own = matplotlib.get_data_path()
    fonts = [entry for entry in font_manager.fontManager.ttflist if entry.fname.startswith(own)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [])
    monkeypatch.setattr(matplotlib, "get_cachedir", lambda: str(tmp_path))
    packaged_fonts.packaged_font.cache_clear()
    yield tmp_path / packaged_fonts.FILE
    packaged_fonts.packaged_font.cache_clear()


def test_it_draws_hindi_and_thai(font, tmp_path):
    assert families_for(TEXTS) == ["sans-serif", "FiraGO"]
    assert [path.name for path in tmp_path.iterdir()] == [font.name]
    figure = Figure()
    for row, text in enumerate(TEXTS):
        figure.text(0.1, row / 3, text, fontfamily=families_for(TEXTS))
    figure.savefig(tmp_path / "text.png")  # a warning about a missing glyph would be an error


def test_it_is_not_taken_where_it_is_not_needed(font):
    assert families_for(["a man"]) == ["sans-serif"]
    assert not font.exists()
