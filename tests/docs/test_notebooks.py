"""Notebooks: pages of docs/ in another format, whose cells run in a kernel."""

import importlib
import json
import os
import re
import subprocess
import sys

import code_blocks
import pytest

DOCS = code_blocks.ROOT / "docs"
PRINTED = {  # the output that each notebook must print, and the number of images that it must show
    "attention": (r"2021-04-03\n", 2),
    "own_pairs": (r"the same number of lines.*\n([5-9]|10) of 10 wrong lines found", 1),
    "characters": (r"03/04/2021 2021-04-03.*25/04/2021 2021-04-25", 1),
    "images_and_speech": (r"\nre mi sol la\n.*\ndo( re)+( mi)+( sol)+\n", 2),
    "ship": (r"2021-04-03.*as it was exported.*saved_model.pb.*exit code 1", 0),
    "from_addons": (r"True True\nTrue\n", 1),
}


@pytest.fixture(scope="module")
def notebook():
    sys.path.insert(0, str(DOCS / "generator"))
    try:
        yield importlib.import_module("notebook")
    finally:
        sys.path.remove(str(DOCS / "generator"))
        sys.modules.pop("notebook", None)


def test_each_notebook_has_a_page_a_file_and_what_it_prints(notebook):
    files = [path.stem for path in (DOCS / "notebooks").glob("*.ipynb")]
    assert {*notebook.NOTEBOOKS} == {*files} == {*PRINTED}


@pytest.mark.parametrize("name", PRINTED)
def test_a_notebook_is_what_its_page_gives(notebook, name):
    written = (DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    wanted = notebook.written(notebook.notebook_of(DOCS / f"{name}.md"))
    assert written == wanted, "python docs/generator/notebook.py"


@pytest.mark.parametrize("name", PRINTED)
def test_a_page_and_the_list_link_to_a_notebook(name):
    for page in (f"{name}.md", "notebooks.md"):
        assert f"(notebooks/{name}.ipynb)" in (DOCS / page).read_text(encoding="utf-8")


def test_prose_code_commands_and_pictures_become_cells(notebook, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A [page](other.md)\n\n```text\ne = 1\n```\n\n<!-- note -->\n"
        '```python\nplot(2).savefig("two.png")\n```\n\n```text\n2\n```\n\n'
        "<!-- not run: needs a server -->\n```sh\ncurl\n```\n\n"
        "<!-- setup\ntouch a\n-->\n```sh\ncat a\n```\n\n"
        "```sh\nls\n```\n\nEnd.\n"
    )
    start, prose, code, picture, *kept, shell, end = notebook.notebook_of(page)["cells"]
    kinds = [one["cell_type"] for one in (start, code, picture, shell)]
    assert kinds == ["code"] * 4 and code["source"] == ['plot(2).savefig("two.png")']
    assert "".join(prose["source"]) == "# A [page](../other.md)\n\n```text\ne = 1\n```"
    assert picture["source"][-1] == 'display(Image("two.png"))'
    texts = ["".join(one["source"]) for one in kept]
    assert texts == ["```sh\ncurl\n```", "```sh\ncat a\n```"]
    assert shell["source"] == ["%%bash -e\n", "ls"] and end["source"] == ["End."]


def test_packages_of_a_notebook_are_those_of_its_extra(notebook):
    project = (code_blocks.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"^all = .*?^onnx = ", project, re.MULTILINE | re.DOTALL)[0]
    assert 'install", "--quiet", ".[all]"' in first_cell("attention")
    for package in notebook.PACKAGES:
        assert re.search(rf'"{package}\W', extras), package


def first_cell(name):
    text = (DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    return "".join(json.loads(text)["cells"][0]["source"])


def test_the_first_cell_finds_the_repository_above_it(tmp_path):
    (tmp_path / "examples" / "dates").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    assert started(first_cell("attention"), tmp_path / "docs") == str(tmp_path)


def test_the_first_cell_gets_the_repository_or_asks_for_its_address(notebook, tmp_path):
    cell = first_cell("attention")
    origin, folder = tmp_path / "origin", tmp_path / "colab"
    folder.mkdir()
    if not notebook.ADDRESS:
        with pytest.raises(subprocess.CalledProcessError) as failed:
            started(cell, folder)
        assert "Set ADDRESS, or open this notebook" in failed.value.stderr
    (origin / "examples" / "dates").mkdir(parents=True)
    (origin / "examples" / "dates" / "a").touch()
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "a")):
        subprocess.run(["git", *command], cwd=origin, check=True)
    cell = re.sub('^ADDRESS = "[^"]*"', f'ADDRESS = "{origin.as_uri()}"', cell, flags=re.MULTILINE)
    for _ in range(2):  # the second time, the clone already exists
        assert started(cell, folder) == str(folder / "keras-bahdanau")


def started(cell, folder):
    """Return the working directory after the first cell has run."""
    program = [sys.executable, "-c", f"{cell}\nprint(os.getcwd())"]
    run = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_the_cells_of_a_notebook_run(name, tmp_path):
    pytest.importorskip("nbclient", reason='needs the extra "notebooks": pip install -e ".[test]"')
    for folder in ("examples", "docs", "tests"):
        # Files that cells write stay in `tmp_path`.
        (tmp_path / folder).symlink_to(code_blocks.ROOT / folder)
    program = [sys.executable, code_blocks.ROOT / "tests" / "support" / "run_notebook.py"]
    environment = {**os.environ, "PYTHONPATH": str(code_blocks.ROOT)}
    result = subprocess.run(
        [*program, DOCS / "notebooks" / f"{name}.ipynb", tmp_path],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert result.returncode == 0, result.stderr[-4000:]
    pattern, pictures = PRINTED[name]
    assert re.search(pattern, result.stdout, re.DOTALL), result.stdout[-4000:]
    assert result.stdout.count("<picture>") == pictures
