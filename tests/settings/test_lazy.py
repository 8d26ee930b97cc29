"""Keras finds classes by name in new processes, even if nothing was used before loading a file."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.settings.lazy import _ImportHook

ROOT = Path(kb.__file__).parent
PUBLISHED = ROOT.parent / "examples" / "captions" / "models" / "captions.keras"
ORDERS = {
    "the package first": "import keras_bahdanau, keras",
    "Keras first": "import keras, keras_bahdanau",
    "layers alone": "import keras_bahdanau.layers; import keras",
    "TensorFlow between them": "import keras_bahdanau, tensorflow; from keras import saving; "
    "import keras",
}
PROGRAM = """
import sys
model = keras.saving.load_model(sys.argv[1])
attention, *_ = [layer for layer in model.layers if "Attention" in type(layer).__name__]
print(type(attention).__name__, attention.window.width, len(attention.get_weights()))
model = keras.saving.load_model(sys.argv[2])
metric = model._compile_metrics._user_weighted_metrics[0]
rate = model.optimizer._learning_rate
print(*(type(part).__name__ for part in (model, model.loss, metric, model.optimizer, rate)))
print(type(keras.saving.load_model(sys.argv[3])).__name__)
"""


def registered_classes():
    """Yield (module, class) for each class in the package that has Keras' decorator."""
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            decorators = [ast.unparse(item) for item in getattr(node, "decorator_list", ())]
            if any("register_keras_serializable" in decorator for decorator in decorators):
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts), node.name


def test_keras_knows_each_registered_class_before_its_module_is_imported():
    table = {(module, name) for module, names in kb._registered_classes().items() for name in names}
    assert set(registered_classes()) - table == set()
    for module, name in table:
        assert hasattr(importlib.import_module(f"keras_bahdanau.{module}"), name)


def test_an_import_hook_acts_once_and_leaves():
    calls = []
    hook = _ImportHook("colorsys", lambda: calls.append(sys.modules["colorsys"].rgb_to_hsv))
    sys.modules.pop("colorsys", None)
    sys.meta_path.insert(0, hook)
    assert importlib.util.find_spec("colorsys") is not None and not calls
    import colorsys

    assert calls == [colorsys.rgb_to_hsv]
    assert hook not in sys.meta_path
    importlib.reload(colorsys)
    assert len(calls) == 1


def test_an_import_that_fails_leaves_the_hook_for_the_next(tmp_path, monkeypatch):
    module = tmp_path / "half_written_module.py"
    module.write_text("raise ValueError('not yet')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    calls = []
    hook = _ImportHook("half_written_module", lambda: calls.append(True))
    monkeypatch.setattr(sys, "meta_path", [hook, *sys.meta_path])
    with pytest.raises(ValueError, match="not yet"):
        import half_written_module
    module.write_text("value = 1")
    importlib.invalidate_caches()
    import half_written_module  # noqa: F811

    assert (half_written_module.value, calls) == (1, [True])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Paths of a Functional model and of a model saved by `ModelCheckpoint`."""
    folder = tmp_path_factory.mktemp("models")
    query, values = keras.Input((4, 6)), keras.Input((5, 3))
    attention = kb.layers.LuongAttention(window=kb.layers.LocalPredictive(width=2))
    keras.Model([query, values], attention(query, values)).save(folder / "functional.keras")
    model = kb.Seq2Seq(
        kb.Encoder(vocabulary_size=5, embedding_units=2, units=2),
        kb.Decoder(5, 2, kb.layers.DecoderCell(3)),
    )
    rate = kb.optimizers.Cosine(1e-3, 10)
    model.compile(
        kb.optimizers.AveragingAdam(rate),
        kb.losses.SentenceCrossentropy(),
        weighted_metrics=[kb.metrics.Perplexity()],
    )
    ids = np.ones((2, 3), "int32")
    checkpoint = keras.callbacks.ModelCheckpoint(str(folder / "checkpoint.keras"))
    model.fit((ids, ids), ids, epochs=1, verbose=0, callbacks=[checkpoint])
    return folder / "functional.keras", folder / "checkpoint.keras"


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_a_new_process_loads_models_whose_classes_are_not_imported(order, files):
    command = [sys.executable, "-c", ORDERS[order] + PROGRAM, *files, PUBLISHED]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.stdout.splitlines() == [
        "LuongAttention 2 3",
        "Seq2Seq SentenceCrossentropy Perplexity AveragingAdam Cosine",
        "Seq2Seq",
    ], answer.stderr
