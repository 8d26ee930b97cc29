"""Animated images in the pages are small, with a still image for print and alternative text."""

import importlib
import re
import sys

import code_blocks
import PIL.Image
import pytest

DOCS = code_blocks.ROOT / "docs"
MOST_BYTES = 400_000
PAGES = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
PICTURE = re.compile(r"!\[([^\]]*)\]\(moving/(\w+)\.gif\)")
NAMES = sorted(path.stem for path in (DOCS / "moving").glob("*.gif"))


def test_pages_have_all_of_them_with_a_text():
    shown = {name: text for page in PAGES.values() for text, name in PICTURE.findall(page)}
    assert sorted(shown) == NAMES and len(NAMES) >= 6
    assert all(len(text.split()) >= 8 for text in shown.values())


@pytest.mark.parametrize("name", NAMES)
def test_it_is_small_moves_and_has_a_still_of_its_size(name):
    moving, still = (DOCS / "moving" / f"{name}.{ending}" for ending in ("gif", "png"))
    assert moving.stat().st_size < MOST_BYTES > still.stat().st_size
    with PIL.Image.open(moving) as frames, PIL.Image.open(still) as last:
        assert frames.n_frames > 4 and frames.size == last.size


def test_the_site_shows_the_still_in_print_and_without_motion():
    pytest.importorskip("mkdocs", reason='needs the extra "docs": pip install -e ".[all,docs]"')
    sys.path.insert(0, str(DOCS / "generator"))
    try:
        hooks = importlib.import_module("hooks")
    finally:
        sys.path.remove(str(DOCS / "generator"))
    still = hooks._MOVING.sub(hooks._STILL, '<img alt="a" src="moving/beam.gif">')
    assert still == (
        '<picture><source media="print, (prefers-reduced-motion: reduce)" '
        'srcset="moving/beam.png"><img alt="a" src="moving/beam.gif"></picture>'
    )
