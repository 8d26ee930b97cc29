"""The layout of the package: which parts may import which, and what no part may do."""

import ast
import collections
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "keras_bahdanau"
ROOT = Path(__file__).parents[1] / PACKAGE
FILES = sorted(ROOT.rglob("*.py"))

# The package's folders ("rooms") by level ("floor"), lowest first. A room may only import rooms on
# lower floors.
FLOORS = (
    ("settings", "files"),
    ("layers", "text"),
    ("models", "sources", "optimizers"),
    ("search", "data"),
    ("pipelines",),
    ("evaluation", "plotting"),
    ("callbacks", "exporters"),
    ("training", "runners"),
    ("distillation", "demo", "migrate"),
    ("cli",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
WITHOUT_TENSORFLOW = {"callbacks", "layers", "models", "optimizers", "search"}
TEXT_ON_THE_HOST = (
    *("alignments", "copies", "features", "folding", "graphemes", "host_text", "id_rows", "ids"),
    *("subword_sampling", "subwords", "unknown_parts", "vocabulary", "vocabulary_update"),
    "word_weights",
)
TENSORFLOW_BRANCHES = {
    ROOT / "layers" / "recurrence.py",  # a loop that has a gradient with XLA
    ROOT / "layers" / "replayed_loop.py",  # its gradient
    ROOT / "layers" / "step_graph.py",
    ROOT / "layers" / "step_products.py",
    ROOT / "optimizers" / "adam.py",  # one kernel per update
    ROOT / "callbacks" / "alignment_plots.py",  # event files
}


def name_of(path):
    return str(path.relative_to(ROOT))


def room_of(path):
    """Return the room of a file: its folder in the package, or "" for the package's `__init__`."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py").replace("__init__", "")


@functools.cache
def syntax_of(path):
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports_of(path):
    """Yield the full dotted name of everything that a file imports, also inside functions."""
    package = (PACKAGE, *path.relative_to(ROOT).parent.parts)
    for node in syntax_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            yield from (f"{module}.{alias.name}" for alias in node.names)


def dotted_names_of(path):
    """Yield the imports of a file, and each attribute that it accesses, such as `tf.keras`."""
    yield from imports_of(path)
    yield from (ast.unparse(node) for node in syntax_of(path) if isinstance(node, ast.Attribute))


def files_with(faults_of):
    """Return a dictionary from each file with faults to the faults that `faults_of` finds."""
    found = {name_of(path): faults_of(path) for path in FILES}
    return {name: faults for name, faults in found.items() if faults}


def test_every_room_has_a_floor():
    assert {room_of(path) for path in FILES} - {""} == set(FLOOR_OF)


def test_imports_go_down_only():
    def not_below(path):
        room = room_of(path)
        if not room:
            return set()  # `__init__` imports names on first use
        names = [name.split(".") for name in imports_of(path)]
        rooms = {name[1] for name in names if name[0] == PACKAGE and name[1:]} - {room}
        return {
            one for one in rooms & set(FLOOR_OF) if FLOOR_OF[one] >= FLOOR_OF[room]
        } | rooms - set(FLOOR_OF) - {"__version__"}

    assert files_with(not_below) == {}


@functools.cache
def module_imports():
    """Return a dictionary from module to the modules that it imports, except `__init__` files."""
    names = {".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)) for path in FILES}
    names = {name for name in names if not name.endswith("__init__")}

    def modules(path):
        for imported in imports_of(path):
            yield from {imported, imported.rpartition(".")[0]} & names

    return {
        ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)): {*modules(path)}
        for path in FILES
        if path.name != "__init__.py"
    }


def circles(imports):
    """Return the modules that import themselves through others."""
    reached = {name: set(direct) for name, direct in imports.items()}
    for middle in imports:
        for name in imports:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    return {name for name in imports if name in reached[name]}


def test_no_module_imports_itself_through_others():
    assert circles(module_imports()) == set()


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {"b", "c"}


def test_rooms_have_few_arrows():
    arrows = {
        (room_of(path), name.split(".")[1])
        for path in FILES
        for name in imports_of(path)
        if room_of(path) and name.startswith(f"{PACKAGE}.")
    }
    arrows = {(room, below) for room, below in arrows if room != below and below in FLOOR_OF}
    assert len(FLOOR_OF) <= 26 and len(FLOORS) <= 10 and len(arrows) <= 95


def test_no_two_modules_have_one_name():
    names = collections.Counter(path.name for path in FILES if not path.name.startswith("__"))
    twice = {name for name, count in names.items() if count > 1}
    assert twice == set()


def test_no_part_but_those_that_need_it_imports_tensorflow():
    def backends(path):
        if room_of(path) not in WITHOUT_TENSORFLOW or path in TENSORFLOW_BRANCHES:
            return set()
        return {name.split(".")[0] for name in imports_of(path)} & {"tensorflow", "tensorflow_text"}

    assert files_with(backends) == {}


def test_text_on_the_host_imports_no_tensorflow():
    def backends(path):
        if path.parent != ROOT / "text" or path.stem not in TEXT_ON_THE_HOST:
            return set()
        statements = ast.parse(path.read_text(encoding="utf-8")).body  # no late imports
        names = [node.names[0].name for node in statements if isinstance(node, ast.Import)]
        return {name.split(".")[0] for name in names} & {"tensorflow", "tensorflow_text"}

    assert {f"text/{name}.py" for name in TEXT_ON_THE_HOST} <= {name_of(path) for path in FILES}
    assert files_with(backends) == {}


def test_only_public_keras_is_used():
    private = ("keras.src.", "tf.keras.", "tensorflow.keras.")
    assert {} == files_with(
        lambda path: [name for name in dotted_names_of(path) if f"{name}.".startswith(private)]
    )


def test_the_library_raises_instead_of_asserting():
    assert {} == files_with(
        lambda path: [node.lineno for node in syntax_of(path) if isinstance(node, ast.Assert)]
    )


def test_examples_import_nothing_of_the_command_line():
    pattern = re.compile(rf"^\s*(?:from|import) {PACKAGE}\.cli\b", re.MULTILINE)
    examples = (ROOT.parent / "examples").rglob("*.py")
    assert [path for path in examples if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_a_report_that_is_left_out_is_none():
    assert (
        files_with(lambda path: re.findall("say=lambda.*", path.read_text(encoding="utf-8"))) == {}
    )


def test_files_are_named_by_what_they_hold():
    empty_names = {"utils", "util", "helpers", "misc", "common"}
    assert {} == files_with(
        lambda path: empty_names & set(path.relative_to(ROOT).with_suffix("").parts)
    )


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "module",
    [
        *("", ".cli", ".plotting", ".training.run", ".training.presets"),
        *(f".text.{name}" for name in TEXT_ON_THE_HOST),
    ],
)
def test_tensorflow_loads_only_when_it_is_needed(module):
    program = (
        f"import sys, {PACKAGE}{module}; "
        "print(*sorted({'keras', 'tensorflow', 'tensorflow_text'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout.strip()) == (0, ""), answer.stderr
