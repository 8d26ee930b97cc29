"""Steps of a release, for `workflows/release.yml`; they need the standard library alone.

python .github/release.py check           # print version=..., or what the release lacks
python .github/release.py address URL     # put the repository's address where it belongs
python .github/release.py models FOLDER   # published models, their cards, SHA256SUMS
python .github/release.py notes           # the changes of this version
"""

import argparse
import hashlib
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACEHOLDER = "REPOSITORY"  # of pages that tell how to clone
PAGES = "README.md", "CONTRIBUTING.md", "docs/index.md"
NOTEBOOKS = "docs/generator/notebook.py", "docs/notebooks/*.ipynb"
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)\s]+)\)")
SECTION = re.compile(
    r"^## \[(?P<version>[\d.]+)\] - (?P<date>.*)\n(?P<text>(?:(?!## ).*\n)*)", re.M
)


def main(arguments=None):
    """Run one step; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    commands.add_parser("address").add_argument("url")
    commands.add_parser("models").add_argument("folder", type=Path)
    commands.add_parser("notes")
    options = parser.parse_args(arguments)
    if options.command == "check":
        problems = problems_of(ROOT)
        print(*problems or [f"version={version_of(ROOT)}"], sep="\n", file=problems and sys.stderr)
        return int(bool(problems))
    if options.command == "address":
        write_address(ROOT, options.url.rstrip("/"), f"v{version_of(ROOT)}")
    elif options.command == "models":
        write_models(ROOT / "examples", options.folder)
    else:
        print(changes_of(ROOT)[version_of(ROOT)][1].strip())
    return 0


def read(path):
    """The text of a file."""
    return path.read_text(encoding="utf-8")


def version_of(root):
    """The version of the package, read without an import."""
    text = read(root / "keras_bahdanau" / "__init__.py")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


def changes_of(root):
    """Dictionary from a version to its date and its section of the changelog."""
    sections = SECTION.finditer(read(root / "CHANGELOG.md"))
    return {section["version"]: (section["date"], section["text"]) for section in sections}


def problems_of(root):
    """What the release lacks, a line each."""
    version = version_of(root)
    date, _ = changes_of(root).get(version, ("", ""))
    citation = re.search(r"^version: (.+)$", read(root / "CITATION.cff"), re.MULTILINE)[1]
    problems = []
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        problems.append(
            f"CHANGELOG.md must have `## [{version}] - YYYY-MM-DD`. Received: {date!r}."
        )
    if citation != version:
        problems.append(f"CITATION.cff must have version {version}. Received: {citation}.")
    if not (root / "tests" / "golden" / version).is_dir():
        problems.append(
            f"tests/golden/{version} must exist. Run python tests/golden/make.py {version}."
        )
    return problems


def write_address(root, url, tag):
    """Write the repository's address into pages, notebooks and metadata of a checkout.

    PyPI shows README.md alone: its links lead to the files of the tag.
    """
    for page in (*PAGES, *NOTEBOOKS):
        for path in root.glob(page):
            text = read(path).replace(f" {PLACEHOLDER}", f" {url}")
            text = re.sub(r'ADDRESS = (\\?")\1', rf"ADDRESS = \g<1>{url}\1", text)
            path.write_text(text, encoding="utf-8")
    readme = root / "README.md"
    readme.write_text(with_addresses(read(readme), url, tag), encoding="utf-8")
    owner, name = url.split("/")[-2:]
    urls = {
        "Documentation": f"https://{owner.lower()}.github.io/{name}/",
        "Repository": url,
        "Changelog": f"{url}/blob/main/CHANGELOG.md",
        "Issues": f"{url}/issues",
    }
    lines = "".join(f'{label} = "{address}"\n' for label, address in urls.items())
    project = root / "pyproject.toml"
    heading = "[project.scripts]\n"
    text = read(project).replace(heading, f"[project.urls]\n{lines}\n{heading}", 1)
    project.write_text(text, encoding="utf-8")


def with_addresses(text, url, tag):
    """A page whose links to files of the repository are addresses."""

    def link(match):
        kind = "raw" if match["picture"] else "blob"
        return f"{match['picture']}[{match['text']}]({url}/{kind}/{tag}/{match['path']})"

    return LINK.sub(link, text)


def write_models(examples, folder):
    """Copy published models and their cards into a folder without folders, and their hashes.

    Raises:
        ValueError: If a file is not the one of models.tsv.
    """
    folder.mkdir(parents=True)
    sums = []
    for row in read(examples / "models.tsv").splitlines()[1:]:
        path, _, digest = row.split("\t")
        example, name = path.split("/")[0], path.split("/")[-1]
        content = (examples / path).read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(
                f"examples/{path} must have the sha256 of models.tsv. Received: another."
            )
        asset = name if name.startswith(example) else f"{example}-{name}"
        (folder / asset).write_bytes(content)
        sums.append(f"{digest}  {asset}\n")
        shutil.copyfile(examples / example / "models" / "README.md", folder / f"{example}.md")
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
