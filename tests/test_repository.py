"""Upper bounds for the repository's size, so that it can be cloned quickly."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_BYTES = 75_000_000
LARGEST_FILE = 1_500_000  # except the published models


@pytest.fixture(scope="module")
def sizes():
    """Dictionary from the path of each tracked file to its size in bytes."""
    if not (ROOT / ".git").exists():
        pytest.skip("files outside of a clone are not tracked")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = [Path(name) for name in listing.stdout.decode().split("\0") if name]
    return {path: (ROOT / path).stat().st_size for path in paths if (ROOT / path).is_file()}


def test_all_tracked_files_together_stay_small(sizes):
    assert sum(sizes.values()) < MOST_BYTES


@pytest.mark.parametrize(("name", "most"), [("README.md", 12_000), ("CHANGELOG.md", 20_000)])
def test_the_first_pages_stay_short(name, most):
    assert (ROOT / name).stat().st_size <= most


def test_results_of_the_readme_are_few_and_short():
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.partition("\n## Results\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert 0 < len(rows) <= 8 and max(map(len, rows)) <= 160


def test_changes_of_the_next_release_are_few():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    section = text.partition("\n## [Unreleased]\n")[2].partition("\n## ")[0]
    assert len(section.splitlines()) <= 120


def test_no_file_is_large_but_published_models(sizes):
    others = {path: size for path, size in sizes.items() if not path.match("examples/*/models/*")}
    assert [path for path, size in others.items() if size > LARGEST_FILE] == []
