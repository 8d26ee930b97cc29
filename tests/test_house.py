"""The size and the words of the package, as bounds that only fall.

A new capability may raise the bounds of files and lines by 15 and 2,000, in a commit of its own
that says for what.
"""

import ast
import collections
import dataclasses
import functools
import re
from pathlib import Path

import pytest

from keras_bahdanau import layers
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.training import TrainingOptions

ROOT = Path(__file__).parents[1] / "keras_bahdanau"
PATHS = sorted(ROOT.rglob("*.py"))
PLAIN = [path for path in PATHS if path.name not in ("__init__.py", "__main__.py")]

# files and scripts of strangers: +10, +2,000; the attention layer of Keras: +8, +1,500;
# a recurrent layer that attends at each step: +370;
# threads share a runner, and processes are safe from their directory and their parent's end: +200;
# quantized layers are saved and loaded, masks that Keras deletes are found: +80;
# attention layers of packages and tutorials for Keras 2, with weights: +1, +320;
# pages compare their files with their sha256 before they start: +50;
# a forecaster of numbers, its heads and its window: +3, +900;
# ONNX files of pipelines, their converter, check and runner: +10, +1,650;
# any Keras model as a LiteRT file or SavedModel, and its runner: +10, +2,000;
# one time step a call of such a model, labels and sources in its graph: +400;
# the gradient of a loop by replayed steps, Adam by one kernel a weight: +2, +620;
# layers of a Keras model learn in its LiteRT file, with an undo and sealed states: +4, +800;
# an alignment is seen to form, by a callback, an animation and a page; names say what is missing
# in a small installation; the additive layer documents its call: +2, +350;
# a forecaster predicts the change from a season before, its paths are a file of their own: +1, +50;
# faithfulness of attention weights, of pipelines and Keras models, by removal and other weights:
# +4, +1,040;
# the gradient of weights behind a loop on JAX, products of TensorFlow's step apart: +2, +300;
# any Keras model as an ONNX file, the runtimes of its runner: +3, +420;
# images that are lines of text, read column by column: +35;
# importance of each source position in traces and the explorer, its page of arrays of any model,
# probes of pipelines and of Keras models apart, what exports of Keras models say: +2, +260;
# docstrings, help and errors in whole sentences: +1,400
FILES = 320 + 10 + 8 + 1 + 3 + 10 + 10 + 2 + 4 + 2 + 1 + 4 + 2 + 3 + 2
LINES = 45_000 + 2_000 + 1_500 + 370 + 200 + 80 + 320 + 50 + 900 + 1_650 + 2_000 + 400 + 620 + 800
LINES += 350 + 50 + 1_040 + 300 + 420 + 35 + 260 + 1_400
FILES_IN_A_FOLDER = 20
SHORT_FILES = 0.10  # of at most 60 lines
PUBLIC_LAYERS = 60 + 2  # attention pooling, attention in a recurrent layer
WIDE_FUNCTIONS = 5  # of 12 parameters or more, constructors and `call` apart
FILES_THAT_READ_ONE_OPTION = 6
FILES_THAT_GET_TRAINING_OPTIONS = 12
FILLER_NAMES = 15  # in 1,000
FILLER_NAMES_OF_A_ROOM = 30

# words that say nothing of the value that they name
FILLER = {
    *("alike", "asked", "begun", "beside", "every", "found", "given", "here", "it", "kept"),
    *("like", "one", "other", "others", "own", "place", "places", "rest", "said", "same"),
    *("shown", "such", "them", "there", "these", "those", "told", "what", "which"),
}
# a name that begins with a preposition has no noun
PREPOSITIONS = {"as", "by", "from", "in", "of", "to", "with"}
ROOMS_OF_SEARCH_OPTIONS = {"search", "pipelines", "evaluation", "exporters", "runners"}
OTHER_OPTIONS = {  # files whose parameter `options` holds others
    "cli/commands/prepare.py",
    "cli/model_file.py",
    "distillation/settings.py",
}


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@functools.cache
def tree_of(path):
    return ast.parse(text_of(path))


def room_of(path):
    return path.relative_to(ROOT).parts[0]


def lines_of(path):
    return text_of(path).count("\n")


def functions_of(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def parameters_of(function):
    return [argument.arg for argument in function.args.args + function.args.kwonlyargs]


def bindings_of(tree):
    """Yield (name, True for a function) of what a module binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, False
        elif isinstance(node, ast.arg):
            yield node.arg, False
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, True


def is_filler(name, is_function):
    word = name.strip("_").split("_")[0]
    prepositions = PREPOSITIONS if is_function else {"as", "of", "with"}
    return word in FILLER or word in prepositions


def share_of_fillers(paths):
    """Filler names in 1,000 bindings."""
    flags = [is_filler(*binding) for path in paths for binding in bindings_of(tree_of(path))]
    return 1000 * sum(flags) / len(flags)


def test_the_package_has_few_files_and_lines():
    assert len(PATHS) <= FILES
    assert sum(map(lines_of, PATHS)) <= LINES


def test_a_folder_has_few_files():
    folders = collections.Counter(path.parent for path in PATHS)
    assert {path for path, count in folders.items() if count > FILES_IN_A_FOLDER} == set()


def test_few_files_are_short():
    short = [path for path in PLAIN if lines_of(path) <= 60]
    assert len(short) <= SHORT_FILES * len(PLAIN)


def test_few_functions_have_many_parameters():
    wide = [
        f"{path.relative_to(ROOT)}:{function.name}"
        for path in PATHS
        for function in functions_of(tree_of(path))
        if function.name not in ("__init__", "call") and len(parameters_of(function)) >= 12
    ]
    assert len(wide) <= WIDE_FUNCTIONS, wide


def test_public_classes_have_names_of_their_own():
    names = collections.Counter(
        node.name
        for path in PATHS
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == set()


def test_few_layers_are_public():
    assert len(layers.__all__) <= PUBLIC_LAYERS


def test_an_option_of_training_is_read_in_few_files():
    names = {field.name for field in dataclasses.fields(TrainingOptions)}
    names -= {field.name for field in dataclasses.fields(SearchOptions)}
    readers = {
        name: [path for path in PATHS if re.search(rf"options\.{name}\b", text_of(path))]
        for name in names
    }
    spread = {name: len(paths) for name, paths in readers.items()}
    assert {
        name: count for name, count in spread.items() if count > FILES_THAT_READ_ONE_OPTION
    } == {}


def test_few_files_get_the_options_of_a_training():
    files = [
        path
        for path in PATHS
        if room_of(path) not in ROOMS_OF_SEARCH_OPTIONS
        and path.relative_to(ROOT).as_posix() not in OTHER_OPTIONS
        and any("options" in parameters_of(function) for function in functions_of(tree_of(path)))
    ]
    assert len(files) <= FILES_THAT_GET_TRAINING_OPTIONS, files


def test_the_options_of_a_training_are_resolved_once():
    assert sum(text_of(path).count(".resolved()") for path in PATHS) <= 1


def test_names_are_words_of_the_field():
    assert share_of_fillers(PATHS) <= FILLER_NAMES


@pytest.mark.few(4)
@pytest.mark.parametrize("room", sorted({room_of(path) for path in PLAIN}))
def test_names_of_a_room_are_words_of_the_field(room):
    paths = [path for path in PATHS if room_of(path) == room]
    assert share_of_fillers(paths) <= FILLER_NAMES_OF_A_ROOM


@pytest.mark.parametrize(
    ("name", "is_function", "filler"),
    [
        ("found", False, True),
        ("own_pairs", False, True),
        ("of_cell", False, True),
        ("by_name", True, True),
        ("by_name", False, False),
        ("pairs", False, False),
        ("_token_log_probs", True, False),
    ],
)
def test_a_filler_is_a_name_without_a_noun(name, is_function, filler):
    assert is_filler(name, is_function) == filler
