"""The CTC loss matches the sum over all paths, also as a part of a model's loss."""

import itertools

import keras
import numpy as np
import pytest
import reference
import reference_ctc
import tensorflow as tf
from decoders import new_decoder
from modes import eager, graph, xla
from numpy.testing import assert_allclose, assert_array_equal

from keras_bahdanau.layers import BahdanauAttention
from keras_bahdanau.models import Encoder, Seq2Seq
from keras_bahdanau.models.ctc_loss import ctc_loss
from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy

TIME, VOCABULARY = 5, 4


def all_labels(longest):
    """Return every text of up to `longest` labels, as tuples and as a right-padded array."""
    rows = [
        text
        for length in range(longest + 1)
        for text in itertools.product(range(1, VOCABULARY), repeat=length)
    ]
    return rows, np.array([text + (0,) * (longest - len(text)) for text in rows], "int32")


@pytest.mark.few(2)
@pytest.mark.parametrize("run", [eager, graph, xla])
@pytest.mark.parametrize("real", [TIME, 3, 1, 0])
def test_it_is_the_sum_over_all_paths(run, real):
    texts, labels = all_labels(3)
    logits = np.random.default_rng(real).normal(size=(TIME, VOCABULARY)).astype("float32")
    mask = np.arange(TIME) < real
    found = run(
        ctc_loss,
        np.repeat(logits[None], len(texts), axis=0),
        np.repeat(mask[None], len(texts), axis=0),
        labels,
    )
    by_text = reference_ctc.texts(reference.softmax(logits[:real].astype(float)))
    # 0 for texts without a path
    expected = [-np.log(by_text[text]) if by_text[text] else 0.0 for text in texts]
    assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert np.count_nonzero(found) == np.count_nonzero(expected)
    assert np.any(found) == (real > 0)


def test_its_gradient_is_that_of_the_sum_over_all_paths():
    texts, labels = all_labels(3)
    logits = np.random.default_rng(1).normal(size=(1, TIME, VOCABULARY))
    variable = tf.Variable(logits.astype("float32"))
    with tf.GradientTape() as tape:
        repeated = tf.repeat(variable, len(texts), axis=0)
        loss = tf.reduce_sum(ctc_loss(repeated, tf.ones(repeated.shape[:2], bool), labels))
    expected = np.zeros_like(logits)

    def total(logits):
        by_text = reference_ctc.texts(reference.softmax(logits[0]))
        return -sum(np.log(by_text[text]) for text in texts if by_text[text])

    for place in np.ndindex(*logits.shape):
        step = np.zeros_like(logits)
        step[place] = 1e-5
        expected[place] = (total(logits + step) - total(logits - step)) / 2e-5
    assert_allclose(tape.gradient(loss, variable), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_it_and_its_gradient_are_finite(scale, dtype):
    random = np.random.default_rng(0)
    logits = tf.cast(scale * random.normal(size=(5, 40, 6)), dtype)
    lengths = np.array([[40], [5], [4], [1], [0]])
    labels = np.array(
        [[1] * 20 + [0], [1] * 21, [2, 1, 1, 3] + 17 * [0], 21 * [0], 21 * [0]], "int32"
    )
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = ctc_loss(logits, np.arange(40) < lengths, labels)
    gradient = tape.gradient(loss, logits)
    assert loss.dtype == tf.float32
    assert np.isfinite(loss).all() and np.isfinite(tf.cast(gradient, tf.float32)).all()
    none = [1, 2, 4]  # too short for their labels; equal neighbours need a blank between them
    assert_array_equal(tf.gather(loss, none), 0)
    assert_array_equal(tf.cast(tf.gather(gradient, none), tf.float32), 0)
    if scale == 1.0:
        assert (loss.numpy()[[0, 3]] > 1).all()


def test_padding_of_source_and_target_changes_nothing():
    random = np.random.default_rng(3)
    logits = random.normal(size=(1, 7, VOCABULARY)).astype("float32")
    labels = np.array([[2, 2, 1]], "int32")
    alone = ctc_loss(logits[:, :6], np.ones((1, 6), bool), labels)
    logits[0, 6] = 1e5
    padded = ctc_loss(logits, np.arange(7)[None] < 6, np.pad(labels, [(0, 0), (0, 2)]))
    assert_allclose(padded, alone, rtol=1e-6)


END = 3
SOURCE = np.array([[4, 5, 4, 5, 3], [4, 3, 0, 0, 0], [5, 5, 5, 3, 0]], "int32")
TARGET = np.array([[5, 5, END, 0], [4, 5, 6, END], [END, 0, 0, 0]], "int32")  # 2nd: too long
WEIGHT = (TARGET > 0).astype("float32")
INPUTS = SOURCE, np.pad(TARGET[:, :-1], [(0, 0), (1, 0)], constant_values=2)


def new(loss=None, ctc_weight=0.25, policy="float32", run_eagerly=True, **options):
    keras.utils.set_random_seed(1)
    model = Seq2Seq(
        Encoder(7, 4, 3, dtype=policy),
        new_decoder(7, 4, 6, BahdanauAttention(5, dtype=policy), dtype=policy),
        ctc_weight=ctc_weight,
        dtype=policy,
        **options,
    )
    model.build()
    if loss is not None:
        model.compile("sgd", loss, run_eagerly=run_eagerly)
    return model


def expected_loss(model, sentences):
    """Return (1 - w) * attention loss + w * CTC loss, computed from their definitions."""
    log_probs = tf.nn.log_softmax(model(INPUTS)).numpy().astype(float)
    chosen = np.take_along_axis(log_probs, TARGET[..., None], axis=-1)[..., 0]
    attention = -np.sum(chosen[TARGET > 0])
    values = model.encoder(SOURCE).values.numpy().astype(float)
    kernel, bias = (variable.numpy() for variable in model.ctc_layer.weights)
    ctc = 0
    for row, target, source in zip(values, TARGET, SOURCE, strict=True):
        labels = tuple(target[(target > 0) & (target != END)].tolist())
        probs = reference.softmax(row[source > 0] @ kernel + bias)
        probability = reference_ctc.texts(probs)[labels]
        ctc -= np.log(probability) if probability else 0
    units = 3 if sentences else np.count_nonzero(TARGET)
    weight = model.ctc_weight
    return ((1 - weight) * attention + weight * ctc) / units


@pytest.mark.few(1)
@pytest.mark.parametrize("r_drop", [0.0, 1.0])  # without dropout, both passes agree
@pytest.mark.parametrize("loss", [TokenCrossentropy(), SentenceCrossentropy()])
def test_the_loss_is_the_share_of_each(loss, r_drop):
    model = new(loss, r_drop=r_drop)
    found = model.compute_loss(INPUTS, TARGET, model(INPUTS, training=True), WEIGHT)
    expected = expected_loss(model, isinstance(loss, SentenceCrossentropy))
    assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_a_loss_of_keras_gets_the_same_share():
    model = new(
        keras.losses.SparseCategoricalCrossentropy(True, reduction="mean_with_sample_weight")
    )
    found = model.compute_loss(INPUTS, TARGET, model(INPUTS, training=True), WEIGHT)
    assert_allclose(found, expected_loss(model, sentences=False), rtol=1e-5)


@pytest.mark.slow
def test_a_regularizer_counts_once_and_whole():
    plain, model = (new(TokenCrossentropy()) for _ in range(2))
    model.ctc_layer.kernel.regularizer = keras.regularizers.L2(0.5)
    one, other = (
        each.compute_loss(INPUTS, TARGET, each(INPUTS, training=True), WEIGHT)
        for each in (model, plain)
    )
    assert_allclose(one - other, 0.5 * np.sum(np.square(model.ctc_layer.kernel)), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_training_learns_the_alignment(policy):
    model = new(policy=policy, ctc_weight=0.9)
    model.compile(keras.optimizers.Adam(0.1), TokenCrossentropy(), run_eagerly=True)
    history = model.fit(INPUTS, TARGET, sample_weight=WEIGHT, epochs=6, verbose=0).history["loss"]
    assert np.isfinite(history).all() and history[-1] < 0.8 * history[0]


def test_without_it_there_is_no_layer_and_nothing_to_carry():
    model = new(ctc_weight=0.0)
    assert model.ctc_layer is None and not [v for v in model.variables if "ctc" in v.path]
    output = model(INPUTS, training=True)
    assert (output.ctc_logits, output.mask) == ((), ())


@pytest.mark.slow
def test_inference_is_that_of_the_model_without_it():
    model, plain = new(), new(ctc_weight=0.0)
    plain.set_weights(model.get_weights()[: len(plain.weights)])
    assert_array_equal(model(INPUTS), plain(INPUTS))


@pytest.mark.slow
def test_it_is_saved(tmp_path):
    model = new()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.ctc_weight == 0.25
    one, other = (each.encode(SOURCE).ctc_log_probs for each in (model, loaded))
    assert_array_equal(one, other)


@pytest.mark.few(2)
@pytest.mark.parametrize("value", [-0.1, 1.1, True, "a", float("nan")])
def test_its_weight_is_a_share(value):
    with pytest.raises(ValueError, match=r"`ctc_weight`, .* must be in \[0, 1\]. Received: ctc_we"):
        new(ctc_weight=value)


def test_logits_are_refused_in_training():
    model = new(TokenCrossentropy())
    with pytest.raises(ValueError, match="`ctc_weight` needs the `TrainingOutput`"):
        model.compute_loss(INPUTS, TARGET, model(INPUTS), WEIGHT)
