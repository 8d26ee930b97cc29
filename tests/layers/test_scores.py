"""Every score matches its equation, in every shape, precision and runtime."""

from collections.abc import Callable
from typing import NamedTuple

import extract
import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import ops

from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.registry import SCORES

RANDOM = np.random.default_rng(1)
BATCH, QUERIES, PLACES, UNITS = 3, 2, 4, 5
POLICIES = ["float16", "bfloat16", "mixed_float16", "mixed_bfloat16"]
FAR = -1e6


def floats(*shape):
    return RANDOM.normal(size=shape).astype("float32")


QUERY = floats(BATCH, QUERIES, UNITS)
VALUES = {width: floats(BATCH, PLACES, width) for width in (UNITS, 6)}


class Row(NamedTuple):
    """How to test a score.

    Attributes:
        oracle: Function (s, h, j, added, *arrays) -> e_ij for a query and the value at position
            j. `added`, such as location features, is added to the key.
        options: Arguments of `SCORES` other than the name and the units.
        config: Its own arguments, as they appear in its config.
        values_units: Width of its values.
    """

    oracle: Callable
    options: dict = {}
    config: dict = {}
    values_units: int = 6

    @property
    def values(self):
        return VALUES[self.values_units]

    def features(self, score):
        shape = (BATCH, QUERIES, PLACES, score.key_units)
        return np.random.default_rng(2).normal(size=shape).astype("float32")


def additive(s, h, j, added, v, W, U):
    return v[:, 0] @ np.tanh(W.T @ s + U.T @ h + added)


def concat(s, h, j, added, v, W_s, W_h):
    W = np.concatenate([W_s, W_h]).T
    return v[:, 0] @ np.tanh(W @ np.concatenate([s, h]) + added)


def pair(s, h, j, added, w_s, w_h, b):
    w = np.concatenate([w_s, w_h])[:, 0]
    return w @ np.concatenate([s, h]) + b[0] + added[0]


def dot(s, h, j, added):
    return s @ (h + added)


def general(s, h, j, added, W):
    return s @ (W.T @ h + added)


def cosine(s, h, j, added, log_temperature, W):
    key = W.T @ h + added
    return s @ key / np.linalg.norm(s) / np.linalg.norm(key) / np.exp(log_temperature)


def location(s, h, j, added, W):
    return s @ (W[j] + added) if j < len(W) else s @ added + FAR


TABLE = {
    "additive": Row(additive, config={"units": 7}),
    "concat": Row(concat, config={"units": 7}),
    "cosine": Row(cosine, {"temperature": 0.5}, {"temperature": 0.5}),
    "dot": Row(dot, values_units=UNITS),
    "general": Row(general),
    "location": Row(location, {"positions": 3}, {"positions": 3}),
    "pair": Row(pair, config={"activation": None}),
    "pair-tanh": Row(lambda *args: np.tanh(pair(*args)), config={"activation": "tanh"}),
    "scaled-dot": Row(lambda *args: dot(*args) / np.sqrt(UNITS), values_units=UNITS),
}
every_score = pytest.mark.parametrize("name", TABLE)


def new(kind, **kwargs):
    return SCORES.get(kind, units=7, **TABLE[kind].options, **kwargs)


def built(name, **kwargs):
    """Return a score with random weights, and its row."""
    row = TABLE[name]
    score = new(name, **kwargs)
    score.build(QUERY.shape, row.values.shape)
    return extract.randomize(score), row


def expected(score, row, added=None):
    """Return the scores `(batch, n, source_time)`, computed one at a time."""
    weights = extract.arrays(score)
    if added is None:
        added = np.zeros((BATCH, QUERIES, PLACES, score.key_units))
    queries, values = QUERY.astype("float64"), row.values.astype("float64")
    found = np.empty((BATCH, QUERIES, PLACES))
    for b, i, j in np.ndindex(found.shape):
        found[b, i, j] = row.oracle(queries[b, i], values[b, j], j, added[b, i, j], *weights)
    return found


def test_the_table_has_every_score():
    assert sorted(TABLE) == sorted(SCORES)


@every_score
def test_scores_of_many_queries_are_those_of_the_equation(name, run):
    score, row = built(name)
    found = run(score, QUERY, row.values)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, expected(score, row), rtol=1e-5, atol=1e-5)


@every_score
def test_scores_of_one_query_are_those_of_the_equation(name, run):
    score, row = built(name)
    found = run(score, QUERY[:, 1], row.values)
    np.testing.assert_allclose(found, expected(score, row)[:, 1], rtol=1e-5, atol=1e-5)


@every_score
def test_keys_may_differ_from_query_to_query(name, run):
    score, row = built(name)
    features = row.features(score)

    def with_features(query, values, features):
        keys = ops.expand_dims(score.project(values), axis=1) + features
        return score.compare(query, keys)

    found = run(with_features, QUERY, row.values, features)
    np.testing.assert_allclose(found, expected(score, row, features), rtol=1e-5, atol=1e-5)


@every_score
def test_keys_have_the_width_that_the_score_tells(name, run):
    score, row = built(name)
    assert run(score.project, row.values).shape == (BATCH, PLACES, score.key_units)


@pytest.mark.few(9)
@every_score
@pytest.mark.parametrize("policy", POLICIES)
def test_scores_are_summed_in_float32(name, policy):
    exact, row = built(name)
    found = built(name, dtype=policy)[0](QUERY, row.values)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(found, exact(QUERY, row.values), rtol=0.02, atol=0.1)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_product_that_a_half_cannot_hold_is_exact(policy):
    ones = np.ones((1, 1, 301), "float32")
    dot = SCORES.get("dot", dtype=policy)
    np.testing.assert_array_equal(dot(256 * ones, ones), [[[256 * 301]]])


def gradients_of(score, compare):
    """Return a function of (query, values) that returns gradients for both and for each weight."""

    def function(query, values):
        with tf.GradientTape() as tape:
            tape.watch([query, values])
            total = ops.sum(ops.sin(compare(query, score.project(values))))
        sources = [query, values, *(weight.value for weight in score.trainable_weights)]
        return tape.gradient(total, sources, unconnected_gradients="zero")

    return function


@pytest.mark.few(5)
@every_score
def test_gradients_reach_every_weight(name, run):
    score, row = built(name)
    _, _, *gradients = run(gradients_of(score, score.compare), QUERY, row.values)
    assert len(gradients) == len(score.weights)
    for gradient in gradients:
        assert np.isfinite(gradient).all() and gradient.any()


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("additive", "dot") else pytest.mark.slow)
        for name in SCORES
    ],
)
def test_a_compiled_loop_over_queries_has_the_same_gradients(name):
    score, row = built(name)

    def one_by_one(query, values_keys):
        like = ops.zeros(ops.shape(values_keys)[:2])
        return scan(lambda keys, q: (score.compare(q, keys), keys), values_keys, query, like)

    looped = tf.function(
        gradients_of(score, one_by_one),
        jit_compile=True,
        input_signature=[
            tf.TensorSpec((None, None, UNITS)),
            tf.TensorSpec((None, None, row.values_units)),
        ],
    )
    at_once = gradients_of(score, score.compare)
    inputs = tf.constant(QUERY), tf.constant(row.values)
    for found, wanted in zip(looped(*inputs), at_once(*inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.few(1)
@every_score
def test_a_phone_gives_the_same_scores_with_built_in_operations(name):
    score, row = built(name)
    inputs = {"query": QUERY[:1], "values": row.values[:1]}
    specs = {name: tf.TensorSpec(array.shape, name=name) for name, array in inputs.items()}
    traced = tf.function(lambda **inputs: score(**inputs)).get_concrete_function(**specs)
    holder = tf.Module()
    holder.kept = traced.variables  # otherwise, the file has no signature
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced], holder)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    runner = Interpreter(model_content=converter.convert()).get_signature_runner()
    (found,) = runner(**inputs).values()
    np.testing.assert_allclose(found, score(**inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.few(3)
@every_score
def test_a_saved_score_is_the_same(name, tmp_path):
    row = TABLE[name]
    query, values = keras.Input((None, UNITS)), keras.Input((None, row.values_units))
    score = new(name, name="score")
    found = score(query, values)
    assert found.shape == (None, None, None) and found.dtype == "float32"
    model = extract.randomize(keras.Model([query, values], found))
    model.save(tmp_path / "score.keras")
    loaded = keras.models.load_model(tmp_path / "score.keras")
    inputs = [QUERY, row.values]
    np.testing.assert_array_equal(loaded(inputs), model(inputs))
    assert type(loaded.get_layer("score")) is type(score)


@every_score
def test_a_config_gives_the_score_back(name):
    row = TABLE[name]
    score = new(name, dtype="mixed_bfloat16")
    config = score.get_config()
    assert {key: config[key] for key in row.config} == row.config
    assert type(score).from_config(config).get_config() == config


def test_a_bias_is_added_inside_of_the_tanh(run):
    score = SCORES.get("additive", units=7, use_bias=True)
    score.build(QUERY.shape, VALUES[6].shape)
    v, W, U, b = extract.arrays(extract.randomize(score))
    # (batch, n, 1, units) and (batch, 1, source_time, units)
    hidden = np.tanh((QUERY @ W)[:, :, None] + (VALUES[6] @ U + b)[:, None])
    np.testing.assert_allclose(run(score, QUERY, VALUES[6]), (hidden @ v)[..., 0], atol=1e-5)
    assert type(score).from_config(score.get_config()).use_bias


@pytest.mark.parametrize("name", ["concat", "pair"])
def test_a_kernel_stored_in_two_blocks_starts_as_one(name):
    score = SCORES.get(name, units=300)
    score.build((None, 100), (None, None, 200))
    limit = np.sqrt(6 / (100 + 200 + score.key_units))  # Glorot and Bengio 2010, whole kernel
    for block in (score.query_projection.kernel, score.key_projection.kernel):
        assert 0.95 * limit < np.abs(block).max() <= np.float32(limit)
    shorter = min(np.size(score.query_projection.kernel), np.size(score.key_projection.kernel))
    blocks = np.ravel(score.query_projection.kernel), np.ravel(score.key_projection.kernel)
    assert not np.array_equal(*(block[:shorter] for block in blocks))


@pytest.mark.parametrize("zero", ["query", "values"])
def test_the_cosine_of_nothing_is_zero_with_finite_gradients(zero, run):
    score, row = built("cosine")
    query = QUERY * (zero != "query")
    values = row.values * (zero != "values")
    np.testing.assert_array_equal(run(score, query, values), np.zeros((BATCH, QUERIES, PLACES)))
    for gradient in run(gradients_of(score, score.compare), query, values):
        assert np.isfinite(gradient).all()


def test_the_temperature_starts_as_given_and_bounds_the_scores():
    score = SCORES.get("cosine", temperature=0.25)
    same = np.ones((1, 1, 2), "float32")
    score.build(same.shape, same.shape)
    score.key_projection.set_weights([np.eye(2)])
    np.testing.assert_allclose(score(same, 100 * same), [[[4.0]]], rtol=1e-6)


def test_places_beyond_the_last_position_get_no_weight(run):
    score, row = built("location")
    weights = run(lambda *inputs: ops.softmax(score(*inputs)), QUERY, row.values)
    np.testing.assert_array_equal(weights[..., 3:], 0)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-6)


def test_location_scores_do_not_depend_on_the_values():
    score, row = built("location")
    np.testing.assert_array_equal(score(QUERY, row.values), score(QUERY, 0 * row.values))


@pytest.mark.parametrize("name", ["dot", "scaled-dot"])
def test_a_dot_product_of_two_widths_names_both_and_the_mend(name):
    with pytest.raises(ValueError, match=r"query width=5, values width=6\. Use .*\"general\""):
        SCORES.get(name)(QUERY, VALUES[6])


@pytest.mark.parametrize("units", [0, -1, 1.5, "4", True, None])
@pytest.mark.parametrize("name", ["additive", "concat"])
def test_units_must_be_a_positive_integer(name, units):
    with pytest.raises(ValueError, match=r"`units`.*positive integer. Received: units="):
        SCORES.get(name, units)


@pytest.mark.parametrize("temperature", [0, -1, float("inf"), float("nan"), "1", True, None])
def test_a_temperature_must_be_a_positive_number(temperature):
    with pytest.raises(ValueError, match=r"`temperature`.*positive.*Received: temperature="):
        SCORES.get("cosine", temperature=temperature)


def test_positions_must_be_a_positive_integer():
    with pytest.raises(ValueError, match=r"`positions`.*positive integer. Received: positions=0"):
        SCORES.get("location", positions=0)


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match=r"`activation` must be .*Received: activation='relu'"):
        SCORES.get("pair", activation="relu")


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"`score` must be one of 'additive', .*score='dott'"):
        SCORES.get("dott", 256)
