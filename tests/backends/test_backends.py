"""JAX and torch give TensorFlow's results, each in a separate process and environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from backend_models import DRAWING, MODELS
from conftest import toy_pairs

from keras_bahdanau import Translator, export_saved_model
from keras_bahdanau.exporters.cpp_loader import run_in_clean_process
from keras_bahdanau.text import Subwords

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
OTHERS = ("jax", "torch")
NO_ENVIRONMENT = (
    "There is no environment for {}. Make it with `make backends`, or name its Python in "
    "KERAS_BAHDANAU_{}_PYTHON."
)

pytestmark = pytest.mark.slow


def python_of(backend):
    """Return the path of the Python in a backend's environment, or None."""
    if backend == "tensorflow":
        return sys.executable
    named = os.environ.get(f"KERAS_BAHDANAU_{backend.upper()}_PYTHON")
    made = ROOT / ".backends" / backend / "bin" / "python"
    return named or (str(made) if made.exists() else None)


def work(backend, task, folder):
    """Run `worker.py` with a backend."""
    subprocess.run(
        [python_of(backend), TESTS / "backends" / "worker.py", task, folder],
        env={
            **os.environ,
            "KERAS_BACKEND": backend,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, TESTS / "support"))),
            "JAX_PLATFORMS": "cpu",
            # Both reduce compile time; there is very little to compute.
            "XLA_FLAGS": "--xla_backend_optimization_level=0",
            "JAX_DISABLE_JIT": str(int(task == "load")),
        },
        check=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that all installed backends have written and read from each other."""
    path = tmp_path_factory.mktemp("backends")
    here = [backend for backend in ("tensorflow", *OTHERS) if python_of(backend)]
    for task in ("write", "load"):
        for backend in here:
            work(backend, task, path)
    return path


@pytest.fixture(params=OTHERS)
def backend(request):
    if python_of(request.param) is None:
        pytest.skip(NO_ENVIRONMENT.format(request.param, request.param.upper()))
    return request.param


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def answers(backend, name, folder):
    """Return one backend's answers for a model, and TensorFlow's."""
    return (read(folder, one, name) for one in (backend, "tensorflow"))


def read(folder, backend, name):
    with np.load(folder / backend / f"{name}.npz") as arrays:
        return dict(arrays)


def assert_alike(answers, *keys, **tolerance):
    found, expected = answers
    for key in keys:
        np.testing.assert_allclose(found[key], expected[key], err_msg=key, **tolerance)


def test_no_layer_model_or_search_needs_tensorflow(answers):
    found, expected = answers
    assert (found["tensorflow"], expected["tensorflow"]) == (False, True)


def test_the_weights_have_the_same_names_in_the_same_order(answers):
    found, expected = answers
    assert [*found["paths"]] == [*expected["paths"]]


def test_a_call_and_predict_give_the_numbers_of_tensorflow(answers):
    assert_alike(answers, "logits", "weights", "predicted", atol=1e-5, rtol=1e-5)


def test_fit_lowers_the_loss(answers):
    found, _ = answers
    for key in {"losses", "losses_unbuilt", "losses_taught"} & {*found}:
        assert np.isfinite(found[key]).all() and found[key][-1] < found[key][0]
    assert np.isfinite(found["perplexity"])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in DRAWING], indirect=True)
def test_fit_takes_the_steps_that_tensorflow_takes(answers, name):
    keys = ("losses", "perplexity", "trained_logits", "trained_weights")
    keys += ("losses_taught",) if name == "plain" else ()
    assert_alike(answers, *keys, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_search_finds_what_it_finds_on_tensorflow(answers, method):
    found, expected = answers
    for key in ("ids", "lengths", "finished"):
        np.testing.assert_array_equal(found[f"{method}_{key}"], expected[f"{method}_{key}"])
    assert_alike((found, expected), f"{method}_scores", f"{method}_alignment", atol=1e-5)


@pytest.mark.parametrize("kind", ["weights", "keras"])
@pytest.mark.parametrize("writes", [True, False], ids=["its files", "others' files"])
def test_files_move_between_backends(folder, backend, name, kind, writes):
    """Each pair of the three backends: one trains and saves a file, the other loads it."""
    others = {"tensorflow", *OTHERS} - {backend}
    pairs = {(backend, other) if writes else (other, backend) for other in others}
    for writer, reader in pairs:
        if python_of(writer) and python_of(reader):
            loaded = read(folder, reader, f"{name} loaded")
            written = read(folder, writer, name)
            for key in ("logits", "weights"):
                np.testing.assert_allclose(
                    loaded[f"{writer}_{kind}_{key}"], written[f"trained_{key}"], atol=1e-5
                )


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    """The folder with losses and files from training on JAX with one device and with two."""
    python = python_of("jax")
    if python is None:
        pytest.skip(NO_ENVIRONMENT.format("jax", "JAX"))
    path = tmp_path_factory.mktemp("jax")
    for count in (1, 2):
        subprocess.run(
            [python, TESTS / "backends" / "data_parallel.py", path, str(count)],
            env={
                **os.environ,
                "KERAS_BACKEND": "jax",
                "PYTHONPATH": os.pathsep.join(map(str, (ROOT, TESTS / "support"))),
                "JAX_PLATFORMS": "cpu",
                "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
            },
            check=True,
        )
    return path


def test_a_loop_of_several_steps_a_pass_has_the_losses_of_one():
    """GPUs use such loops; 5 source and 6 target positions are not multiples of four."""
    python = python_of("jax")
    if python is None:
        pytest.skip(NO_ENVIRONMENT.format("jax", "JAX"))
    done = subprocess.run(
        [python, TESTS / "backends" / "steps_at_once.py"],
        env={
            **os.environ,
            "KERAS_BACKEND": "jax",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, TESTS / "support"))),
            "JAX_PLATFORMS": "cpu",
        },
        check=True,
        capture_output=True,
        text=True,
    )
    one, several = json.loads(done.stdout)
    assert several == pytest.approx(one, rel=1e-5)


def test_a_forecaster_trains_and_predicts_as_on_tensorflow(tmp_path, backend):
    """This covers teacher forcing, metrics, a mask, and missing values in inputs and targets."""
    answers = {}
    for name in (backend, "tensorflow"):
        path = tmp_path / f"{name}.npz"
        subprocess.run(
            [python_of(name), TESTS / "backends" / "forecaster.py", path],
            env={
                **os.environ,
                "KERAS_BACKEND": name,
                "PYTHONPATH": os.pathsep.join(map(str, (ROOT, TESTS / "support"))),
                "JAX_PLATFORMS": "cpu",
            },
            check=True,
        )
        with np.load(path) as arrays:
            answers[name] = dict(arrays)
    found, expected = answers[backend], answers["tensorflow"]
    assert (found["tensorflow"], expected["tensorflow"]) == (False, True)
    keys = ("predicted", "weights", "losses", "mae", "val_losses", "trained", "lower", "loaded")
    assert_alike((found, expected), *keys, atol=1e-4, rtol=1e-4)


def scan_gradients(policy, *names):
    """Return the results of `scan_gradients.py`, by name of the decoder cell or reader."""
    python = python_of("jax")
    if python is None:
        pytest.skip(NO_ENVIRONMENT.format("jax", "JAX"))
    done = subprocess.run(
        [python, TESTS / "backends" / "scan_gradients.py", policy, *names],
        env={
            **os.environ,
            "KERAS_BACKEND": "jax",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, TESTS / "support"))),
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": "--xla_backend_optimization_level=0",
        },
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def worse_than(limit, answers):
    """Return the results with differences above `limit` or without a product after the loop."""
    return {name: x for name, x in answers.items() if max(x[:2]) > limit or not x[2]}


def test_gradients_of_each_cell_and_score_on_jax_are_those_of_jax():
    assert worse_than(1e-5, scan_gradients("float32")) == {}


def test_second_derivatives_of_loops_on_jax_are_those_of_jax():
    assert worse_than(1e-5, scan_gradients("second")) == {}


def test_gradients_of_loops_on_jax_are_those_of_jax_in_half_precision():
    names = ("gru", "cell lstm", "score general", "coverage sum", "dropout of weights")
    assert worse_than(0.05, scan_gradients("mixed_bfloat16", *names)) == {}


def told(folder, count):
    return json.loads((folder / f"{count}.json").read_text())


def test_two_devices_have_the_losses_of_one(parallel):
    one, two = told(parallel, 1), told(parallel, 2)
    assert (one["devices"], two["devices"]) == (1, 2)
    assert two["losses"] == pytest.approx(one["losses"], rel=1e-5)
    assert two["losses"][-1] < two["losses"][0]


def test_what_jax_has_trained_is_exported_by_tensorflow(parallel, tmp_path):
    """The C++ loader gives the loaded translator's answers from the exported graph."""
    model = keras.saving.load_model(parallel / "2.keras", compile=False)
    sources = [*(source for source, _ in toy_pairs()), "six"]  # 10, with four special tokens
    words = Subwords.train(sources, model.target_vocabulary_size, model_type="word", exact=False)
    translator = Translator(words, model, words)
    path = export_saved_model(translator, tmp_path / "exported")
    texts = ["one", "one two three", ""]
    request = ("serving_default", {"text": np.array(texts, object)})
    (answer,) = run_in_clean_process(path, [request])
    answers = [text.decode() for text in answer["translation"]]
    assert answers == [result.text for result in translator.translate(texts)]


WITHOUT_TENSORFLOW = """
import keras, keras_bahdanau as kb

model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
for export in (kb.export_litert, kb.export_onnx, kb.export_saved_model):
    try:
        export(model, "mine.tflite" if export is kb.export_litert else "mine.onnx")
    except ImportError as error:
        print(error)
"""


def test_an_export_without_tensorflow_says_what_to_install(tmp_path):
    python = python_of("jax")
    if python is None:
        pytest.skip(NO_ENVIRONMENT.format("jax", "JAX"))
    environment = {**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, "-c", WITHOUT_TENSORFLOW],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    names = "export_litert", "export_onnx", "export_saved_model"
    assert done.stdout.splitlines() == [
        f"{name} needs the package tensorflow. Received: an environment without it. Install it: "
        "pip install 'keras-bahdanau[all]'"
        for name in names
    ]
