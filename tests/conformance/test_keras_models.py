"""Layers in small user models support everything that Keras does with models.

The tests are a table: the columns are the layers of `keras_rows.KINDS`, the rows its functions.
"""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import keras
import keras_rows
import numpy as np
import pytest
from keras_rows import IDS, KINDS, ROWS, WIDE_IDS

import keras_bahdanau as kb
from keras_bahdanau import layers

ROOT = Path(__file__).parents[2]
NUMBER = {  # of fast layers per row; the others are slow
    "copied": 2,
    "image_grid": 1,
    "padding": 1,
    "saliency": 2,
    "scores": 1,
    "summary": 1,
}
CELLS = [
    pytest.param(name, kind, marks=[] if index < NUMBER.get(name, 0) else [pytest.mark.slow])
    for name in ROWS
    for index, kind in enumerate(KINDS)
]


@pytest.mark.parametrize(("name", "kind"), CELLS)
def test_keras_does_with_a_layer_what_it_does_with_its_own(name, kind, tmp_path):
    ROWS[name](kind, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_the_other_backends_do_the_same(backend, tmp_path):
    python = os.environ.get(f"KERAS_BAHDANAU_{backend.upper()}_PYTHON")
    python = python or ROOT / ".backends" / backend / "bin" / "python"
    if not Path(python).exists():
        pytest.skip(f"There is no environment for {backend}. Make it with `make backends`.")
    done = subprocess.run(
        [python, ROOT / "tests" / "support" / "keras_rows.py", tmp_path],
        env={
            **os.environ,
            "KERAS_BACKEND": backend,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "support"))),
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": "--xla_backend_optimization_level=0",
        },
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert json.loads(done.stdout) == {}


LOAD = """
import sys
import keras, keras_bahdanau, numpy
for path in sys.argv[2:]:
    model = keras.saving.load_model(path)
    numpy.save(path + ".npy", model.predict(numpy.load(sys.argv[1]), verbose=0))
"""


@pytest.mark.slow
def test_a_new_process_loads_models_that_are_quantized_or_not(tmp_path):
    expected = {}
    for index, kind in enumerate(KINDS):
        for mode in (None, "int8"):
            model = keras_rows.new_model(kind)
            quantize(model, mode)
            path = tmp_path / f"{index} {mode}.keras"
            model.save(path)
            expected[str(path)] = model(WIDE_IDS)
    np.save(tmp_path / "ids.npy", WIDE_IDS)
    command = [sys.executable, "-c", LOAD, tmp_path / "ids.npy", *expected]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    for path, logits in expected.items():
        np.testing.assert_allclose(np.load(f"{path}.npy"), logits, atol=1e-6)


def quantize(model, mode="int8"):
    if mode is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras warns about each layer that it skips
            model.quantize(mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["int4", "float8"])
@pytest.mark.parametrize("kind", [*KINDS][:4])
def test_other_modes_of_quantization_are_saved_too(mode, kind, tmp_path):
    model = keras_rows.new_model(kind)
    quantize(model, mode)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(IDS), model(IDS))


def test_a_filter_and_a_config_of_quantization_are_saved(tmp_path):
    model = keras_rows.new_model("BahdanauAttention")
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    model.quantize(config=config, filters="query_projection")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(IDS), model(IDS))
    score = next(layer for layer in loaded.layers if isinstance(layer, kb.BahdanauAttention)).score
    assert score.query_projection.quantization_mode == "int8"
    assert score.query_projection.inputs_quantizer is None
    assert score.key_projection.quantization_mode is None


@pytest.mark.slow
def test_cells_in_both_directions_are_quantized_and_loaded(tmp_path):
    rnn = keras.layers.RNN(layers.GRUCell(4), return_sequences=True)
    model = keras_rows.new_model("AttentionPooling", keras.layers.Bidirectional(rnn))
    quantize(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(IDS), model(IDS))


@pytest.mark.slow
def test_a_quantized_model_trains_the_weights_that_are_left():
    model = keras_rows.new_model("BahdanauAttention")
    quantize(model)
    keras_rows.compiled(model)
    history = model.fit(IDS, keras_rows.LABELS, epochs=3, verbose=0).history["loss"]
    assert history[-1] < history[0]


@pytest.mark.slow
def test_an_encoder_decoder_refuses_quantization_in_one_line():
    encoder = kb.Encoder(vocabulary_size=9, embedding_units=4, units=3)
    model = kb.Seq2Seq(encoder, kb.Decoder(9, 4, units=5, attention="bahdanau"))
    model((IDS, IDS))
    for part in (model, model.decoder):
        with pytest.raises(ValueError, match="int8.*export_litert") as error:
            part.quantize("int8")
        assert "\n" not in str(error.value)
    quantize(model.encoder)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # from the converter
@pytest.mark.parametrize("kind", KINDS)
def test_onnx_answers_the_same_for_each_batch_and_length(kind, tmp_path):
    pytest.importorskip("tf2onnx", reason="tf2onnx is in no extra of the package")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = keras_rows.new_model(kind)
    model(IDS)  # required by Keras' ONNX export
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (name,) = [node.name for node in session.get_inputs()]
    for ids in (IDS, WIDE_IDS[:2]):
        (logits,) = session.run(None, {name: ids})
        np.testing.assert_allclose(logits, model(ids), atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from the tuner
def test_keras_tuner_chooses_the_width_of_a_layer(tmp_path):
    tuners = pytest.importorskip("keras_tuner", reason="keras-tuner is in no extra of the package")

    def build(parameters):
        ids = keras.Input((None,), dtype="int32")
        words = keras.layers.Embedding(9, 6, mask_zero=True)(ids)
        units = parameters.Choice("units", [2, 5])
        pooled = kb.AttentionPooling(units, parameters.Choice("score", ["additive", "general"]))
        model = keras.Model(ids, keras.layers.Dense(3)(pooled(words)))
        return keras_rows.compiled(model)

    tuner = tuners.GridSearch(build, "loss", max_trials=3, directory=tmp_path, overwrite=True)
    tuner.search(IDS, keras_rows.LABELS, epochs=1, verbose=0)
    assert tuner.get_best_hyperparameters()[0].get("units") in (2, 5)
    assert tuner.get_best_models()[0](IDS).shape == (3, 3)


class Reader(keras.layers.Layer):
    """A user-defined layer that contains Keras' attention."""

    def __init__(self):
        super().__init__()
        self.attention = keras.layers.MultiHeadAttention(2, 3)
        self.supports_masking = True

    def build(self, shape):
        self.attention.build(shape, shape)

    def call(self, words):
        return self.attention(words, words)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [name for name in KINDS if KINDS[name].has_weights])
def test_padding_is_ignored_behind_the_attention_of_keras(kind):
    """`keras.layers.MultiHeadAttention` deletes the masks of its inputs, also inside a layer."""
    for reader in (Reader(), keras.layers.MultiHeadAttention(2, 3)):
        ids = keras.Input((None,), dtype="int32")
        words = keras.layers.Embedding(9, 6, mask_zero=True)(ids)
        read = reader(words) if isinstance(reader, Reader) else reader(words, words)
        layer = KINDS[kind].new()
        inputs = {
            keras_rows.attend: (words[:, 0], words),
            keras_rows.read: (words,),
            keras_rows.decode: (words, words),
        }[KINDS[kind].call]
        vector = layer(*inputs)
        vector = vector[:, 0] if len(vector.shape) == 3 else vector
        model = keras.Model(ids, keras.layers.Concatenate()([read[:, 0], vector]))
        keras_rows.assert_padding_is_ignored(model)


def test_a_mask_that_keras_has_deleted_can_be_given_again():
    embedding = keras.layers.Embedding(9, 6, mask_zero=True)
    words = embedding(IDS)
    keras.layers.MultiHeadAttention(2, 3)(words, words)
    mask = embedding.compute_mask(IDS)
    _, weights = kb.AttentionPooling(5)(words, mask=mask, return_attention_scores=True)
    assert not np.any(np.asarray(weights)[IDS == 0])
