"""Attention layers from Keras 2 packages and tutorials give the same outputs after migration.

tests/golden/attention_layers/make.py writes their weights in a separate environment.
"""

import functools
import json
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau import migrate

GOLDEN = Path(__file__).parents[1] / "golden" / "attention_layers"
PAGE = Path(__file__).parents[2] / "docs" / "from_other_packages.md"


def golden(package):
    return json.loads((GOLDEN / f"{package}.json").read_text(encoding="utf-8"))


def arrays(values):
    return [np.array(value, "float32") for value in values]


TENSORS = {name: np.array(value, "float32") for name, value in golden("tensors").items()}
INPUTS, MASK = TENSORS["inputs"], TENSORS["mask"].astype("bool")
TRIPLE = [TENSORS[name] for name in ("query", "value", "key")]  # in the order of Keras
PACKAGES = {name: golden(name) for name in ("attention", "keras_self_attention", "tutorials")}
ADDITIVE = golden("attention_keras")["additive"]
POOLINGS = ["weighted", "weighted_no_bias"]
DOTS = ["scaled_dot", "scaled_dot_history", "scaled_dot_masked"]
SELF_ATTENTIONS = [
    name for name, case in PACKAGES["keras_self_attention"].items() if "arguments" in case
]


def assert_same(outputs, expected, rows=slice(None)):
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    for output, array in zip(outputs, arrays(expected), strict=True):
        np.testing.assert_allclose(np.asarray(output)[rows], array[rows], atol=1e-6)


def pooled(layer, mask=None):
    """Return the outputs and attention weights of a layer or model from a sequence to a vector."""
    if isinstance(layer, keras.Model):
        weights = kb.attention_weights(layer, INPUTS)["attention"]
        return layer(INPUTS, mask=mask), weights
    return layer(INPUTS, mask=mask, return_attention_scores=True)


@pytest.mark.parametrize("score", ["luong", "bahdanau"])
def test_a_vector_of_the_package_attention_is_the_same(score):
    case = PACKAGES["attention"][score]
    model = migrate.attention_vector(arrays(case["weights"]))
    assert_same(model(INPUTS), case["outputs"])
    named = {"luong": kb.layers.LuongAttention, "bahdanau": kb.BahdanauAttention}
    assert type(model.get_layer("attention")) is named[score]


def test_a_whole_model_answers_as_before_from_its_old_file(tmp_path):
    expected = PACKAGES["attention"]["model"]
    vector = migrate.attention_vector(
        migrate.layer_weights(GOLDEN / "model.h5", "attention_weight")
    )
    model = keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            keras.layers.Embedding(10, 4, name="embedding"),
            keras.layers.LSTM(3, return_sequences=True, name="lstm"),
            vector,
            keras.layers.Dense(2, activation="softmax", name="dense"),
        ]
    )
    model.load_weights(GOLDEN / "model.h5", by_name=True)
    model.save(tmp_path / "new.keras")
    for new in (model, keras.models.load_model(tmp_path / "new.keras")):
        assert_same(new(np.array(expected["inputs"])), expected["outputs"])


@pytest.mark.parametrize("name", SELF_ATTENTIONS)
def test_self_attention_of_the_package_keras_self_attention_is_the_same(name):
    case = PACKAGES["keras_self_attention"][name]
    arguments = {**case["arguments"], "return_attention": True}
    for argument in ("use_additive_bias", "use_attention_bias", "attention_type"):
        arguments.pop(argument, None)  # inferred from the shapes
    model = migrate.self_attention(arrays(case["weights"]), **arguments)
    assert_same(model(INPUTS), case["outputs"])


def test_a_padded_row_is_what_the_old_self_attention_gave_for_it_alone():
    case = PACKAGES["keras_self_attention"]["masked"]
    model = migrate.self_attention(arrays(case["weights"]), return_attention=True)
    context, weights = model(INPUTS, mask=MASK)
    assert_same([context, weights], case["outputs"], rows=slice(1))  # the row without padding
    assert_same([context[1:, :4], weights[1:, :4, :4]], case["alone"])
    assert not np.asarray(weights)[1, :, 4:].any()
    padding = np.array(case["outputs"][1])[1, :4, 4:]
    assert padding.min() > 0.05  # the old layer attended to padding


@pytest.mark.parametrize("name", [*POOLINGS, "weighted_masked"])
def test_weighted_attention_of_the_package_keras_self_attention_is_the_same(name):
    case = PACKAGES["keras_self_attention"][name]
    pooling = migrate.attention_pooling(arrays(case["weights"]), activation=None)
    assert_same(pooled(pooling, MASK if name == "weighted_masked" else None), case["outputs"])


@pytest.mark.parametrize("name", DOTS)
def test_scaled_dot_product_attention_is_the_same(name):
    inputs = [INPUTS, INPUTS, INPUTS] if name == "scaled_dot_history" else TRIPLE
    outputs = kb.layers.Attention("scaled-dot")(
        inputs,
        use_causal_mask=name == "scaled_dot_history",
        value_mask=MASK if name == "scaled_dot_masked" else None,
        return_attention_scores=True,
    )
    assert_same(outputs, PACKAGES["keras_self_attention"][name]["outputs"])


def test_residual_attention_is_three_lines():
    query, value, key = TRIPLE
    scores = kb.layers.SCORES.get("scaled-dot")(query, key) + TENSORS["previous"]
    weights = kb.layers.masked_softmax(scores, MASK[:, None])
    outputs = [ops.matmul(weights, value), scores, weights]
    assert_same(outputs, PACKAGES["keras_self_attention"]["residual"]["outputs"])


def test_the_layer_of_attention_keras_is_the_same_in_the_other_order():
    attention = migrate.additive_attention(arrays(ADDITIVE["weights"]))
    decoder, encoder = TENSORS["query"], TENSORS["value"]
    assert_same(attention(decoder, encoder, return_attention_scores=True), ADDITIVE["outputs"])


@pytest.mark.parametrize("name", PACKAGES["tutorials"])
def test_a_layer_written_by_hand_is_the_same(name):
    case = PACKAGES["tutorials"][name]
    activation = None if name == "linear" else "tanh"
    layer = migrate.attention_pooling(arrays(case["weights"]), activation)
    assert_same(pooled(layer), case["outputs"])
    flat = [array.reshape(-1) for array in arrays(case["weights"])]
    if name.startswith("column"):  # W `(d,)` and b `(time,)`
        assert_same(pooled(migrate.attention_pooling(flat)), case["outputs"])
    assert isinstance(layer, keras.Model) == (name == "column_of_each_step")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sigmoid", "width_4", "history_2", "multiplicative_tanh"])
def test_a_migrated_model_is_saved_loaded_and_trained(name, tmp_path):
    case = PACKAGES["keras_self_attention"][name]
    arguments = {**case["arguments"]}
    arguments.pop("attention_type", None)
    model = keras.Sequential(
        [
            keras.Input((None, 3)),
            keras.layers.Masking(),
            migrate.self_attention(arrays(case["weights"]), **arguments),
            kb.AttentionPooling(4),
        ]
    )
    padded = np.pad(INPUTS, ((0, 0), (0, 2), (0, 0)))
    np.testing.assert_allclose(model(padded), model(INPUTS), atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(padded), model(padded))
    loaded.compile("adam", "mse")
    before = [weight.numpy() for weight in loaded.trainable_weights]
    loaded.fit(padded, np.ones((2, 3)), verbose=0)
    assert any(
        not np.array_equal(old, new)
        for old, new in zip(before, loaded.trainable_weights, strict=True)
    )


def test_a_bias_for_each_step_is_saved_too(tmp_path):
    model = migrate.attention_pooling(
        arrays(PACKAGES["tutorials"]["column_of_each_step"]["weights"])
    )
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(INPUTS), model(INPUTS))


def zeros(*shapes):
    return [np.zeros(shape) for shape in shapes]


@pytest.mark.parametrize(
    ("function", "weights", "arguments", "message"),
    [
        (migrate.attention_pooling, [], {}, "1 to 3 vectors and matrices. Received: weights of"),
        (migrate.attention_pooling, zeros((3, 4)), {}, r"must be W, b and u .*shapes \(3, 4\)"),
        (migrate.attention_pooling, zeros((3, 4), 4, 4), {"activation": None}, "W, b and u"),
        (migrate.attention_pooling, zeros((3, 4), 5, 4), {}, r"'b' must have shape \(4,\)"),
        (migrate.attention_pooling, zeros((3, 1)), {"activation": "relu"}, "`activation` must be"),
        (migrate.attention_vector, zeros((3, 3)), {}, "2 to 4 vectors and matrices"),
        (migrate.attention_vector, zeros((3, 3), (5, 4)), {}, "must be W and W_c, or v"),
        (migrate.attention_vector, zeros((3, 3), (6, 4), 1, 1), {}, "W and W_c, or v"),
        (migrate.additive_attention, zeros((3, 3)), {}, "3 to 3 vectors"),
        (migrate.additive_attention, zeros((3, 3), (4, 2), (3, 1)), {}, "'W' must have shape"),
        (migrate.self_attention, zeros((3, 4), (3, 4)), {}, "W_t, W_x, b_h, W_a and b_a"),
        (migrate.self_attention, zeros((3, 3)), {"attention_width": 0}, "`attention_width`.*=0"),
        (migrate.self_attention, zeros((3, 3)), {"attention_activation": "x"}, "must be one of"),
    ],
)
def test_arrays_of_another_layer_are_refused(function, weights, arguments, message):
    with pytest.raises(ValueError, match=message) as error:
        function(weights, **arguments)
    assert "\n" not in str(error.value)


def test_a_file_without_the_layer_and_another_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match="layer='attn'. The file has attention_weight, dense, emb"):
        migrate.layer_weights(GOLDEN / "model.h5", "attn")
    with pytest.raises(FileNotFoundError, match="Received: path="):
        migrate.layer_weights(tmp_path / "none.h5", "attention")
    content = (GOLDEN / "model.h5").read_bytes()
    for cut in (b"", b"text", content[: len(content) // 2]):
        (tmp_path / "cut.h5").write_bytes(cut)
        with pytest.raises(ValueError, match="a complete HDF5 file of Keras 2. Received") as error:
            migrate.layer_weights(tmp_path / "cut.h5", "dense")
        assert "\n" not in str(error.value)


def test_every_name_of_the_page_exists():
    names = set(re.findall(r"\bkb\.([A-Za-z0-9_.]*[A-Za-z0-9])", PAGE.read_text(encoding="utf-8")))
    assert len(names) > 10
    for name in names:
        functools.reduce(getattr, name.split("."), kb)
