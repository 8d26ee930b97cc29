"""One decoder for every kind of source: only sources and front ends depend on the kind."""

import ast
import functools
from pathlib import Path

import pytest

import keras_bahdanau
from keras_bahdanau.sources.named_source import NAMES

PACKAGE = Path(keras_bahdanau.__file__).parent
# sources, their front ends, pipelines that are named after them, and their demos
OWN = ("sources/", "layers/front_ends/", "demo/", "layers/names.py")
PIPELINES = {"tasks.py"}
FORMS = {"lines", "files", "arrays"}  # values of `Source.inputs_are`
# Modules that check the form of inputs, how often, and why. They treat images and speech the same:
# text inputs are lines of a file; other inputs are files in a manifest, which are decoded late.
READING_FORMS = {
    "cli/commands/align.py": (1, "the argument is a sentence, or the path of a file"),
    "cli/commands/distill.py": (
        1,
        "a source of files is made by TensorFlow, which must be loaded then",
    ),
    "cli/commands/export.py": (1, "sentences may be alone; other inputs have texts"),
    "cli/inputs.py": (6, "two texts or a TSV are read, or a manifest"),
    "cli/commands/prepare.py": (2, "two texts or a TSV are read, or a manifest"),
    "cli/commands/translate.py": (1, "sentences are lines of one file; files are named"),
    "cli/training_files.py": (1, "two texts for training need two for validation"),
    "data/shards/file_rows.py": (1, "a corpus of a manifest refuses other sources"),
    "data/shards/shard_files.py": (2, "shards hold ids of lines, or the content of files"),
    "data/shards/shards.py": (1, "ids of shards belong to subwords"),
    "exporters/saved_model/saved_model_pipeline.py": (1, "FLAC is refused among files"),
    "distillation/choosing.py": (2, "filters count characters, or broken files"),
    "distillation/demands.py": (1, "the words of two texts have links"),
}
# Modules that check whether a source has subwords, how often, and why: they process tokens.
ASKING_FOR_SUBWORDS = {
    "data/shards/shards.py": (1, "ids of shards belong to subwords"),
    "exporters/litert/conversion.py": (1, "a file holds the subwords of both sides"),
    "pipelines/graph.py": (1, "words to copy are source tokens"),
    "training/fine_tuning.py": (3, "an old vocabulary gets new pieces"),
    "training/vocabularies.py": (1, "symbols are tokens of a source that has subwords"),
    "distillation/student.py": (1, "a student learns a vocabulary of its own"),
}
KINDS = {*NAMES, "images", "audio", "sound", "ink", "frames", "pixels", "samples"} - {"text"}


@functools.cache
def modules():
    """Return a list of (name, syntax tree) of the modules that must not depend on kinds."""
    names = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    pipelines = {f"pipelines/{name}" for name in PIPELINES}
    return [
        (name, ast.parse(path.read_text()))
        for name, path in names.items()
        if not name.startswith(OWN) and name not in pipelines
    ]


@functools.cache
def classes_of_kinds():
    """Return the names of classes of sources and front ends, without the protocol's classes."""
    paths = [*(PACKAGE / "sources").glob("*.py"), *(PACKAGE / "layers/front_ends").glob("*.py")]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    return {node.name for node in nodes if isinstance(node, ast.ClassDef)} - {"Source", "Picture"}


def names_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


def conditions_of(tree):
    """Yield the conditions of a module's branches."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.match_case):
            yield node.pattern


def test_no_module_elsewhere_knows_a_source_or_its_front_end():
    kinds = classes_of_kinds()
    assert {"TextSource", "ImageSource", "AudioFrames", "Pixels", "InkSource"} <= kinds
    # the original arguments of `Encoder` are for text
    allowed = {"models/encoder.py": {"TokenEmbedding"}}
    known = {name: kinds & set(names_of(tree)) for name, tree in modules()}
    assert {name: found for name, found in known.items() if found} == allowed


def kinds_asked(tree):
    """Return the kinds of sources that are named in a module's conditions."""
    nodes = [node for condition in conditions_of(tree) for node in ast.walk(condition)]
    return {node.value for node in nodes if isinstance(node, ast.Constant)} & KINDS


def test_no_branch_elsewhere_asks_for_a_kind_of_source():
    asked = {name: kinds_asked(tree) for name, tree in modules()}
    assert {name: found for name, found in asked.items() if found} == {}


def classes_named(tree):
    """Return the names of source and front-end classes that appear as strings in a module."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)} & classes_of_kinds()


def test_no_module_elsewhere_holds_the_name_of_a_source_as_a_string():
    named = {name: classes_named(tree) for name, tree in modules()}
    assert {name: found for name, found in named.items() if found} == {}


def comparisons_of(tree):
    """Yield all comparisons in a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Compare))


def forms_asked(tree):
    """Return the number of comparisons with a form of inputs."""
    return sum(
        any(isinstance(part, ast.Constant) and part.value in FORMS for part in ast.walk(node))
        for node in comparisons_of(tree)
    )


def subwords_asked(tree):
    """Return the number of comparisons that check whether a source has subwords."""
    return sum(
        isinstance(node.ops[0], ast.Is | ast.IsNot)
        and "subwords" in (getattr(node.left, "id", None), getattr(node.left, "attr", None))
        for node in comparisons_of(tree)
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("count", "allowed"),
    [(forms_asked, READING_FORMS), (subwords_asked, ASKING_FOR_SUBWORDS)],
    ids=["forms", "subwords"],
)
def test_what_stands_for_a_kind_of_source_is_asked_where_there_is_a_reason(count, allowed):
    # modules that are only for text may check their subwords
    asked = {name: count(tree) for name, tree in modules() if not name.startswith("text/")}
    assert {name: found for name, found in asked.items() if found} == {
        name: number for name, (number, _) in allowed.items()
    }


@pytest.mark.parametrize(
    ("count", "code"),
    [
        (forms_asked, "if source.inputs_are == 'files': pass"),
        (forms_asked, "readable = inputs not in ('lines', 'arrays')"),
        (subwords_asked, "x = 1 if source.subwords is None else 2"),
        (subwords_asked, "text = subwords is not None"),
    ],
)
def test_what_stands_for_a_kind_is_found(count, code):
    assert count(ast.parse(code)) == 1


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


@pytest.mark.parametrize(
    "code",
    [
        'entered = ("ImageSource", "Own")\nif type(source).__name__ in entered: pass',
        'name = card.get("class_name", "TextSource")',
        'pages = {"AudioFrames": 1}',
    ],
)
def test_a_name_of_a_source_in_a_string_is_found(code):
    assert classes_named(ast.parse(code))
