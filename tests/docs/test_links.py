"""Links of the documentation: each leads to a file of the repository, and to a heading in it.

A link to a page that only the built site has says so right behind it: readers of a clone have none.
"""

import re
from pathlib import Path

import code_blocks
import pytest

GENERATED = ("docs/reference/",)  # pages that the site makes: their links are checked there
MARK = " (in the built site)"
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]*))?\)")


def slugs_of(text):
    """The anchors of a page's headings, as Python-Markdown and code hosts make them."""
    for heading in re.findall(r"^#{1,6} +(.+?)(?: +#+)?$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        yield re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def faults_of(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.finditer(text):
        path, anchor = link.groups()
        target = (page.parent / path).resolve() if path else page
        name = target.relative_to(code_blocks.ROOT).as_posix()
        if name.startswith(GENERATED):
            if not text.startswith(MARK, link.end()):
                yield f"{path} without{MARK}"
        elif not target.exists():
            yield path
        elif anchor:
            inner = target / "README.md" if target.is_dir() else target
            if anchor not in slugs_of(inner.read_text(encoding="utf-8")):
                yield f"{path}#{anchor}"


def test_links_lead_to_files_and_headings():
    root = code_blocks.ROOT
    pages = [*code_blocks.pages(), root / "CHANGELOG.md", *root.glob("experiments/**/*.md")]
    faults = {code_blocks.name_of(page): [*faults_of(page)] for page in pages}
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ("[a](other.md#a-heading-of-code)", []),
        ("[a](other.md#none)", ["other.md#none"]),
        ("[a](missing.md)", ["missing.md"]),
        ("[a](https://host/missing.md)", []),
        ("```text\n[a](missing.md)\n```", []),
        ("[a](#own)\n\n# Own", []),
        ("[a](docs/reference/a.md#b) (in the built site)", []),
        ("[a](docs/reference/a.md)", ["docs/reference/a.md without (in the built site)"]),
    ],
)
def test_a_link_to_nothing_is_found(link, found, tmp_path, monkeypatch):
    monkeypatch.setattr(code_blocks, "ROOT", tmp_path)
    (tmp_path / "other.md").write_text("# A heading of `code`!\n")
    (tmp_path / "page.md").write_text(f"{link}\n")
    assert [*faults_of(Path(tmp_path, "page.md"))] == found


def test_files_that_a_new_thing_touches_exist():
    root = code_blocks.ROOT
    text = (root / "docs" / "adding_one.md").read_text(encoding="utf-8")
    paths = {path for path in re.findall(r"`([a-z_0-9./]+/[a-z_0-9.]*)`", text)}
    places = root, root / "keras_bahdanau"
    missing = {path for path in paths if not any((place / path).exists() for place in places)}
    assert len(paths) > 20 and missing == set()
