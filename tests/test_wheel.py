"""The wheel, built, installed into an empty environment and used there."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from conftest import toy_pairs

from keras_bahdanau import __version__

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "keras_bahdanau"
TINY = "--vocabulary-size 30 --embedding-units 8 --units 8 --attention-units 8 --epochs 1"

pytestmark = pytest.mark.slow


def run(*command, cwd, **options):
    """The standard output of a command that knows nothing of this repository."""
    private = ("PYTHONPATH", "PYTHONHOME", "KERAS_BACKEND")
    answer = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if key not in private},
        capture_output=True,
        encoding="utf-8",
        **options,
    )
    assert answer.returncode == 0, f"{command}\n{answer.stdout}\n{answer.stderr}"
    return answer.stdout


@pytest.fixture(scope="module")
def folder():
    """A directory that is gone after the tests: an environment takes 2 GB."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@pytest.fixture(scope="module")
def wheel(folder):
    """The wheel, built from the source distribution."""
    probe = [
        "download",
        "--no-deps",
        "--retries",
        "0",
        "--dest",
        folder / "probe",
        "setuptools>=77",
    ]
    reached = subprocess.run([sys.executable, "-m", "pip", *probe], capture_output=True, text=True)
    if reached.returncode:
        pytest.skip(f"pip reaches no package index: {reached.stderr.strip()}")
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
    (path,) = (folder / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def commands(wheel, folder):
    """The directory of the programs of an environment that holds the wheel and its needs."""
    run(sys.executable, "-m", "venv", folder / "environment", cwd=folder)
    programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    constraints = ROOT / "constraints.txt"
    install = ("-m", "pip", "install", "--constraint", constraints, f"{wheel}[litert]")
    run(programs / "python", *install, cwd=folder)
    return programs


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    files = {path.relative_to(ROOT) for path in PACKAGE.rglob("*") if path.is_file()}
    expected = {path.as_posix() for path in files if "__pycache__" not in path.parts}
    about = f"keras_bahdanau-{__version__}.dist-info/"
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith(about)}
    assert names == expected


def test_the_installed_package_is_the_one_of_the_wheel(commands, folder):
    program = (
        "import importlib.metadata as m, keras_bahdanau as kb\n"
        "print(m.version('keras-bahdanau'), kb.__version__, kb.__file__, kb.Translator.__name__)"
    )
    metadata, version, file, name = run(commands / "python", "-c", program, cwd=folder).split()
    assert (metadata, version, name) == (__version__, __version__, "Translator")
    assert Path(file).is_relative_to(folder.resolve())


def test_the_installed_packages_agree(commands, folder):
    assert run(commands / "python", "-m", "pip", "check", cwd=folder) == (
        "No broken requirements found.\n"
    )


def test_the_installed_command_tells_its_version_and_its_commands(commands, folder):
    program = commands / "keras-bahdanau"
    assert run(program, "--version", cwd=folder) == f"keras-bahdanau {__version__}\n"
    text = run(program, "--help", cwd=folder)
    for command in ("train", "translate", "evaluate", "export", "check", "demo"):
        assert f"\n  {command} " in text


def test_the_installed_command_trains_translates_and_exports(commands, folder):
    program = commands / "keras-bahdanau"
    lines = ["\t".join(pair) for pair in toy_pairs()]
    (folder / "toy.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(program, "train", "toy.tsv", "--out", "run", *TINY.split(), cwd=folder)
    sentences = "one two\n\nfive\n"
    translations = run(program, "translate", "--model", "run", cwd=folder, input=sentences)
    assert len(translations.splitlines()) == 3
    assert translations.splitlines()[1] == ""
    run(program, "align", "--model", "run", "one two", "--plot", "alignment.png", cwd=folder)
    assert (folder / "alignment.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    # each export is compared with Keras before it is written
    exported = run(
        program, "export", "--model", "run", "--format", "all", "--out", "shipped", cwd=folder
    )
    assert "shipped/model.float32.tflite" in exported.replace(os.sep, "/")
    assert (folder / "shipped" / "1" / "saved_model.pb").is_file()
