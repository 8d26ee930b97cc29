"""Build the wheel, install it into empty environments, and use it there.

With only the required dependencies and JAX, layers, models and search must work; with the extra
`litert`, exported files must run; with `all`, training, translation and exports must work, too.
If the environment variable KERAS_BAHDANAU_WHEEL names a wheel, it is tested instead of a new one.
"""

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
MEGABYTE = 2**20
TINY = "--vocabulary-size 30 --embedding-units 8 --units 8 --attention-units 8 --epochs 1"

pytestmark = pytest.mark.slow


def run(*command, cwd, **options):
    """Run a command without access to this repository, and return its standard output."""
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
    """A directory that is deleted after the tests, since an environment needs 2 GB."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@pytest.fixture(scope="module")
def wheel(folder):
    """The wheel, built from the source distribution."""
    if "KERAS_BAHDANAU_WHEEL" in os.environ:
        return Path(os.environ["KERAS_BAHDANAU_WHEEL"]).resolve()
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


def environment(folder, name, *packages):
    """Create an environment with packages; return the directory of its programs."""
    run(sys.executable, "-m", "venv", folder / name, cwd=folder)
    programs = folder / name / ("Scripts" if os.name == "nt" else "bin")
    constraints = ROOT / "constraints.txt"
    run(
        *(programs / "python", "-m", "pip", "install", "--constraint", constraints, *packages),
        cwd=folder,
    )
    return programs


@pytest.fixture(scope="module")
def commands(wheel, folder):
    """The programs of an environment with the wheel, installed as in the README."""
    return environment(folder, "environment", f"{wheel}[all]")


@pytest.fixture(scope="module")
def bare(wheel, folder):
    """The programs of an environment with the wheel, its required dependencies, and JAX."""
    return environment(folder, "bare", wheel, "jax")


def run_program(programs, program, cwd, *arguments, **variables):
    """Run a Python program in an environment, and return its standard output."""
    path = cwd / "program.py"
    path.write_text(program, encoding="utf-8")
    prefix = [f"{name}={value}" for name, value in variables.items()]
    return run("env", *prefix, programs / "python", path, *arguments, cwd=cwd)


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
    # the export itself compares each artefact with Keras
    exported = run(
        program, "export", "--model", "run", "--format", "all", "--out", "shipped", cwd=folder
    )
    assert "shipped/model.float32.tflite" in exported.replace(os.sep, "/")
    assert (folder / "shipped" / "1" / "saved_model.pb").is_file()


LAYER = """
import sys

import keras
import numpy as np

import keras_bahdanau as kb

random = np.random.default_rng(0)
ids = random.integers(1, 9, (64, 6)) * (np.arange(6) < random.integers(3, 7, (64, 1)))
inputs = keras.Input((None,), dtype="int32")
embedded = keras.layers.Embedding(9, 8, mask_zero=True)(inputs)
values = keras.layers.Bidirectional(keras.layers.GRU(8, return_sequences=True))(embedded)
context = kb.AttentionPooling(8, name="look")(values)
outputs = keras.layers.Dense(1, activation="sigmoid")(context)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
history = kb.callbacks.AlignmentHistory(ids[:2], steps=[0, 1, 8])
settings = {"epochs": 4, "verbose": 0, "callbacks": [history]}
losses = model.fit(ids, (ids == 3).any(axis=1), **settings).history["loss"]
assert losses[-1] < losses[0]
weights = kb.attention_weights(model, ids)["look"]
first, second, last = (record[0].alignment for record in history.alignments)
assert np.abs(first - second).max() > 1e-6  # within an epoch, in which JAX holds the weights apart
assert np.allclose(last, weights[:1], atol=1e-6)
assert np.allclose(weights.sum(axis=1), 1, atol=1e-5) and not weights[ids == 0].any()
model.save("layer.keras")
loaded = keras.saving.load_model("layer.keras")
assert np.allclose(loaded.predict(ids, verbose=0), model.predict(ids, verbose=0), atol=1e-6)

cell = kb.layers.DecoderCell(8, kb.layers.BahdanauAttention(8))
translator = kb.Seq2Seq(kb.Encoder(9, 8, 8), kb.Decoder(9, 8, cell))
translator.compile("adam", kb.losses.TokenCrossentropy())
target_in = np.pad(ids[:, :-1], [(0, 0), (1, 0)], constant_values=2)
translator.fit((ids, target_in), ids, epochs=1, verbose=0)
options = kb.SearchOptions(beam_width=3, max_length=5)
result = kb.search.search_model(translator, ids[:2], options, start=2, end=3)
assert result.ids.shape[:2] == (2, 3)
print(keras.backend.backend(), "tensorflow" in sys.modules)
"""
MISSING = """
import keras_bahdanau as kb

def export():
    import keras

    kb.export_litert(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]), "mine.tflite")


loads = lambda: kb.Translator, lambda: kb.plot_weights, lambda: kb.callbacks.MetricCallback, export
for load in loads:
    try:
        load()
    except ImportError as error:
        print(error)
"""
EXPORTS = """
import keras
import numpy as np

import keras_bahdanau as kb

inputs = keras.Input((6, 3), name="steps")
values = keras.layers.GRU(4, return_sequences=True)(inputs)
context = kb.AttentionPooling(4)(values)
model = keras.Model(inputs, keras.layers.Dense(2, name="classes")(context))
kb.export_litert(model, "mine.tflite")
x = np.random.default_rng(0).normal(size=(1, 6, 3)).astype("float32")
np.savez("mine.npz", x=x, answer=model.predict(x, verbose=0))
translator = kb.Translator.load("run")
result = translator.translate(["one two"])[0]
kb.plot_alignment(result).savefig("drawn.png")
kb.write_explorer([translator.trace("one two")], "explorer.html")
"""
RUNNER = """
import sys

import numpy as np

from keras_bahdanau.runners import ArrayModel, BatchTranslator

arrays = np.load("mine.npz")
(answer,) = ArrayModel("mine.tflite")({"steps": arrays["x"]}).values()
assert np.allclose(answer, arrays["answer"], atol=1e-5)
translated = BatchTranslator("shipped/model.float32.tflite")({"text": ["one two", ""]})
print(len(translated["translation"]))
print({"tensorflow", "keras"} & {*sys.modules})
"""


def test_layers_models_and_search_need_keras_numpy_and_a_backend_alone(bare, folder):
    backend = run_program(bare, LAYER, folder, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
    assert backend.split() == ["jax", "False"]


def test_the_bare_wheel_adds_itself_alone_to_keras(bare, folder):
    listed = run(bare / "python", "-m", "pip", "list", "--format=freeze", cwd=folder)
    packages = {line.split("==")[0].split(" @")[0].lower() for line in listed.splitlines()}
    assert packages.isdisjoint({"tensorflow", "matplotlib", "sentencepiece", "typer", "regex"})
    (installed,) = (folder / "bare").rglob("site-packages/keras_bahdanau")
    sources = [path for path in installed.rglob("*") if "__pycache__" not in path.parts]
    size = sum(path.stat().st_size for path in sources if path.is_file())
    assert size < 5 * MEGABYTE


def test_a_name_whose_package_is_missing_says_what_to_install(bare, folder):
    text = run_program(bare, MISSING, folder, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
    translator, plot, metric, export = text.splitlines()
    assert translator.endswith("pip install 'keras-bahdanau[all]'")
    assert plot == (
        "keras_bahdanau.plot_weights needs the package matplotlib. Received: an environment "
        "without it. Install it: pip install 'keras-bahdanau[plot]'"
    )
    assert metric.startswith("keras_bahdanau.callbacks.MetricCallback needs the package sacrebleu.")
    assert export == (
        "export_litert needs the package tensorflow. Received: an environment without it. Install "
        "it: pip install 'keras-bahdanau[all]'"
    )


def test_a_command_without_its_packages_ends_with_one_line(bare, folder):
    program = bare / "keras-bahdanau"
    assert run(program, "--version", cwd=folder) == f"keras-bahdanau {__version__}\n"
    answer = subprocess.run([program, "check", "x"], capture_output=True, text=True, cwd=folder)
    assert answer.returncode == 2 and answer.stdout == ""
    assert answer.stderr == (
        "keras-bahdanau: keras-bahdanau check needs the package typer. Received: an environment "
        "without it. Install it: pip install 'keras-bahdanau[all]'\n"
    )


def test_exports_of_the_full_environment_run_in_a_small_one(commands, wheel, folder):
    """Uses files of `test_the_installed_command_trains_translates_and_exports`."""
    if not (folder / "shipped").is_dir():
        test_the_installed_command_trains_translates_and_exports(commands, folder)
    run_program(commands, EXPORTS, folder, TF_CPP_MIN_LOG_LEVEL="3")
    assert (folder / "drawn.png").stat().st_size > 1000
    small = environment(folder, "small", f"{wheel}[litert]")
    assert run_program(small, RUNNER, folder).splitlines() == ["2", "set()"]
