"""Generate notebooks from pages in docs/, so that no text has to be written twice.

`python docs/generator/notebook.py` writes docs/notebooks/NAME.ipynb for each page of `NOTEBOOKS`.

A Python block becomes a code cell, and a shell block a bash cell. Plots that a block writes are
shown after it. Prose and equations become Markdown cells, and so do blocks that are not run or that
need hidden files. The printed output of a block is left out, because running the cell prints it.
"""

import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1]
ADDRESS = ""  # for git clone: the public address of the project's repository, once it has one
NOTEBOOKS = ("attention", "own_pairs", "characters", "images_and_speech", "ship", "from_addons")
PACKAGES = ["keras-bahdanau", "ai-edge-litert", "tensorflow"]  # installed by the extra `all`
START = """\
# Installs the package and clones its repository if they are missing, such as in Colab.
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

# Address of the repository, for git clone:
ADDRESS = "{address}"  # @param {{"type": "string"}}


def is_missing(package):
    return not [*importlib.metadata.distributions(name=package)]


here, copy = Path.cwd(), Path("keras-bahdanau")
root = next((one for one in (here, *here.parents, copy) if (one / "examples/dates").is_dir()), None)
if root is None:
    if not ADDRESS:
        raise ValueError("Set ADDRESS, or open this notebook in a clone of the repository.")
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ADDRESS, copy], check=True)
os.chdir(root or copy)
if any(map(is_missing, {packages})):
    # pip keeps TensorFlow if its version is supported, and replaces it otherwise
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", ".[all]"], check=True)
    importlib.invalidate_caches()
    for name in ("numpy", "tensorflow"):
        loaded = getattr(sys.modules.get(name), "__version__", None)
        if loaded not in (None, importlib.metadata.version(name)):
            print(f"{{name}} was replaced: restart the kernel, and run this cell again.")
os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # so that commands can also use the GPU
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
"""
_FENCE = re.compile(
    r"(?P<comments>(?:<!--(?:(?!-->).)*-->\s*)*)"
    r"^```(?P<language>python|sh|text)\n(?P<code>.*?)^```\n",
    re.DOTALL | re.MULTILINE,
)
_NOT_ALONE = re.compile(r"<!--\s*(not run:|setup\b)")
_COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
_RELATIVE = re.compile(r"\]\((?!\w+:|#)")
_PICTURE = re.compile(r"(?:savefig\(|--plot )\"?([\w/.-]+\.png)")


def notebook_of(page):
    """Return the notebook for a page, in `nbformat` 4.5."""
    text = page.read_text(encoding="utf-8")
    cells, end, code_before = [_cell("code", _start())], 0, False
    for fence in _FENCE.finditer(text):
        between, fenced = text[end : fence.start()], fence[0]
        runs = fence["language"] != "text" and not _NOT_ALONE.search(fence["comments"])
        if runs:
            cells += [_cell("markdown", between), *_code_cells(fence["language"], fence["code"])]
        elif not (code_before and not between.strip() and not fence["comments"]):
            cells.append(_cell("markdown", between + fenced))  # not the output of the previous cell
        end, code_before = fence.end(), runs
    cells.append(_cell("markdown", text[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [{**cell, "id": f"cell-{n}"} for n, cell in enumerate(filter(_source, cells))],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _start():
    """Return the code of the first cell."""
    return START.format(address=ADDRESS, packages=json.dumps(PACKAGES))


def _code_cells(language, code):
    """Yield the cell for a block, and a cell that shows the plots that it writes."""
    yield _cell("code", code if language == "python" else f"%%bash -e\n{code}")
    pictures = _PICTURE.findall(code)
    if pictures:
        shown = "\n".join(f'display(Image("{path}"))' for path in pictures)
        yield _cell("code", f"from IPython.display import Image, display\n\n{shown}")


def _cell(kind, text):
    if kind == "markdown":
        text = _RELATIVE.sub("](../", _COMMENT.sub("", text))
    source = text.strip().splitlines(keepends=True)
    extra = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **extra}


def _source(cell):
    return cell["source"]


def written(notebook):
    """Return the content of a notebook file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or NOTEBOOKS:
        path = DOCS / "notebooks" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(notebook_of(DOCS / f"{name}.md")), encoding="utf-8")
