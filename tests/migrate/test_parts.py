"""Migrated models work like other models, errors name missing parts, and the page is complete."""

import functools
import json
import re
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator, run_in_clean_process
from keras_bahdanau.migrate import SavedObjects, from_addons, from_tutorial

GOLDEN = Path(__file__).parents[1] / "golden" / "addons"
ENDINGS = (".index", ".data-00000-of-00001")
PAGE = Path(__file__).parents[2] / "docs" / "from_addons.md"
SOURCE = np.array([[3, 4, 5, 6], [7, 8, 0, 0], [0, 0, 0, 0]], "int32")
TARGET_IN = np.array([[1, 3, 4]] * 3, "int32")


def test_a_source_gives_the_same_logits_alone_and_padded_further():
    model = from_addons(GOLDEN / "luong_lstm")
    together = model((np.pad(SOURCE, ((0, 0), (0, 3))), TARGET_IN))
    for row, length in enumerate((4, 2)):
        alone = model((SOURCE[row : row + 1, :length], TARGET_IN[row : row + 1]))
        np.testing.assert_allclose(alone[0], together[row], atol=1e-6)
    assert np.isfinite(together).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("migrate", "name"), [(from_addons, "luong_lstm"), (from_tutorial, "tutorial_2019")]
)
def test_a_migrated_model_is_saved_and_loaded(migrate, name, tmp_path):
    model = migrate(GOLDEN / name)
    logits = model((SOURCE, TARGET_IN))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded((SOURCE, TARGET_IN)), logits)


@pytest.mark.slow
def test_a_migrated_model_trains_on():
    model = from_tutorial(GOLDEN / "tutorial_2019")
    model.compile(keras.optimizers.Adam(1e-2), kb.losses.TokenCrossentropy())
    target_out = np.array([[3, 4, 2]] * 3, "int32")
    losses = model.fit((SOURCE, TARGET_IN), target_out, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_an_object_has_each_of_its_names(tmp_path):
    inner, outer = tf.Module(), tf.Module()
    inner.kernel = tf.Variable([[1.0, 2.0]])
    outer.first = outer.second = inner
    tf.train.Checkpoint(long=outer, short=inner).write(str(tmp_path / "one"))
    saved = SavedObjects(tmp_path / "one")
    for path in ("short", "long/first", "long/second"):
        np.testing.assert_array_equal(saved.array(path, "kernel"), [[1.0, 2.0]])
    assert saved.variables() == {"short/kernel": (1, 2)}
    assert set(saved.paths_of("first", "second")) == {"long"}


def test_the_variables_of_an_optimizer_are_not_listed(tmp_path):
    model, optimizer = tf.Module(), tf.Module()
    model.kernel, optimizer._variables = tf.Variable([1.0, 2.0]), [tf.Variable(1.0)]
    optimizer._iterations = tf.Variable(5)
    tf.train.Checkpoint(a=optimizer, model=model).write(str(tmp_path / "one"))
    assert SavedObjects(tmp_path / "one.index").listed() == "model/kernel (2,)"


def test_a_directory_stands_for_its_latest_checkpoint(tmp_path):
    variable = tf.Variable(0.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=variable), tmp_path, 2)
    for value in (1.0, 2.0):
        variable.assign(value)
        manager.save()
    assert SavedObjects(tmp_path).array("", "v") == 2.0


@pytest.mark.parametrize(
    ("migrate", "name", "arguments", "message"),
    [
        (from_addons, "none", {}, "must have a file that ends in .index, .* Received: checkpoint="),
        (
            from_addons,
            "luong_lstm",
            {"encoder": "encoder/gru"},
            "must contain 'encoder/gru/cell/recurrent_kernel'. Received: .*"
            "with 'recurrent_kernel' at decoder/rnn_cell/_cell, encoder/lstm_layer/cell. Use",
        ),
        (
            from_addons,
            "tutorial_2019",
            {},
            r"'one AttentionWrapper'. .*decoder/attention/V/bias \(1,\).* use `from_tutorial`",
        ),
        (from_tutorial, "luong_lstm", {}, "must contain 'encoder/gru/cell/recurrent_kernel'"),
        (
            from_addons,
            "bahdanau_gru",
            {"bridge": "decoder/fc"},
            r"'decoder/fc/kernel' must have shape \(12, 8\).*Received: shape=\(9, 12\)",
        ),
        pytest.param(
            *(from_addons, "bahdanau_gru", {"bridge": "summary"}, "contain 'summary/kernel'"),
            marks=pytest.mark.slow,
        ),
        (
            from_addons,
            "bahdanau_gru",
            {"bridge": "bridge", "target_embedding": "decoder/embeddings"},
            "'decoder/embeddings/embeddings'. .* at decoder/embedding, encoder/embedding. Use the",
        ),
        (
            from_addons,
            "bahdanau_gru",
            {},
            "the same total width, 12. .*bridge='identity'.*cell='gru', units=8, depth=1",
        ),
        (
            from_addons,
            "normalized_reset_before",
            {},
            "LSTM only if it has one direction. Received: bridge='identity'",
        ),
        (from_addons, "luong_lstm", {"mode": "soft"}, "`mode` must be one of .*mode='soft'"),
        (from_addons, "luong_lstm", {"probability_fn": 1}, "`probability_fn` must be one of"),
        (from_addons, "luong_lstm", {"attention_activation": "x"}, "`attention_activation` must"),
    ],
)
def test_a_part_that_is_missing_or_does_not_fit_is_named(migrate, name, arguments, message):
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        migrate(GOLDEN / name, **arguments)


@pytest.mark.parametrize(
    ("layer", "shapes"),
    [
        ("_attention_mechanisms/0/memory_layer", r"\(12, 7\).* Received: shape=\(11, 7\)"),
        ("_attention_layers/0", r"\(20, 9\).* Received: shape=\(19, 9\)"),
    ],
)
def test_a_layer_of_narrower_values_is_refused(layer, shapes, monkeypatch):
    matrix = SavedObjects.matrix

    def cut(self, path, name):
        rows = matrix(self, path, name)
        return rows[:-1] if path.endswith(layer) else rows

    monkeypatch.setattr(SavedObjects, "matrix", cut)
    with pytest.raises(ValueError, match=f"{layer}/kernel' must have shape {shapes}"):
        from_addons(GOLDEN / "bahdanau_gru", bridge="bridge")


@pytest.mark.parametrize("damaged", ENDINGS)
def test_a_damaged_checkpoint_is_refused(damaged, tmp_path):
    for ending in ENDINGS:
        shutil.copy(GOLDEN / f"luong_lstm{ending}", tmp_path / f"cut{ending}")
    file = tmp_path / f"cut{damaged}"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(ValueError, match="complete and written by tf.train.Checkpoint.*Received"):
        from_addons(tmp_path / "cut")


def test_the_multi_head_attention_of_2022_is_refused(tmp_path):
    encoder, decoder = tf.Module(), tf.Module()
    decoder.attention = tf.Module()
    decoder.attention.mha = tf.Module()
    decoder.attention.mha.kernel = tf.Variable(1.0)
    tf.train.Checkpoint(encoder=encoder, decoder=decoder).write(str(tmp_path / "new"))
    with pytest.raises(ValueError, match="must be additive.*multi-head attention of 2022"):
        from_tutorial(tmp_path / "new")


def test_the_page_has_every_public_name_of_addons():
    page = PAGE.read_text(encoding="utf-8")
    names = json.loads((GOLDEN / "names.json").read_text(encoding="utf-8"))
    assert [name for name in names if f"\n| `{name}` |" not in page] == []


def test_every_name_of_the_page_exists():
    names = set(re.findall(r"\bkb\.([A-Za-z0-9_.]*[A-Za-z0-9])", PAGE.read_text(encoding="utf-8")))
    assert len(names) > 40
    for name in names:
        functools.reduce(getattr, name.split("."), kb)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("migrate", "name"), [(from_addons, "luong_lstm"), (from_tutorial, "tutorial_2019")]
)
def test_a_migrated_model_is_exported(migrate, name, tmp_path):
    subwords = kb.text.Subwords.train(["a b c d", "x y z v"], 12, model_type="word")
    search = kb.SearchOptions(beam_width=3, max_length=12)
    translator = kb.Translator(subwords, migrate(GOLDEN / name), subwords, search)
    texts = ["a b", "z", ""]
    kb.export_litert(
        translator,
        tmp_path / "m.tflite",
        max_source_length=8,
        max_target_length=12,
        sentences=texts,
    )
    on_device = OnDeviceTranslator(tmp_path / "m.tflite").translate(texts)
    kb.export_saved_model(translator, tmp_path / "served", texts)
    signature = ("translate_with_alignment", {"text": np.array(texts, dtype=object)})
    (served,) = run_in_clean_process(tmp_path / "served" / "1", [signature])
    for row, result in enumerate(translator.translate(texts)):
        assert on_device[row].text == served["translation"][row].decode() == result.text
        np.testing.assert_allclose(served["score"][row], result.score, atol=1e-5)
