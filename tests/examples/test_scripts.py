"""Examples are code for users to copy: short scripts on the public API, one table per page."""

import ast
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/*.py"))
MOST_LINES, MOST_SCRIPTS = 200, 3


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_is_short_and_imports_rooms_alone(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    modules = [
        node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
    ]
    modules += re.findall(r"^\s*import (\S+)", text, re.MULTILINE)
    inner = [name for name in modules if name and re.match(r"keras_bahdanau\.\w+\.", name)]
    assert inner == [] and "keras_bahdanau.cli" not in modules


def test_an_example_has_few_scripts_and_a_page():
    folders = {path.parent for path in SCRIPTS}
    assert {
        folder.name: len([*folder.glob("*.py")])
        for folder in folders
        if len([*folder.glob("*.py")]) > MOST_SCRIPTS or not (folder / "README.md").is_file()
    } == {}
