"""The output layer fused with its loss matches NumPy and the loss of the logits."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from decoders import new_decoder
from numpy.testing import assert_allclose

from keras_bahdanau.layers import BahdanauAttention
from keras_bahdanau.models import Encoder, Seq2Seq
from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy
from keras_bahdanau.models.metrics import Perplexity
from keras_bahdanau.models.output_loss import output_loss

BATCH, TIME, UNITS, VOCABULARY = 3, 5, 4, 11


def given(tied, bias):
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=(VOCABULARY, UNITS) if tied else (UNITS, VOCABULARY))
    return (
        rng.normal(size=(1, BATCH, TIME, UNITS)),
        kernel,
        rng.normal(size=VOCABULARY) if bias else None,
        rng.integers(0, VOCABULARY, (BATCH, TIME)),
        rng.choice([0.0, 0.5, 1.0], (BATCH, TIME)),
    )


def expected(read, kernel, bias, targets, weights, smoothing, tied):
    """Return total, negative log-probabilities, gradients of read, kernel and bias, in float64."""
    kernel = kernel.T if tied else kernel
    log_probs = reference.log_softmax(read[0] @ kernel + (0 if bias is None else bias))
    wanted = (1 - smoothing) * np.eye(VOCABULARY)[targets] + smoothing / VOCABULARY
    slopes = weights[..., None] * (np.exp(log_probs) - wanted)
    of_kernel = np.einsum("btu,btv->uv", read[0], slopes)
    return (
        -np.sum(weights[..., None] * wanted * log_probs),
        -np.take_along_axis(log_probs, targets[..., None], axis=-1)[..., 0],
        (slopes @ kernel.T)[None],
        of_kernel.T if tied else of_kernel,
        None if bias is None else slopes.sum((0, 1)),
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(("tied", "bias"), [(False, True), (False, False), (True, False)])
@pytest.mark.parametrize(
    ("smoothing", "at_a_time"), [(0.0, VOCABULARY), (0.2, 4 * VOCABULARY), (0.2, 10**6)]
)
def test_loss_and_gradients_are_those_of_the_equation(
    run, monkeypatch, smoothing, tied, bias, at_a_time
):
    monkeypatch.setattr("keras_bahdanau.models.output_loss.LOGITS_AT_A_TIME", at_a_time)
    monkeypatch.setattr("keras_bahdanau.models.output_loss.FEWEST_ROWS", 1)
    arguments = given(tied, bias)
    results = run(*gradients_of(arguments, tied, bias, smoothing))
    check(results, expected(*arguments, smoothing, tied))


def gradients_of(arguments, tied, bias, smoothing, r_drop=0.0):
    """Return a function and its arguments.

    The function returns loss, log-probabilities, and gradients of 3 times the loss.
    """
    watched = [tf.constant(one.astype("float32")) for one in arguments[: 2 + bias]]

    def forward_and_back(*watched):
        watched = [
            tf.ensure_shape(one, like.shape) for one, like in zip(watched, arguments, strict=False)
        ]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            read, kernel, *rest = watched
            one = output_loss(
                read, kernel, rest[0] if rest else None, tied, *arguments[3:], smoothing, r_drop
            )
            trebled = 3 * one.total
        return *one, *tape.gradient(trebled, watched)

    return forward_and_back, *watched


def check(results, expected):
    total, negative, *gradients = expected
    assert_allclose(results[0], total, rtol=1e-5)
    assert_allclose(results[1], negative, rtol=1e-4, atol=1e-5)
    for one, other in zip(results[2:], gradients, strict=False):
        assert_allclose(one, 3 * other, rtol=1e-4, atol=1e-5)


def expected_of_two_passes(read, kernel, bias, targets, weights, smoothing, tied, r_drop):
    """Return total, mean negative log-probabilities, and gradients of two passes, in float64."""
    passes = np.split(read, 2)  # each is (1, batch, time, units)
    each = [expected(one, kernel, bias, targets, weights, smoothing, tied) for one in passes]
    total, negative, *of_weights = (
        None if pair[0] is None else (pair[0] + pair[1]) / 2 for pair in zip(*each, strict=True)
    )
    logits = [
        one[0] @ (kernel.T if tied else kernel) + (0 if bias is None else bias) for one in passes
    ]
    log_p, log_q = map(reference.log_softmax, logits)
    p, q = np.exp(log_p), np.exp(log_q)
    kl = [np.sum(p * (log_p - log_q), -1), np.sum(q * (log_q - log_p), -1)]
    total = total + r_drop / 4 * np.sum(weights * (kl[0] + kl[1]))
    # d KL(p || q) / d logits is p (log p - log q - KL) for those of p, and q - p for those of q
    slopes = [
        r_drop
        / 4
        * weights[..., None]
        * (one * (log_one - log_other - apart[..., None]) + one - other)
        for one, other, log_one, log_other, apart in (
            (p, q, log_p, log_q, kl[0]),
            (q, p, log_q, log_p, kl[1]),
        )
    ]
    of_read = [
        half[2] / 2 + slope @ (kernel if tied else kernel.T)
        for half, slope in zip(each, slopes, strict=True)
    ]
    of_kernel = sum(
        np.einsum("btu,btv->uv", one[0], slope) for one, slope in zip(passes, slopes, strict=True)
    )
    return (
        total,
        negative,
        np.concatenate(of_read),
        of_weights[1] + (of_kernel.T if tied else of_kernel),
        None if bias is None else of_weights[2] + sum(slope.sum((0, 1)) for slope in slopes),
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(("tied", "bias"), [(False, True), (True, False)])
@pytest.mark.parametrize("at_a_time", [VOCABULARY, 6 * VOCABULARY, 10**6])
def test_loss_and_gradients_of_two_passes_are_those_of_the_equation(
    run, monkeypatch, at_a_time, tied, bias
):
    monkeypatch.setattr("keras_bahdanau.models.output_loss.LOGITS_AT_A_TIME", at_a_time)
    monkeypatch.setattr("keras_bahdanau.models.output_loss.FEWEST_ROWS", 1)
    read, *others = given(tied, bias)
    second = np.random.default_rng(3).normal(size=read.shape)
    arguments = [np.concatenate([read, second]), *others]
    results = run(*gradients_of(arguments, tied, bias, smoothing=0.2, r_drop=3.0))
    check(results, expected_of_two_passes(*arguments, 0.2, tied, 3.0))


class FromLogits(TokenCrossentropy):
    """A loss that, like Keras losses, needs the logits."""

    sums_tokens = False


class SentencesFromLogits(SentenceCrossentropy):
    """A loss of sentences that needs the logits."""

    sums_tokens = False


def new_model(loss, tie=False, dropout=0.0, **options):
    keras.utils.set_random_seed(1)
    model = Seq2Seq(
        Encoder(VOCABULARY, 4, 3, dropout=dropout),
        new_decoder(VOCABULARY, 4, 6, BahdanauAttention(5), tie_embeddings=tie, dropout=dropout),
        guided_alignment=options.pop("guided_alignment", 0.0),
        r_drop=options.pop("r_drop", 0.0),
    )
    model.build()
    model.compile("sgd", loss, weighted_metrics=[Perplexity()], run_eagerly=True, **options)
    return model


def batch():
    rng = np.random.default_rng(2)
    source, target_in, target_out = rng.integers(1, VOCABULARY, (3, 4, TIME))
    weights = (np.arange(TIME) < np.array([[5], [3], [1], [0]])).astype("float32")
    return (source, target_in), target_out, weights


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("tie", [False, True])
@pytest.mark.parametrize(
    ("fused", "plain"),
    [
        (TokenCrossentropy(0.1), FromLogits(0.1)),
        (SentenceCrossentropy(), SentencesFromLogits()),
    ],
)
def test_training_is_the_same_as_from_logits(fused, plain, tie):
    models = [new_model(loss, tie) for loss in (fused, plain)]
    logs = [
        [model.train_on_batch(*batch(), return_dict=True) for _ in range(3)] for model in models
    ]
    for one, other in zip(*logs, strict=True):
        assert one.keys() == other.keys()
        assert_allclose([*one.values()], [*other.values()], rtol=1e-5)
    for one, other in zip(*(model.get_weights() for model in models), strict=True):
        assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
def test_added_losses_count_as_ever():
    x, y, weights = batch()
    links = np.eye(TIME, dtype="float32")[None].repeat(4, axis=0)
    logs = [
        new_model(loss, guided_alignment=0.5).train_on_batch((*x, links), y, weights)
        for loss in (TokenCrossentropy(0.1), FromLogits(0.1))
    ]
    assert_allclose(*logs, rtol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy(0.1), SentenceCrossentropy(), FromLogits(0.1)])
@pytest.mark.slow
def test_two_passes_without_dropout_are_one(loss):
    x, y, weights = batch()
    links = np.eye(TIME, dtype="float32")[None].repeat(4, axis=0)
    logs = [
        new_model(loss, r_drop=r_drop, guided_alignment=0.5).train_on_batch((*x, links), y, weights)
        for r_drop in (0.0, 5.0)
    ]
    assert_allclose(*logs, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy(), FromLogits()])
def test_two_passes_count_by_how_far_they_are_apart(loss):
    losses = [
        new_model(loss, dropout=0.5, r_drop=r_drop).train_on_batch(*batch())[0]
        for r_drop in (1.0, 2.0, 3.0)
    ]
    first, second = np.diff(losses)
    assert first > 0.01
    assert_allclose(first, second, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "losses",
    [
        (TokenCrossentropy(0.1), FromLogits(0.1)),
        (SentenceCrossentropy(), SentencesFromLogits()),
    ],
)
def test_two_passes_train_the_same_as_from_logits(losses):
    models = [new_model(loss, dropout=0.5, r_drop=2.0) for loss in losses]
    logs = [[model.train_on_batch(*batch())[0] for _ in range(3)] for model in models]
    assert_allclose(*logs, rtol=1e-5)
    for one, other in zip(*(model.get_weights() for model in models), strict=True):
        assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
def test_another_reduction_is_that_of_the_logits():
    logs = [
        new_model(loss).train_on_batch(*batch())[0]
        for loss in (TokenCrossentropy(reduction="sum"), FromLogits(reduction="sum"))
    ]
    assert_allclose(*logs, rtol=1e-5)
    assert logs[0] > 2 * new_model(TokenCrossentropy()).train_on_batch(*batch())[0]


def test_a_metric_that_asks_for_the_logits_gets_them():
    models = [new_model(loss) for loss in (TokenCrossentropy(), FromLogits())]
    logs = []
    for model in models:
        accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
        metrics = [Perplexity(), accuracy]
        model.compile("sgd", model.loss, weighted_metrics=metrics, run_eagerly=True)
        logs.append(model.train_on_batch(*batch(), return_dict=True))
    assert logs[0].keys() == {"loss", "perplexity", "accuracy"}
    assert_allclose([*logs[0].values()], [*logs[1].values()], rtol=1e-5)
