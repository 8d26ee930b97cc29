"""Docstrings of public layers refer only to classes that the reference documents."""

import ast
import re
from pathlib import Path

import pytest

from keras_bahdanau.layers import names

ROOT = Path(names.__file__).parent
FAMILIES = ("SCORES", "ATTENTIONS", "WINDOWS", "NORMALIZERS", "COVERAGES", "CELLS")
FAMILIES += ("DECODER_CELLS", "READERS")
SHOWN = {name for family in names.PUBLIC.values() for name in family}
for family in FAMILIES:
    entries = getattr(names, family).values()
    SHOWN |= {entry if isinstance(entry, str) else entry[0] for entry in entries}
CLASSES = {
    node.name: ast.get_docstring(node) or ""
    for path in ROOT.rglob("*.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body
    if isinstance(node, ast.ClassDef)
}


@pytest.mark.parametrize("name", sorted(SHOWN & {*CLASSES}))
def test_a_docstring_refers_to_layers_of_the_reference(name):
    text = " ".join(CLASSES[name].split())
    referred = {*re.findall(r"(?:see|as in|as) `(\w+)`", text)} & {*CLASSES}
    assert referred <= SHOWN
