"""The choice of fonts: the user's first, then installed ones, then a hint about what to install."""

import matplotlib
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from keras_bahdanau.plotting.fonts import families_for

pytestmark = pytest.mark.usefixtures("only_fonts_of_matplotlib")
DEFAULT = ["sans-serif"]


@pytest.fixture
def install(new_font):
    return lambda name, characters: font_manager.fontManager.addfont(new_font(name, characters))


def test_latin_text_needs_no_other_font():
    assert families_for(["a man", "▁Žluťoučký", "Ελληνικά", "русский"]) == DEFAULT
    assert families_for([]) == DEFAULT


def test_an_installed_font_comes_in_for_what_the_own_one_lacks(install):
    install("Toy", "कखग")
    assert families_for(["▁क", "a"]) == [*DEFAULT, "Toy"]


def test_the_fonts_that_the_user_asks_for_come_first():
    with matplotlib.rc_context({"font.family": ["cmr10"]}):  # has no Greek letters
        first, second = families_for(["α"])
    assert first == "cmr10"
    path = font_manager.findfont(second)
    assert ord("α") in font_manager.get_font(path).get_charmap()


def test_one_font_that_has_everything_is_taken_before_several(install):
    install("A part", "क")
    install("Whole", "कख")
    assert families_for(["क", "ख"]) == [*DEFAULT, "Whole"]


def test_several_fonts_share_what_no_font_has_alone(install):
    install("Hindi", "कख")
    install("Korean", "안")
    assert families_for(["क안", "ख"]) == [*DEFAULT, "Hindi", "Korean"]


def test_noto_is_preferred(install):
    for name in ("A strange script", "Noto Sans Toy", "Another"):
        install(name, "क")
    assert families_for(["क"]) == [*DEFAULT, "Noto Sans Toy"]


def test_a_font_installed_since_is_found(new_font, monkeypatch):
    path = new_font("Toy", "क")
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [path])
    assert families_for(["क"]) == [*DEFAULT, "Toy"]


def test_damaged_fonts_are_passed_over(new_font, monkeypatch, tmp_path):
    damaged, whole = tmp_path / "damaged.ttf", new_font("Toy", "क")
    damaged.write_bytes(b"no font")
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(damaged), whole])
    assert families_for(["क"]) == [*DEFAULT, "Toy"]


def test_a_font_that_is_gone_is_passed_over(install, tmp_path):
    install("Gone", "क")
    (tmp_path / "Gone.ttf").unlink()
    with pytest.warns(UserWarning, match="Noto Sans Devanagari"):
        assert families_for(["क"]) == DEFAULT


def test_invisible_characters_need_no_font():
    assert families_for(["\u200d\u200c\t\u3000"]) == DEFAULT


@pytest.mark.parametrize(
    ("text", "fonts"),
    [
        ("नमस्ते।", "Noto Sans Devanagari"),
        ("漢字かな", "Noto Sans CJK"),
        ("안녕", "Noto Sans CJK"),
        ("தமிழ்", "Noto Sans Tamil"),
        ("ไทยक", "Noto Sans Devanagari and Noto Sans Thai"),
        ("𝄞", "Noto Sans Symbols"),
    ],
)
def test_what_no_font_has_is_named_with_a_font_to_install(text, fonts):
    with pytest.warns(UserWarning, match=f"Install {fonts} "):
        assert families_for([text]) == DEFAULT


def test_the_rest_is_drawn_where_a_character_has_no_font(install):
    install("Toy", "क")
    with pytest.warns(UserWarning, match="characters 'ख'"):
        assert families_for(["कख"]) == [*DEFAULT, "Toy"]


def test_a_picture_is_drawn_with_these_fonts(install, tmp_path):
    install("Toy", "क")
    figure = Figure()
    figure.text(0.5, 0.5, "aक", fontfamily=families_for(["aक"]))
    figure.savefig(tmp_path / "text.png")  # a warning about a missing glyph would be an error
