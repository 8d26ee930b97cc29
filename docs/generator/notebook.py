"""A page of docs/ as a notebook, so that no text is written twice.

`python docs/generator/notebook.py attention` writes docs/notebooks/attention.ipynb.
"""

import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1]
START = """\
import os
from pathlib import Path

here = Path.cwd()  # in a copy of the repository, with the package installed: pip install -e .
os.chdir(next(one for one in (here, *here.parents) if (one / "examples").is_dir()))
"""
_PART = re.compile(r"^```(python|text)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
_RELATIVE = re.compile(r"\]\((?!\w+:|#)")


def notebook_of(page):
    """The notebook of a page: prose, code, and without the output, which its run gives."""
    text = _COMMENT.sub("", page.read_text(encoding="utf-8"))
    cells, end, code_before = [_cell("code", START)], 0, False
    for part in _PART.finditer(text):
        between = text[end : part.start()]
        printed = part[1] == "text" and code_before and not between.strip()
        if part[1] == "python":
            cells += [_cell("markdown", between), _cell("code", part[2])]
        elif printed:
            pass  # the cell before prints it
        else:
            cells.append(_cell("markdown", between + part[0]))
        end, code_before = part.end(), part[1] == "python"
    cells.append(_cell("markdown", text[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [{**cell, "id": f"cell-{n}"} for n, cell in enumerate(filter(_source, cells))],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(kind, text):
    if kind == "markdown":
        text = _RELATIVE.sub("](../", text)
    source = text.strip().splitlines(keepends=True)
    extra = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **extra}


def _source(cell):
    return cell["source"]


def written(notebook):
    """The text of a notebook's file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = DOCS / "notebooks" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(notebook_of(DOCS / f"{name}.md")), encoding="utf-8")
