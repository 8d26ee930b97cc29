"""Fixtures that many tests share, such as a small translator that is trained once."""

import collections
import fcntl
import gc
import importlib
import os
import pickle
import sys
import time
import zlib
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if "PYTEST_XDIST_WORKER" in os.environ:  # the pytest-xdist workers share the CPU cores
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    gc.set_threshold(100_000, 50, 1000)  # saves 10%: graphs are many long-lived objects

import pytest

# The slowest files run first, so that no worker is left waiting for one of them at the end.
LONGEST_FILES = ("test_training.py", "test_cli.py", "test_sources.py", "test_serving.py")


SESSION_START = time.monotonic()


def pytest_addoption(parser):
    parser.addoption("--tenth", metavar="NAME", help="run a tenth of the tests, drawn by NAME")
    parser.addoption("--minutes", type=float, help="skip the tests left after so many minutes")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Apply the mark `few(n)` and the option `--tenth`.

    All but the first n parameter sets of a test marked `few(n)` become slow tests. `--tenth` keeps
    a random tenth of all tests.
    """
    items.sort(key=lambda item: item.path.name not in LONGEST_FILES)  # a stable sort
    seen = collections.Counter()
    for item in items:
        mark = item.get_closest_marker("few")
        if mark is not None and item.get_closest_marker("slow") is None:
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] > mark.args[0]:
                item.add_marker(pytest.mark.slow)
    name = config.getoption("--tenth")
    if name is not None:
        tenths = [zlib.crc32(f"{name} {item.nodeid}".encode()) % 10 for item in items]
        drawn = zip(items, tenths, strict=True)
        config.hook.pytest_deselected(items=[item for item, tenth in drawn if tenth])
        items[:] = [item for item, tenth in zip(items, tenths, strict=True) if not tenth]
        # shuffles the files, so that `--minutes` does not always skip the same ones
        items.sort(key=lambda item: zlib.crc32(f"{name} {item.path.name}".encode()))


def pytest_runtest_setup(item):
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - SESSION_START > 60 * minutes:
        pytest.skip(f"more than {minutes:g} minutes have passed")


TOY = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}


def toy_pairs():
    """Return every sequence of one to three number words with its word-by-word translation."""
    sentences = [[word] for word in TOY]
    for length in (1, 2):
        sentences += [
            [*sentence, word] for sentence in sentences if len(sentence) == length for word in TOY
        ]
    return [
        (" ".join(sentence), " ".join(TOY[word] for word in sentence)) for sentence in sentences
    ]


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Function `once(name, make)` that returns a path, created by `make(path)` on first use.

    Only the first worker that requests the path creates it.
    """
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # a directory that all workers of a run share

    def path_of(name, make):
        path = place / "once" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            return path
        with open(place / f"{name.replace('/', '-')}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                make(path)
        return path

    return path_of


@pytest.fixture(scope="session")
def toy_translator(once):
    """A `Translator` that has learned to count in German, with word-like subwords."""
    import keras

    import keras_bahdanau as kb

    def train(path):
        keras.utils.set_random_seed(0)
        pairs = toy_pairs()
        source, target = kb.text.Subwords.train_pair(pairs, vocabulary_size=48)
        model = kb.presets.small(
            source, target, embedding_units=24, units=48, attention_units=24, dropout=0.0
        )
        model.build()
        model.compile(optimizer=keras.optimizers.Adam(1e-2), loss=kb.losses.TokenCrossentropy())
        model.optimizer.build(model.trainable_variables)  # otherwise the first step is traced twice
        data = kb.data.batches(pairs, source, target, batch_tokens=512, buckets=1)
        model.fit(data, epochs=25, verbose=0, shuffle=False)
        kb.Translator(source, model, target).save(path)

    return kb.Translator.load(once("toy.keras", train))


@pytest.fixture(scope="session")
def toy_saved_model(toy_translator, once):
    """The path of version 1 of the toy translator's SavedModel."""
    from keras_bahdanau import export_saved_model

    return once("translator/1", lambda path: export_saved_model(toy_translator, path.parent))


@pytest.fixture(scope="session")
def toy_answers(toy_translator, toy_saved_model, once):
    """The answers of `toy_saved_model` to `toy_requests`, by name, from a single clean process."""
    import toy_requests

    from keras_bahdanau.exporters import run_in_clean_process

    def run(path):
        requests = toy_requests.requests_of(toy_translator)
        answers = run_in_clean_process(toy_saved_model, [*requests.values()])
        path.write_bytes(pickle.dumps(dict(zip(requests, answers, strict=True))))

    return pickle.loads(once("answers.pickle", run).read_bytes())


@pytest.fixture(scope="session")
def toy_ids_model(toy_translator, once):
    """The path of version 1 of the toy translator's SavedModel for ids."""
    from keras_bahdanau.exporters import IdsSavedModelExporter, export

    def write(path):
        export(IdsSavedModelExporter(), toy_translator, path.parent)

    return once("ids/1", write)


@pytest.fixture(scope="session")
def toy_litert(toy_translator, once):
    """The toy translator's LiteRT file, for sentences of up to 24 tokens."""
    from keras_bahdanau import export_litert

    def export(path):
        export_litert(toy_translator, path, max_source_length=24)

    return once("toy.tflite", export)


@pytest.fixture(scope="session")
def suggesting(toy_translator, once):
    """The toy translator's LiteRT file with all text signatures."""
    from keras_bahdanau import export_litert

    def export(path):
        export_litert(
            toy_translator, path, max_source_length=24, signatures=("greedy", "nbest", "prefix")
        )

    return once("suggesting.tflite", export)


@pytest.fixture(scope="session")
def toy_onnx(toy_translator, once):
    """The toy translator's ONNX file with prefixes, for sentences of up to 24 tokens."""
    from keras_bahdanau import export_onnx

    def export(path):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TF2ONNX_CATCH_ERRORS", "FALSE")  # catching them takes half of the time
            export_onnx(toy_translator, path, max_source_length=24, signatures=("prefix",))

    return once("toy.onnx", export)


@pytest.fixture(scope="session")
def toy_source(once):
    """Function `toy_source(name)` that returns the file of a pipeline trained on a toy task.

    The tasks are those in `toy_sources.CASES`.
    """
    import toy_sources

    return lambda name: once(f"{name}.keras", lambda path: toy_sources.train(name, path))


@pytest.fixture(scope="session")
def toy_artefact(toy_source, once):
    """Function `toy_artefact(name, format)` that returns the path of an exported toy pipeline.

    The format is "saved-model", "litert" or "onnx".
    """
    from keras_bahdanau import export_litert, export_onnx, export_saved_model
    from keras_bahdanau.pipelines.tasks import load_pipeline

    def write_saved_model(name):
        return once(
            f"{name}/1",
            lambda path: export_saved_model(load_pipeline(toy_source(name)), path.parent),
        )

    def write_litert(name):
        return once(
            f"{name}.tflite",
            lambda path: export_litert(load_pipeline(toy_source(name)), path, max_source_length=48),
        )

    def write_onnx(name):
        return once(
            f"{name}.onnx",
            lambda path: export_onnx(load_pipeline(toy_source(name)), path, max_source_length=48),
        )

    writers = {"saved-model": write_saved_model, "litert": write_litert, "onnx": write_onnx}
    return lambda name, format: writers[format](name)


@pytest.fixture(scope="module")
def graphs():
    """A `modes.graphs()` for the test file: a function that its tests share is traced once."""
    import modes

    return modes.graphs()


@pytest.fixture(params=[pytest.param("eager", marks=pytest.mark.slow), "graph"])
def run(request, graphs):
    """Function `run(function, *args)` that calls the function in graph mode or eagerly.

    The eager variant of each test is marked slow; with `modes.graph_is_slow`, the graph variant is.
    """
    import modes

    return {"eager": modes.eager, "graph": graphs}[request.param]


PROGRAMS = ("examples", "experiments", "benchmarks")


@pytest.fixture
def example(request, monkeypatch):
    """Function that imports a module of an example; the test module's `FOLDER` is its folder."""
    # another example may have a module of the same name
    for name in _modules_of_programs():
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(request.module.FOLDER)
    yield importlib.import_module
    for name in _modules_of_programs():
        del sys.modules[name]


def _modules_of_programs():
    """Return the names of imported modules from the folders in `PROGRAMS`."""
    root = Path(__file__).parents[1]
    files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
    return [
        name
        for name, file in files.items()
        if any(Path(file).is_relative_to(root / part) for part in PROGRAMS)
    ]
