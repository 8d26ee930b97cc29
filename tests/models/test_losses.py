"""The losses match their definitions."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf

from keras_bahdanau.models.losses import (
    GuidedAlignment,
    SentenceCrossentropy,
    TokenCrossentropy,
    guided_alignment,
)
from keras_bahdanau.models.r_drop import divergence

RANDOM = np.random.default_rng(10)
LOGITS = RANDOM.normal(size=(2, 3, 5)).astype("float32")
TARGET = np.array([[4, 1, 3], [2, 0, 0]], "int32")
WEIGHTS = np.array([[1, 1, 1], [1, 0, 0]], "float32")


def expected(smoothing):
    """Return the loss of each token."""
    return np.array(
        [
            [reference.token_loss(TARGET[row, t], LOGITS[row, t], smoothing) for t in range(3)]
            for row in range(2)
        ]
    )


@pytest.mark.parametrize("smoothing", [0, 0.1, 0.9])
def test_each_token_has_the_loss_of_the_definition(run, smoothing):
    loss = TokenCrossentropy(smoothing, reduction=None)
    np.testing.assert_allclose(run(loss, TARGET, LOGITS), expected(smoothing), atol=1e-5)


def test_the_mean_of_sentences_is_of_their_sums(run):
    found = run(SentenceCrossentropy(), TARGET, LOGITS, WEIGHTS)
    np.testing.assert_allclose(found, np.sum(expected(0) * WEIGHTS) / 2, rtol=1e-5)
    found = run(SentenceCrossentropy(), TARGET, LOGITS)
    np.testing.assert_allclose(found, np.sum(expected(0)) / 2, rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_the_mean_is_over_real_tokens(run, smoothing):
    found = run(TokenCrossentropy(smoothing), TARGET, LOGITS, WEIGHTS)
    mean = (expected(smoothing) * WEIGHTS).sum() / WEIGHTS.sum()
    np.testing.assert_allclose(found, mean, atol=1e-5)


def test_what_stands_at_padding_means_nothing(run):
    changed = np.where(WEIGHTS[..., None] > 0, LOGITS, 1e4).astype("float32")
    loss = TokenCrossentropy(0.1)
    found = run(loss, TARGET, changed, WEIGHTS)
    np.testing.assert_allclose(found, run(loss, TARGET, LOGITS, WEIGHTS), atol=1e-6)


def test_smoothing_by_hand(run):
    """For two equally likely tokens, the loss is log 2 with any smoothing."""
    loss = TokenCrossentropy(0.3)
    assert run(loss, np.array([[1]]), np.zeros((1, 1, 2), "f")) == pytest.approx(np.log(2))


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_logits_of_lower_precision_are_summed_in_float32(run, dtype):
    logits = tf.cast(LOGITS, dtype)
    found = run(TokenCrossentropy(0.1), TARGET, logits)
    exact = run(TokenCrossentropy(0.1), TARGET, tf.cast(logits, "float32"))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, exact)


def test_its_gradient_is_probability_less_target(run):
    loss = TokenCrossentropy(0.1, reduction="sum")

    def gradient(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            total = loss(TARGET, logits)
        return tape.gradient(total, logits)

    target = 0.9 * np.eye(5)[TARGET] + 0.1 / 5
    np.testing.assert_allclose(run(gradient, LOGITS), reference.softmax(LOGITS) - target, atol=1e-5)


def test_its_config_round_trips():
    loss = TokenCrossentropy(0.2, reduction="sum", name="smooth")
    written = keras.saving.serialize_keras_object(loss)
    read = keras.saving.deserialize_keras_object(written)
    assert isinstance(read, TokenCrossentropy) and read.get_config() == loss.get_config()


@pytest.mark.parametrize("smoothing", [1, -0.1, float("nan")])
def test_smoothing_must_be_a_share(smoothing):
    with pytest.raises(ValueError, match=r"`label_smoothing`.* in \[0, 1\). Received: .*="):
        TokenCrossentropy(smoothing)


# Two sentences: the first and third tokens of one have links; the other has none.
GIVEN = np.array(
    [[[1, 0, 0], [0, 0, 0], [0, 0.5, 0.5]], [[0, 0, 0]] * 3],
    "float32",
)
ALPHA = np.array(
    [[[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.5, 0.125, 0.375]], [[1, 0, 0]] * 3],
    "float32",
)
ROWS = np.array([-np.log(0.5), -(np.log(0.125) + np.log(0.375)) / 2])


def test_guided_alignment_is_the_mean_over_rows_with_links(run):
    np.testing.assert_allclose(run(guided_alignment, GIVEN, ALPHA), ROWS.mean(), rtol=1e-6)
    np.testing.assert_allclose(run(GuidedAlignment(), GIVEN, ALPHA), ROWS.mean(), rtol=1e-6)


def test_guided_alignment_counts_rows_by_their_weights(run):
    weight = np.array([[3, 7, 1], [1, 1, 0]], "float32")
    found = run(GuidedAlignment(), GIVEN, ALPHA, weight)
    np.testing.assert_allclose(found, (3 * ROWS[0] + ROWS[1]) / 4, rtol=1e-6)


def test_guided_alignment_without_any_link_is_zero(run):
    assert run(guided_alignment, np.zeros_like(GIVEN), ALPHA) == 0
    assert run(guided_alignment, np.zeros((2, 0, 3), "float32"), np.zeros((2, 0, 3))) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_gradient_of_guided_alignment_is_that_of_its_definition(jit_compile):
    """This includes weights that are exactly zero, with and without a link."""
    given = np.array([[[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]], "float32")
    alpha = tf.constant([[[0.8, 0.0, 0.2], [0.5, 0.5, 0.0]]])

    @tf.function(jit_compile=jit_compile)
    def gradient(alpha):
        with tf.GradientTape() as tape:
            tape.watch(alpha)
            loss = guided_alignment(given, alpha)
        return loss, tape.gradient(loss, alpha)

    loss, found = gradient(alpha)
    expected = (-0.5 * np.log(0.8) - 0.5 * np.log(1e-7) - np.log(0.5)) / 2
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    expected = np.array([[[-0.5 / 0.8, 0, 0], [0, -1 / 0.5, 0]]]) / 2
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_guided_alignment_is_float32_whatever_the_weights_are(dtype):
    loss = guided_alignment(tf.constant(GIVEN), tf.cast(ALPHA, dtype))
    assert loss.dtype == "float32"
    np.testing.assert_allclose(loss, ROWS.mean(), rtol=1e-6)  # the weights are exact in both dtypes


def test_guided_alignment_is_saved_without_custom_objects():
    loss = GuidedAlignment(name="links")
    written = keras.saving.serialize_keras_object(loss)
    read = keras.saving.deserialize_keras_object(written)
    assert isinstance(read, GuidedAlignment) and read.get_config() == loss.get_config()


def test_divergence_is_the_mean_of_both_kullback_leibler_divergences(run):
    others = RANDOM.normal(size=LOGITS.shape).astype("float32")
    log_p, log_q = reference.log_softmax(LOGITS), reference.log_softmax(others)
    there = (np.exp(log_p) * (log_p - log_q)).sum(-1)
    back = (np.exp(log_q) * (log_q - log_p)).sum(-1)
    np.testing.assert_allclose(run(divergence, LOGITS, others), (there + back) / 2, rtol=1e-5)
    np.testing.assert_allclose(run(divergence, LOGITS, LOGITS), 0, atol=1e-7)
