"""One decoder over anything: no branch by the kind of source outside of sources and front ends."""

import ast
from pathlib import Path

import pytest

import keras_bahdanau
from keras_bahdanau.sources.named_source import NAMES

PACKAGE = Path(keras_bahdanau.__file__).parent
# a source, its front end, the pipeline named after it and the demo of it
OWN = ("sources/", "layers/front_ends/", "demo/", "layers/__init__.py")
PIPELINES = {"translator.py", "image_to_text.py", "speech_to_text.py", "by_source.py"}
KINDS = {*NAMES, "images", "audio", "sound", "ink", "frames", "pixels", "samples"} - {"text"}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        pipeline = name.startswith("pipelines/") and path.name in PIPELINES
        if not name.startswith(OWN) and not pipeline:
            yield name, ast.parse(path.read_text())


def classes_of_kinds():
    """Names of the classes in the modules of sources and front ends, but for the protocol's."""
    for folder in ("sources", "layers/front_ends"):
        for path in (PACKAGE / folder).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and node.name not in {"Source", "Picture"}:
                    yield node.name


def names_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


def conditions_of(tree):
    """The conditions of a module's branches."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.match_case):
            yield node.pattern


def test_no_module_elsewhere_knows_a_source_or_its_front_end():
    kinds = set(classes_of_kinds())
    assert {"TextSource", "ImageSource", "AudioFrames", "Pixels", "InkSource"} <= kinds
    # the arguments of `Encoder` that stand for text are those of its first version
    allowed = {"models/encoder.py": {"TokenEmbedding"}}
    known = {name: kinds & set(names_of(tree)) for name, tree in modules()}
    assert {name: found for name, found in known.items() if found} == allowed


def kinds_asked(tree):
    """Names of kinds of sources in the conditions of a module."""
    nodes = [node for condition in conditions_of(tree) for node in ast.walk(condition)]
    return {node.value for node in nodes if isinstance(node, ast.Constant)} & KINDS


def test_no_branch_elsewhere_asks_for_a_kind_of_source():
    asked = {name: kinds_asked(tree) for name, tree in modules()}
    assert {name: found for name, found in asked.items() if found} == {}


@pytest.mark.parametrize(
    "code",
    [
        "x = 1 if kind == 'image' else 2",
        "match kind:\n case 'speech': pass",
        "[x for x in y if x in ('audio', 'ink')]",
    ],
)
def test_a_branch_is_found(code):
    assert kinds_asked(ast.parse(code))
