"""Keras models as SavedModels: labels and sources in the graph, run by the server's C++ loader."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras_export_matrix import spread_weights as spread

import keras_bahdanau as kb
from keras_bahdanau.exporters import check, describe, run_in_clean_process

LABELS = ["bad", "good"]


def test_a_classifier_answers_its_label_with_its_probability(tmp_path):
    model = keras.Sequential(
        [keras.Input((None, 4), name="sample"), L.GRU(3), L.Dense(1, "sigmoid")]
    )
    path = kb.export_saved_model(spread(model), tmp_path / "mood", labels=LABELS)
    assert (path.name, check(path)) == ("1", [])
    assert "labels: bad, good" in describe(path)
    assert "max_batch_size { value: 1024 }" in (path / "batching_params.pbtxt").read_text()
    sample = np.random.default_rng(0).normal(size=(5, 7, 4)).astype("float32")
    (answer,) = run_in_clean_process(path, [("serving_default", {"sample": sample})])
    good = model(sample).numpy()[:, 0]
    assert answer["label"].tolist() == [b"good" if p > 0.5 else b"bad" for p in good]
    assert answer["probability"] == pytest.approx(np.maximum(good, 1 - good), abs=1e-6)
    assert answer["probabilities"][:, 1] == pytest.approx(good, abs=1e-6)


@pytest.mark.slow
def test_a_source_makes_a_model_read_text(toy_translator, tmp_path):
    source = toy_translator.source
    ids = keras.Input((None,), dtype="int32", name="source")
    vectors = L.Embedding(source.size, 4, mask_zero=True)(ids)
    logits = L.Dense(2)(
        kb.AttentionPooling(4)(L.Bidirectional(L.GRU(3, return_sequences=True))(vectors))
    )
    model = spread(keras.Model(ids, logits))
    path = kb.export_saved_model(model, tmp_path / "mood", source=source, labels=LABELS)
    assert check(path) == []
    texts = ["one two", "", "three", "one " * 2000]
    (answer,) = run_in_clean_process(path, [("serving_default", {"text": texts})])
    assert answer["truncated"].tolist() == [False, False, False, True]
    for row, text in enumerate(texts[:3]):
        logits = model(source.batch([text])).numpy()[0]
        expected = np.exp(logits) / np.exp(logits).sum()
        assert answer["probabilities"][row] == pytest.approx(expected, abs=1e-5)
        assert answer["label"][row] == LABELS[int(np.argmax(logits))].encode()


@pytest.mark.slow
def test_text_layers_of_keras_are_served(tmp_path):
    text = keras.Input((1,), dtype="string", name="text")
    words = L.TextVectorization(vocabulary=["one", "two"])(text)
    hidden = L.LSTM(3)(L.Embedding(9, 4, mask_zero=True)(words))
    model = spread(keras.Model(text, L.Dense(2, name="logits")(hidden)))
    path = kb.export_saved_model(model, tmp_path / "words")
    texts = np.array([[b"one two"], [b"two what"]], object)
    (answer,) = run_in_clean_process(path, [("serving_default", {"text": texts})])
    expected = model(keras.ops.convert_to_tensor([["one two"], ["two what"]])).numpy()
    assert [*answer.values()][0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_steps_are_a_signature_beside_the_model(tmp_path):
    model = keras.Sequential([keras.Input((None, 4), name="sample"), L.GRU(3), L.Dense(2)])
    signatures = ("serving_default", "step")
    path = kb.export_saved_model(spread(model), tmp_path / "gru", signatures=signatures)
    sample = np.random.default_rng(0).normal(size=(2, 1, 4)).astype("float32")
    state = f"{model.layers[0].name}_state_0"
    step = {"sample": sample[:, 0], state: np.zeros((2, 3), "float32")}
    whole, single = run_in_clean_process(
        path, [("serving_default", {"sample": sample}), ("step", step)]
    )
    for name, output in whole.items():
        assert single[name] == pytest.approx(output, abs=1e-6)


@pytest.mark.parametrize(
    ("activation", "settings", "message"),
    [
        ("relu", {"labels": LABELS}, "activation relu. Pass from_logits=False"),
        ("softmax", {"labels": ["a", "b", "c"]}, "3 labels for an output of width 2"),
        ("softmax", {"labels": [1, 2]}, "must be a list of strings"),
        ("softmax", {"max_batch_size": 0}, "`max_batch_size` must be"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, activation, settings, message):
    model = keras.Sequential([keras.Input((3,)), L.Dense(2, activation)])
    with pytest.raises(ValueError, match=message):
        kb.export_saved_model(model, tmp_path / "a", **settings)
    assert not [*tmp_path.iterdir()]
