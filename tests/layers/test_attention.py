"""BahdanauAttention matches its equations, ignores padding, and works in every precision."""

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from modes import eager_is_slow

from keras_bahdanau.layers import BahdanauAttention, Memory, ProjectedMemory

RANDOM = np.random.default_rng(2)
LENGTHS = (4, 2, 1)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
QUERIES = RANDOM.normal(size=(3, 2, 5)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
POLICIES = ["float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16"]


def built(units=7, **kwargs):
    attention = BahdanauAttention(units, **kwargs)
    attention.build(QUERIES.shape, VALUES.shape)
    return extract.randomize(attention)


def both(attention):
    """Return a function of (query, values, mask) that returns context and weights."""
    return lambda query, values, mask: attention(
        query, values, mask=mask, return_attention_scores=True
    )


def oracle(attention, step):
    """Yield context and padded weights for a step's query, computed row by row without padding."""
    for row, length in enumerate(LENGTHS):
        context, weights = reference.attention(
            QUERIES[row, step], VALUES[row, :length], extract.attention(attention)
        )
        yield context, np.pad(weights, (0, 4 - length))


@pytest.mark.parametrize("step", [0, 1])
def test_one_query_is_answered_as_in_the_paper(run, step):
    attention = built()
    contexts, weights = run(both(attention), QUERIES[:, step], VALUES, MASK)
    for row, expected in enumerate(oracle(attention, step)):
        np.testing.assert_allclose(contexts[row], expected[0], atol=1e-5)
        np.testing.assert_allclose(weights[row], expected[1], atol=1e-5)


def test_all_queries_at_once_equal_one_after_the_other(run):
    attention = built()
    contexts, weights = run(both(attention), QUERIES, VALUES, MASK)
    for step in range(2):
        context, one = run(both(attention), QUERIES[:, step], VALUES, MASK)
        np.testing.assert_allclose(contexts[:, step], context, atol=1e-6)
        np.testing.assert_allclose(weights[:, step], one, atol=1e-6)


@pytest.mark.parametrize("query", [QUERIES, QUERIES[:, 0]], ids=["3-D", "2-D"])
def test_padding_gets_zero_weight_and_rows_sum_to_one(run, query):
    _, weights = run(both(built()), query, VALUES, MASK)
    assert weights.dtype == np.float32
    weights = weights.reshape(3, -1, 4)
    np.testing.assert_array_equal(weights[~np.broadcast_to(MASK[:, None], weights.shape)], 0)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)


def test_without_a_mask_every_value_counts(run):
    attention = built()
    function = both(attention)
    masked = run(function, QUERIES, VALUES, np.ones((3, 4), bool))
    unmasked = run(lambda query, values: function(query, values, None), QUERIES, VALUES)
    np.testing.assert_allclose(unmasked[0], masked[0], atol=1e-6)
    np.testing.assert_allclose(unmasked[1], masked[1], atol=1e-6)


@pytest.mark.few(3)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("query", [QUERIES, QUERIES[:, 0]], ids=["3-D", "2-D"])
def test_a_sentence_of_padding_alone_gets_nothing_and_finite_gradients(policy, query):
    attention = built(dtype=policy)
    mask = tf.constant(MASK & [[True], [False], [True]])
    query, values = tf.constant(query), tf.constant(VALUES)
    with tf.GradientTape() as tape:
        tape.watch([query, values])
        context, weights = attention(query, values, mask=mask, return_attention_scores=True)
        loss = tf.reduce_sum(tf.cast(context, "float32")) + tf.reduce_sum(weights**2)
    assert not np.any(context[1]) and not np.any(weights[1])
    assert context.dtype == attention.compute_dtype and weights.dtype == "float32"
    gradients = tape.gradient(loss, [query, values, *attention.trainable_variables])
    assert all(np.all(np.isfinite(tf.cast(gradient, "float32"))) for gradient in gradients)
    assert not np.any(gradients[0][1]) and not np.any(gradients[1][1])


def test_what_stands_at_padding_means_nothing(run):
    attention = built()
    garbage = np.where(MASK[..., None], VALUES, 1e4).astype("float32")
    expected = run(both(attention), QUERIES, VALUES, MASK)
    found = run(both(attention), QUERIES, garbage, MASK)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@eager_is_slow
def test_a_sentence_is_answered_alone_as_in_a_batch_padded_further(run):
    attention = built()
    wide = np.pad(VALUES, ((0, 0), (0, 5), (0, 0)), constant_values=3.0)
    contexts, weights = run(both(attention), QUERIES, wide, np.pad(MASK, ((0, 0), (0, 5))))
    for row, length in enumerate(LENGTHS):
        alone = slice(row, row + 1)
        context, weight = run(
            both(attention), QUERIES[alone], VALUES[alone, :length], MASK[alone, :length]
        )
        np.testing.assert_allclose(contexts[alone], context, atol=1e-6)
        np.testing.assert_allclose(weights[alone, :, :length], weight, atol=1e-6)


def test_a_mask_with_gaps_leaves_out_exactly_those_places(run):
    attention = built()
    mask = np.array([[True, False, False, True]])
    context, weights = run(both(attention), QUERIES[:1], VALUES[:1], mask)
    expected = run(both(attention), QUERIES[:1], VALUES[:1, [0, 3]], mask[:, [0, 3]])
    np.testing.assert_allclose(context, expected[0], atol=1e-6)
    np.testing.assert_allclose(weights[..., [0, 3]], expected[1], atol=1e-6)


def test_gradients_are_those_of_finite_differences():
    attention = built()
    query, values = tf.constant(QUERIES), tf.constant(VALUES)

    def loss(query):
        return tf.reduce_sum(attention(query, values, mask=MASK) ** 2)

    _, numeric = tf.test.compute_gradient(loss, [query], delta=1e-2)
    with tf.GradientTape() as tape:
        tape.watch(query)
        found = loss(query)
    gradient = tape.gradient(found, query)
    np.testing.assert_allclose(numeric[0].reshape(gradient.shape), gradient, atol=5e-3)


def test_the_context_is_made_of_fewer_weights_in_training_only(run):
    # values are one-hot vectors of their positions, so that a context shows its weights
    values = np.zeros_like(VALUES)
    values[:, range(4), range(4)] = 1
    attention = built(dropout=0.5)
    plain = run(both(built()), QUERIES, values, MASK)
    for found, expected in zip(run(both(attention), QUERIES, values, MASK), plain, strict=True):
        np.testing.assert_array_equal(found, expected)

    def trained(query, values, mask):
        return attention(query, values, mask=mask, return_attention_scores=True, training=True)

    context, weights = run(trained, np.repeat(QUERIES, 50, axis=1), values, MASK)
    expected = np.repeat(plain[1], 50, axis=1)
    np.testing.assert_allclose(weights, expected, rtol=1e-5)
    kept = context[..., :4]
    dropped = kept == 0
    assert 0.4 < np.mean(dropped[expected > 0]) < 0.6
    np.testing.assert_allclose(kept[~dropped], 2 * expected[~dropped], rtol=1e-5)


def test_a_prepared_memory_gives_what_the_call_gives(run):
    attention = built()

    def attend(query, values, mask):
        memory = Memory(values, mask, summary=(), last=(), task=())
        prepared = ProjectedMemory(memory, attention.prepare(memory))
        return attention.attend(query, prepared, attention.initial_state(memory))[:2]

    expected = run(both(attention), QUERIES, VALUES, MASK)
    found = run(attend, QUERIES, VALUES, MASK)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_it_stands_in_a_functional_model(tmp_path):
    inputs = [keras.Input((None, 5)), keras.Input((None, 6)), keras.Input((None,), dtype="bool")]
    query, values, mask = inputs
    attention = BahdanauAttention(7, dtype="mixed_float16")
    outputs = attention(query, values, mask=mask, return_attention_scores=True)
    assert [(output.shape, output.dtype) for output in outputs] == [
        ((None, None, 6), "float16"),
        ((None, None, None), "float32"),
    ]
    model = keras.Model(inputs, outputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    batch = [QUERIES, VALUES, MASK]
    for found, expected in zip(loaded(batch), model(batch), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("units", [0, 2.0, None, True])
def test_units_must_be_a_positive_integer(units):
    with pytest.raises(ValueError, match=r"`units`.*positive integer. Received: units="):
        BahdanauAttention(units)


@pytest.mark.parametrize("dropout", [1, -0.1, "half", None, True, float("nan")])
def test_dropout_must_be_a_share(dropout):
    with pytest.raises(ValueError, match=r"`dropout`.*in \[0, 1\). Received: dropout="):
        BahdanauAttention(3, dropout=dropout)


def test_integers_are_attended_to_as_floats_are():
    values = np.arange(2 * 5 * 16).reshape(2, 5, 16)
    query = np.ones((2, 8))
    attention = BahdanauAttention(8)
    expected = attention(query.astype("float32"), values.astype("float32"))
    for dtype in ("int32", "int64", "uint8"):
        np.testing.assert_array_equal(attention(query, values.astype(dtype)), expected)


def test_no_number_at_padding_reaches_the_context():
    values = RANDOM.normal(size=(2, 4, 3)).astype("float32")
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], bool)
    query, attention = np.ones((2, 3), "float32"), BahdanauAttention(8)
    expected = attention(query, values, mask)
    spoilt = np.where(mask[..., None], values, np.nan).astype("float32")
    np.testing.assert_array_equal(attention(query, spoilt, mask), expected)


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 4), (3, 5), (5,)])
def test_a_mask_that_is_not_of_the_values_is_refused(shape):
    values, query = np.ones((2, 5, 3), "float32"), np.ones((2, 3, 3), "float32")
    with pytest.raises(ValueError, match=r"`mask` must be \(batch, source_time\)"):
        BahdanauAttention(8)(query, values, mask=np.ones(shape, bool))
    symbols = [keras.Input(one.shape[1:]) for one in (query, values)]
    if len(shape) == 3:
        with pytest.raises(ValueError, match="`mask` must be"):
            BahdanauAttention(8)(*symbols, mask=keras.Input(shape[1:], dtype="bool"))


def test_a_mask_of_one_row_is_that_of_all():
    values, query = RANDOM.normal(size=(2, 5, 3)), np.ones((2, 3))
    attention, mask = BahdanauAttention(8), np.array([[1, 1, 1, 0, 0]], bool)
    found = attention(query, values, mask=mask)
    np.testing.assert_array_equal(found, attention(query, values, mask=mask.repeat(2, axis=0)))
