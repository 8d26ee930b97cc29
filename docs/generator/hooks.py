"""MkDocs hooks that add pages from the whole repository, convert their links, and generate pages.

Links in a page are relative to its path in the repository, and the hooks convert them to links in
the site. A linked file that is not a page is copied, and a link to a directory leads to its
README.md.
"""

import re
import shutil
import sys
from pathlib import Path, PurePosixPath

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
import generated_pages  # noqa: E402

ROOT = Path(__file__).parents[2]
GUESTS = ("*.md", "examples/**/*.md", "experiments/**/*.md", "export/**/*.md", "benchmarks/*.md")
LEFT_OUT = ("README.md",)  # the site has its own home page
_LINK = re.compile(
    r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#|/)(?P<path>[^)\s#]+)(?P<place>#[^)\s]*)?\)"
)
_REMOTE_WORKER = "https://unpkg.com/iframe-worker/shim"
_WORKER = "assets/javascripts/file_worker.js"
_EXPLORER = "attention_explorer.html"
_FRAMES = {  # comment of a page -> page in a frame, and its title
    "<!-- explorer -->": (_EXPLORER, "The explorer"),
    "<!-- forming -->": ("moving/forming.html", "A training run with a slider"),
}
_FRAME = (
    '<iframe class="explorer" src="{0}" title="{1}" loading="lazy"></iframe>\n\n'
    '<a href="{0}">Open the page on its own</a> if your screen is small.'
)
_SOURCE = '<details class="mkdocstrings-source"'
_PICTURE = re.compile(r'<img [^>]*src="([^"]+)"[^>]*>')
_MOVING = re.compile(r'<img [^>]*src="([^"]+)\.gif"[^>]*>')
_STILL = (
    '<picture><source media="print, (prefers-reduced-motion: reduce)" srcset="\\1.png">'
    r"\g<0></picture>"
)
_COMMENT = re.compile(r"^ *<!--.*?-->\n?", re.DOTALL | re.MULTILINE)


def on_config(config):
    """Add the API, the examples and new pages in docs/ to the navigation."""
    examples = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/**/*.md")]
    _fill(config.nav, "Examples", sorted(examples, key=lambda name: (name.count("/"), name)))
    records = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("experiments/*/*.md")]
    _fill(config.nav, "Experiments", sorted(records))
    _fill(config.nav, "API", [*generated_pages.api_pages()])
    placed = set(_pages_of(config.nav))
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    _fill(config.nav, "Guides", [name for name in pages if name not in placed])
    return config


def _pages_of(nav):
    for item in nav:
        if isinstance(item, str):
            yield item
        else:
            for value in item.values():
                yield from [value] if isinstance(value, str) else _pages_of(value)


def _fill(nav, name, entries):
    """Append pages to a section of the navigation."""
    for item in nav:
        for key, value in item.items() if isinstance(item, dict) else ():
            if key == name:
                value.extend(entries)
            elif isinstance(value, list):
                _fill(value, name, entries)


def on_files(files, config):
    """Add the pages outside of docs/, and the generated pages."""
    for pattern in GUESTS:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if name not in LEFT_OUT:
                files.append(File.generated(config, name, abs_src_path=str(path)))
    for name, text in {**generated_pages.api_pages(), **generated_pages.generated_pages()}.items():
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, _EXPLORER, content=generated_pages.explorer_of_dates()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Remove comments for tests, and convert links in the repository to links in the site."""
    place = PurePosixPath(page.file.src_uri)
    folder = _in_repository(place, files).parent

    def link(match):
        path = _normal(folder / match["path"])
        if (ROOT / path).is_dir():
            path /= "README.md"
            if not (ROOT / path).exists():  # a folder of code, which is not part of the site
                return match["text"]
        uri = _in_site(path)
        if files.get_file_from_path(uri) is None:
            if not (ROOT / path).exists():
                raise PluginError(
                    f"Every link must lead to a file. Received: {match['path']!r} in {place}"
                )
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
        return f"[{match['text']}]({_relative(uri, place.parent)}{match['place'] or ''})"

    for comment, frame in _FRAMES.items():
        markdown = markdown.replace(comment, _FRAME.format(*frame))
    markdown = _COMMENT.sub("", markdown)
    return _outside_of_code(markdown, lambda text: _LINK.sub(link, text))


def on_page_content(html, page, config, files):
    """Link images to their files, and rank guides before the API in the search.

    Animations are replaced by stills in print, and for readers who prefer reduced motion.
    """
    if page.file.src_uri.startswith("reference/api/"):
        page.meta["search"] = {"boost": 0.01}  # below the weight of titles, 1000
    html = html.replace(_SOURCE, f"{_SOURCE} data-search-exclude")
    html = _PICTURE.sub(r'<a href="\1">\g<0></a>', html)
    return _MOVING.sub(_STILL, html)


def on_post_page(output, page, config):
    """Replace the script that the theme loads from another host for search in local files."""
    if _REMOTE_WORKER not in output:
        raise PluginError(f"The theme must load its workers with {_REMOTE_WORKER}, as 9.8 does.")
    depth = page.file.dest_uri.count("/")
    return output.replace(_REMOTE_WORKER, "../" * depth + _WORKER)


def on_post_template(output_content, template_name, config):
    """Replace the same script in the error page, which only a server shows."""
    return output_content.replace(_REMOTE_WORKER, f"/{_WORKER}")


def on_post_build(config):
    """Copy the replacement script to the site."""
    shutil.copyfile(Path(__file__).with_name("file_worker.js"), Path(config.site_dir, _WORKER))


def _outside_of_code(markdown, change):
    parts = re.split(r"(^ *```.*?^ *```)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def _in_repository(uri, files):
    """Return the path of a page in the repository; the site's own pages are in docs/."""
    guest = (ROOT / uri).is_file() and not (ROOT / "docs" / uri).is_file()
    return uri if guest else "docs" / uri


def _in_site(path):
    """Return the URI of a file in the repository; the top-level README.md is the first page."""
    parts = path.parts
    if path == PurePosixPath("README.md"):
        return "index.md"
    return str(PurePosixPath(*parts[1:])) if parts[0] == "docs" else str(path)


def _normal(path):
    parts = []
    for part in path.parts:
        parts.pop() if part == ".." and parts else parts.append(part)
    return PurePosixPath(*(part for part in parts if part != "."))


def _relative(uri, folder):
    target, here = PurePosixPath(uri).parts, folder.parts
    same = 0
    while same < min(len(target) - 1, len(here)) and target[same] == here[same]:
        same += 1
    return "/".join([".."] * (len(here) - same) + [*target[same:]])
