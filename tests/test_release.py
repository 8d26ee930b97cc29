"""Everything that a release needs: workflow, repository address, models and version."""

import hashlib
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from keras_bahdanau import __version__

ROOT = Path(__file__).parents[1]
URL = "https://example.org/Somebody/keras-bahdanau"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def release():
    if not (ROOT / ".github").is_dir():
        pytest.skip("a source distribution has no workflows")
    spec = importlib.util.spec_from_file_location("release", ROOT / ".github" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(folder, *names):
    """Copy files of the repository to a folder, and return the folder."""
    for name in names:
        for path in ROOT.glob(name):
            place = folder / path.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    return folder


def test_the_citation_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {__version__}\n" in text


def test_a_release_without_date_citation_or_golden_files_is_refused(release, tmp_path):
    root = copied(tmp_path, "CHANGELOG.md", "CITATION.cff", "keras_bahdanau/__init__.py")
    changes = root / "CHANGELOG.md"
    heading = re.compile(rf"^## \[{__version__}\] - .*$", re.MULTILINE)
    text = changes.read_text("utf-8")
    changes.write_text(heading.sub(f"## [{__version__}] - not yet", text), "utf-8")
    citation = root / "CITATION.cff"
    citation.write_text(citation.read_text("utf-8").replace(__version__, "9.9.9"), "utf-8")
    undated, cited, golden = release.problems_of(root)
    assert undated.startswith("CHANGELOG.md") and "'not yet'" in undated
    assert cited.endswith("Received: 9.9.9.") and "make.py" in golden
    changes.write_text(heading.sub(f"## [{__version__}] - 2026-12-01", text), "utf-8")
    citation.write_text((ROOT / "CITATION.cff").read_text("utf-8"), "utf-8")
    (root / "tests" / "golden" / __version__).mkdir(parents=True)
    assert release.problems_of(root) == []


def test_notes_of_a_release_are_its_section_of_the_changelog(release):
    _, text = release.changes_of(ROOT)[__version__]
    assert "### Stable interfaces" in text and "\n## " not in text


def test_pages_of_a_release_have_the_address_of_the_repository(release, tmp_path):
    pages = (*release.PAGES, *release.NOTEBOOKS, "pyproject.toml")
    root = copied(tmp_path, *pages)
    release.write_address(root, URL, "v1.2.3")
    for name in release.PAGES:
        text = (root / name).read_text("utf-8")
        assert "REPOSITORY" not in text and f"git clone --depth 1 {URL}" in text, name
    readme = (root / "README.md").read_text("utf-8")
    assert re.findall(r"\]\((?!https?:|#)", readme) == []
    assert "![" in readme and f"]({URL}/raw/v1.2.3/docs/" in readme
    assert f"]({URL}/blob/v1.2.3/docs/attention.md)" in readme
    for notebook in root.glob("docs/notebooks/*.ipynb"):
        assert f'ADDRESS = \\"{URL}\\"  # @param' in notebook.read_text("utf-8")
    assert f'ADDRESS = "{URL}"  # for git' in (root / release.NOTEBOOKS[0]).read_text("utf-8")
    project = (root / "pyproject.toml").read_text("utf-8")
    assert '[project.urls]\nDocumentation = "https://somebody.github.io/' in project
    assert f'Repository = "{URL}"\n' in project


def test_each_extra_is_explained_by_what_it_is_for():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    section = project.partition("[project.optional-dependencies]")[2].partition("\n[project.")[0]
    extras = re.findall(r"^(\w+) = \[", section, re.MULTILINE)
    page = (ROOT / "docs" / "support.md").read_text("utf-8")
    table = page.partition("## What to install")[2].partition("\n## ")[0]
    assert "all" in extras and len(extras) > 10
    assert [extra for extra in extras if not re.search(rf"[`,]{extra}[`,]", table)] == []


def test_assets_are_all_published_models_with_cards_and_checksums(release, tmp_path):
    release.write_models(ROOT / "examples", tmp_path / "assets")
    sums = (tmp_path / "assets" / "SHA256SUMS").read_text("utf-8").splitlines()
    digests = dict(reversed(line.split("  ")) for line in sums)
    models = [*ROOT.glob("examples/*/models/*.tflite"), *ROOT.glob("examples/*/models/*.keras")]
    assert len(digests) == len(sums) == len(models)
    for name, digest in digests.items():
        content = (tmp_path / "assets" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
    examples = {path.parts[-3] for path in models}
    cards = {path.stem for path in (tmp_path / "assets").glob("*.md")}
    assert cards == examples and "formulas-ink.tflite" in digests and "dates.tflite" in digests


def test_a_changed_model_is_no_asset(release, tmp_path):
    examples = copied(tmp_path, "examples/models.tsv") / "examples"
    first = (examples / "models.tsv").read_text("utf-8").splitlines()[1].split("\t")[0]
    (examples / first).parent.mkdir(parents=True)
    (examples / first).write_bytes(b"another")
    with pytest.raises(ValueError, match=re.escape(first)):
        release.write_models(examples, tmp_path / "assets")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_commands_of_a_workflow_exist(path):
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert commands and all("timeout-minutes" in job for job in jobs.values())
    for command in commands:
        subprocess.run(["bash", "-n", "-c", command], check=True)
        for target in re.findall(r"\bmake ([a-z-]+)", command):
            assert target in targets
        for script in re.findall(r"\bpython (\S+\.py)", command):
            assert (ROOT / script).is_file()
    for name, job in jobs.items():
        assert {*_list(job.get("needs", []))} <= {*jobs}, name


def _list(value):
    return [value] if isinstance(value, str) else value


def test_workflows_test_every_python_of_the_package():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    pythons = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    for path in WORKFLOWS:
        matrix = re.search(r"^ +python: \[(.*)\]$", path.read_text("utf-8"), re.MULTILINE)[1]
        assert re.findall(r'"(3\.\d+)"', matrix) == pythons, path.name
