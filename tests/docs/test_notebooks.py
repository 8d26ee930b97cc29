"""Notebooks: pages of docs/ in another form, whose cells run."""

import importlib
import json
import subprocess
import sys

import code_blocks
import pytest

DOCS = code_blocks.ROOT / "docs"
NAMES = [path.stem for path in sorted((DOCS / "notebooks").glob("*.ipynb"))]


@pytest.fixture(scope="module")
def notebook():
    sys.path.insert(0, str(DOCS / "generator"))
    try:
        yield importlib.import_module("notebook")
    finally:
        sys.path.remove(str(DOCS / "generator"))
        sys.modules.pop("notebook", None)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_what_its_page_gives(notebook, name):
    written = (DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    wanted = notebook.written(notebook.notebook_of(DOCS / f"{name}.md"))
    assert written == wanted, f"python docs/generator/notebook.py {name}"


def test_prose_code_and_equations_become_cells(notebook, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A [page](other.md)\n\n```text\ne = 1\n```\n\n<!-- note -->\n"
        "```python\nprint(2)\n```\n\n```text\n2\n```\n\nEnd.\n"
    )
    start, prose, code, end = notebook.notebook_of(page)["cells"]
    assert start["cell_type"] == code["cell_type"] == "code" and code["source"] == ["print(2)"]
    assert "".join(prose["source"]) == "# A [page](../other.md)\n\n```text\ne = 1\n```"
    assert end["source"] == ["End."]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_cells_of_a_notebook_run(name, tmp_path):
    cells = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for folder in ("examples", "docs"):
        (tmp_path / folder).symlink_to(code_blocks.ROOT / folder)  # what cells write stays here
    (tmp_path / "nested").mkdir()
    program = [sys.executable, "-c", "\n".join(code)]
    result = subprocess.run(program, cwd=tmp_path / "nested", capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-4000:]
    assert "2021-04-03" in result.stdout and (tmp_path / "trace.png").is_file()
