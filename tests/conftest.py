"""A small translator, trained once, for every test that needs a real one."""

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
if "PYTEST_XDIST_WORKER" in os.environ:  # the workers share the cores
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    gc.set_threshold(100_000, 50, 1000)  # graphs are many objects that stay: a tenth of the time

import pytest

# The files that take longest begin, so that no worker waits for one of them in the end.
LONGEST_FILES = ("test_training.py", "test_cli.py", "test_sources.py", "test_serving.py")


SESSION_START = time.monotonic()


def pytest_addoption(parser):
    parser.addoption("--tenth", metavar="NAME", help="run a tenth of the tests, drawn by NAME")
    parser.addoption("--minutes", type=float, help="skip the tests left after so many minutes")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark parameters as slow after the first n of a mark `few(n)`; draw a tenth if asked."""
    items.sort(key=lambda item: item.path.name not in LONGEST_FILES)  # else in the same order
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
        # files in the order of a draw: the minutes do not always end before the same ones
        items.sort(key=lambda item: zlib.crc32(f"{name} {item.path.name}".encode()))


def pytest_runtest_setup(item):
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - SESSION_START > 60 * minutes:
        pytest.skip(f"more than {minutes:g} minutes have passed")


TOY = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}


def toy_pairs():
    """Every sequence of one to three number words, and its word-by-word translation."""
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
    """`once(name, make)`: a path that `make(path)` writes in the first worker that asks for it."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # which the workers of one run share

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
    """A `Translator` that has learnt to count in German, with word-like subwords."""
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
        model.optimizer.build(model.trainable_variables)  # or the first step is traced twice
        data = kb.data.batches(pairs, source, target, batch_tokens=512, buckets=1)
        model.fit(data, epochs=25, verbose=0, shuffle=False)
        kb.Translator(source, model, target).save(path)

    return kb.Translator.load(once("toy.keras", train))


@pytest.fixture(scope="session")
def toy_saved_model(toy_translator, once):
    """Its SavedModel: the path of version 1."""
    from keras_bahdanau import export_saved_model

    return once("translator/1", lambda path: export_saved_model(toy_translator, path.parent))


@pytest.fixture(scope="session")
def toy_answers(toy_translator, toy_saved_model, once):
    """Answers of that SavedModel to `toy_requests`, by name, from one clean process."""
    import toy_requests

    from keras_bahdanau.exporters import run_in_clean_process

    def run(path):
        requests = toy_requests.requests_of(toy_translator)
        answers = run_in_clean_process(toy_saved_model, [*requests.values()])
        path.write_bytes(pickle.dumps(dict(zip(requests, answers, strict=True))))

    return pickle.loads(once("answers.pickle", run).read_bytes())


@pytest.fixture(scope="session")
def toy_ids_model(toy_translator, once):
    """Its SavedModel of ids: the path of version 1."""
    from keras_bahdanau.exporters import IdsSavedModelExporter, export

    def write(path):
        export(IdsSavedModelExporter(), toy_translator, path.parent)

    return once("ids/1", write)


@pytest.fixture(scope="session")
def toy_litert(toy_translator, once):
    """Its LiteRT file, for sentences of up to 24 tokens."""
    from keras_bahdanau import export_litert

    def export(path):
        export_litert(toy_translator, path, max_source_length=24)

    return once("toy.tflite", export)


@pytest.fixture(scope="session")
def suggesting(toy_translator, once):
    """The LiteRT file of the toy, with all signatures for texts."""
    from keras_bahdanau import export_litert

    def export(path):
        export_litert(
            toy_translator, path, max_source_length=24, signatures=("greedy", "nbest", "prefix")
        )

    return once("suggesting.tflite", export)


@pytest.fixture(scope="session")
def toy_onnx(toy_translator, once):
    """Its ONNX file, for sentences of up to 24 tokens, with prefixes."""
    from keras_bahdanau import export_onnx

    def export(path):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TF2ONNX_CATCH_ERRORS", "FALSE")  # which takes half of the time
            export_onnx(toy_translator, path, max_source_length=24, signatures=("prefix",))

    return once("toy.onnx", export)


@pytest.fixture(scope="session")
def toy_source(once):
    """`toy_source(name)`: the file of a pipeline that has learnt a case of `toy_sources`."""
    import toy_sources

    return lambda name: once(f"{name}.keras", lambda path: toy_sources.train(name, path))


@pytest.fixture(scope="session")
def toy_artefact(toy_source, once):
    """`toy_artefact(name, "saved-model", "litert" or "onnx")`: the export of such a pipeline."""
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
    """A `modes.graphs()` for all tests of a file: a function that they share is traced once."""
    import modes

    return modes.graphs()


@pytest.fixture(params=[pytest.param("eager", marks=pytest.mark.slow), "graph"])
def run(request, graphs):
    """`run(function, *args)`: what the function gives, as a graph and, slow, as it stands.

    Of a test that is marked `modes.graph_is_slow` it is the graph that is slow.
    """
    import modes

    return {"eager": modes.eager, "graph": graphs}[request.param]


PROGRAMS = ("examples", "experiments", "benchmarks")


@pytest.fixture
def example(request, monkeypatch):
    """Function that imports a module of an example, from `FOLDER` of the test's own module."""
    known = {*sys.modules}
    monkeypatch.syspath_prepend(request.module.FOLDER)
    yield importlib.import_module
    root = Path(__file__).parents[1]
    for name in {*sys.modules} - known:
        file = Path(getattr(sys.modules[name], "__file__", None) or "")
        if any(
            file.is_relative_to(root / part) for part in ("examples", "experiments", "benchmarks")
        ):
            del sys.modules[name]  # another example has a module of that name
