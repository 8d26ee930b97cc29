"""Bounds of the repository: what a clone must fetch stays small."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_BYTES = 75_000_000
LARGEST_FILE = 1_500_000  # outside of the published models


@pytest.fixture(scope="module")
def sizes():
    """Bytes of each tracked file, by its path."""
    if not (ROOT / ".git").exists():
        pytest.skip("files outside of a clone are not tracked")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = [Path(name) for name in listing.stdout.decode().split("\0") if name]
    return {path: (ROOT / path).stat().st_size for path in paths if (ROOT / path).is_file()}


def test_all_tracked_files_together_stay_small(sizes):
    assert sum(sizes.values()) < MOST_BYTES


def test_no_file_is_large_but_published_models(sizes):
    others = {path: size for path, size in sizes.items() if not path.match("examples/*/models/*")}
    assert [path for path, size in others.items() if size > LARGEST_FILE] == []
