"""Training of hard attention: its estimator against the exact gradient, and what it learns."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers import ATTENTIONS, ConvolutionalReader, Hard
from keras_bahdanau.layers.normalizers.normalizer import Drawn, Normalizer
from keras_bahdanau.models import Decoder, Encoder, Seq2Seq
from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy
from keras_bahdanau.models.reinforcement import Reinforcement

VOCABULARY, PLACES, STEPS = 6, 3, 2
SOURCE = np.array([[1, 4, 2]], "int32")
TARGET_IN, TARGET = np.array([[2, 5]], "int32"), np.array([[5, 3]], "int32")
ENTROPY = 0.3


class Enumerated(Normalizer):
    """In row n of a batch the n-th of all sequences of places, each as probable as it is."""

    draws = True

    def initial_state(self, memory):
        zeros = tf.zeros(PLACES**STEPS)
        return tf.zeros(PLACES**STEPS, "int32"), Drawn(zeros, zeros)

    def drawn(self, state):
        return state[1]

    def align(self, scores, allowed, state, training=None):
        sequences = tf.constant([*itertools.product(range(PLACES), repeat=STEPS)])
        place = tf.one_hot(tf.gather(sequences, state[0], batch_dims=1), PLACES)
        logs = tf.nn.log_softmax(scores)
        entropy = -tf.reduce_sum(tf.exp(logs) * logs, axis=-1)
        return place, (state[0] + 1, Drawn(tf.reduce_sum(place * logs, axis=-1), entropy))


def new(normalizer, loss=None, seed=4, **options):
    keras.utils.set_random_seed(seed)
    attention = ATTENTIONS.get("additive", units=4, normalizer=normalizer)
    model = Seq2Seq(
        Encoder(VOCABULARY, 3, 2),
        Decoder(VOCABULARY, 3, 4, attention, **options),
    )
    model.build()
    random = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(random.normal(0, 0.9, variable.shape))
    model.compile("sgd", loss or SentenceCrossentropy(), run_eagerly=True)
    return model


def inputs(rows):
    return np.repeat(SOURCE, rows, axis=0), np.repeat(TARGET_IN, rows, axis=0)


def flat(gradients):
    return np.concatenate([np.ravel(tf.convert_to_tensor(one)) for one in gradients])


def exact_gradient():
    """Of sum_s p(s) (-log p(y|s)), less lambda_e times the entropy's own, expected."""
    model, rows = new(Enumerated()), PLACES**STEPS
    with tf.GradientTape() as tape:
        output = model(inputs(rows), training=True)
        logs = tf.nn.log_softmax(model.logits(output))
        negative = -tf.reduce_sum(tf.gather(logs, np.repeat(TARGET, rows, 0), batch_dims=2), 1)
        chance = tf.exp(tf.reduce_sum(output.drawn.log_prob[0], axis=1))
        entropy = tf.reduce_sum(output.drawn.entropy[0], axis=1)
        loss = tf.reduce_sum(chance * negative)
        loss -= ENTROPY * tf.reduce_sum(tf.stop_gradient(chance) * entropy)
    np.testing.assert_allclose(tf.reduce_sum(chance), 1, atol=1e-5)
    return flat(tape.gradient(loss, model.trainable_variables))


def estimates(model, batches, rows):
    """Gradients of batches `(batches, weights)`, as `fit` would take them."""
    x, y = inputs(rows), np.repeat(TARGET, rows, axis=0)

    @tf.function(autograph=False)
    def estimate():
        with tf.GradientTape() as tape:
            loss = model.compute_loss(y=y, y_pred=model(x, training=True))
        return tape.gradient(loss, model.trainable_variables)

    return np.stack([flat(estimate()) for _ in range(batches)])


def errors(found, exact):
    """(distance of the mean from the exact gradient, standard error of that mean)."""
    deviation = np.sqrt(np.sum(np.var(found, axis=0, ddof=1)) / len(found))
    return np.linalg.norm(found.mean(axis=0) - exact), deviation


@pytest.mark.slow
def test_the_estimator_is_the_exact_gradient_in_expectation():
    exact = exact_gradient()
    model = new(Hard(expected=0.0, entropy=ENTROPY))
    distance, error = errors(estimates(model, 20, 1500), exact)
    assert distance < 2 * error < 0.1 * np.linalg.norm(exact)


@pytest.mark.slow
def test_without_the_score_function_it_is_another_gradient():
    model = new(Hard(expected=0.0, entropy=ENTROPY))
    model.reinforcement.call = lambda drawn, *others: -ENTROPY * tf.reduce_sum(drawn.entropy)
    distance, error = errors(estimates(model, 5, 1500), exact_gradient())
    assert distance > 10 * error


@pytest.mark.slow
def test_the_baseline_makes_the_variance_smaller():
    plain, based = (new(Hard(expected=0.0)) for _ in range(2))
    plain.reinforcement._baseline = lambda *args: 0.0
    spreads = [np.sum(np.var(estimates(one, 80, 10)[20:], axis=0)) for one in (plain, based)]
    assert spreads[1] < 0.7 * spreads[0]


def gradient_of_once(model):
    with tf.GradientTape() as tape:
        output = model(inputs(20), training=True)
        loss = model.compute_loss(y=np.repeat(TARGET, 20, axis=0), y_pred=output)
    return flat(tape.gradient(loss, model.trainable_variables))


def test_its_terms_are_those_of_the_definition():
    rng = np.random.default_rng(5)
    log_prob, entropy = rng.normal(size=(2, 2, 3, 4))
    negative, weight = rng.random((3, 4)), np.float64(np.arange(4) < [[4], [2], [0]]) * 1.5
    layer = Reinforcement()
    layer.build()
    layer.sums.assign([-6.0, 4.0])
    b, rewards = -1.5, np.zeros((3, 4))
    for i, k in itertools.product(range(4), repeat=2):
        rewards[:, i] += (k >= i) * weight[:, k] * (-negative[:, k] - b)
    variable = tf.Variable(np.float32(log_prob))
    with tf.GradientTape() as tape:
        drawn = Drawn(tf.convert_to_tensor(variable), np.float32(entropy))
        total = layer(drawn, np.float32(negative), np.float32(weight))
    np.testing.assert_allclose(total, -np.sum(weight * entropy.mean(axis=0)), rtol=1e-4)
    gradient = tape.gradient(total, variable)
    np.testing.assert_allclose(gradient, -np.stack([rewards] * 2), atol=1e-5)
    assert not np.any(gradient[:, 2]) and not np.any(gradient[:, 1, 2:]), "padding has no reward"
    moved = [-0.9 * 6 - 0.1 * np.sum(weight * negative), 0.9 * 4 + 0.1 * np.sum(weight)]
    np.testing.assert_allclose(layer.sums, moved, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_loss_from_logits_learns_as_the_own_loss_does(smoothing):
    class FromLogits(TokenCrossentropy):
        sums_tokens = False

    found = []
    for loss in (TokenCrossentropy, FromLogits):
        model = new("hard", loss(smoothing))
        keras.utils.set_random_seed(3)
        found.append(gradient_of_once(model))
    np.testing.assert_allclose(*found, atol=1e-5)


def test_the_loss_of_a_training_is_the_cross_entropy():
    model = new(Hard(expected=0.0, entropy=0.0))
    output = model(inputs(5), training=True)
    loss = model.compute_loss(y=np.repeat(TARGET, 5, axis=0), y_pred=output)
    expected = SentenceCrossentropy()(np.repeat(TARGET, 5, axis=0), model.logits(output))
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_a_search_and_a_validation_draw_nothing():
    model = new("hard")
    _, weights = model(inputs(4), return_attention_scores=True)
    np.testing.assert_array_equal(np.sort(weights, axis=-1)[..., -1], 1)
    np.testing.assert_array_equal(np.sum(weights, axis=-1), 1)
    before = model.reinforcement.sums.numpy()
    losses = [model.test_on_batch(inputs(2), np.repeat(TARGET, 2, axis=0)) for _ in range(2)]
    assert losses[0] == losses[1]
    np.testing.assert_array_equal(model.reinforcement.sums, before)


def test_logits_alone_teach_it_nothing_and_are_refused():
    model = new("hard")
    with pytest.raises(ValueError, match="hard attention, .* must get the `TrainingOutput`"):
        model.compute_loss(y=TARGET, y_pred=model(inputs(1)))


def test_other_attentions_have_no_baseline():
    model = new("softmax")
    assert model.reinforcement is None
    assert not [one.path for one in model.weights if "reinforcement" in one.path]


def test_its_baseline_is_saved_with_it(tmp_path):
    model = new("hard")
    model.train_on_batch(inputs(2), np.repeat(TARGET, 2, axis=0))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.any(loaded.reinforcement.sums)
    np.testing.assert_array_equal(loaded.reinforcement.sums, model.reinforcement.sums)


@pytest.mark.slow
@pytest.mark.parametrize("expected", [0.0, 0.5])
def test_it_learns_where_to_look(expected):
    """The encoder does not move, and tells nothing else: only the right places can be read.

    With no expectations the score function alone teaches it: without that, 29 % are right.
    Each source has two marked digits among blanks, the target names them in their order.
    """
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    rows, places, blank, digits = 2000, 6, 1, 6  # ids 2 to 7 are first digits, 8 to 13 second
    source = np.full((rows, places), blank)
    where = np.stack([rng.permutation(places)[:2] for _ in range(rows)])
    named = rng.integers(0, digits, (rows, 2))
    for one in range(2):
        source[np.arange(rows), where[:, one]] = 2 + digits * one + named[:, one]
    target = 3 + named
    target_in = np.stack([np.full(rows, 2), target[:, 0]], axis=1)
    attention = ATTENTIONS.get("additive", units=16, normalizer=Hard(expected))
    model = Seq2Seq(
        Encoder(14, 16, readers=[ConvolutionalReader(16, kernel_size=1)]),
        Decoder(9, 8, 24, attention, bridge="zeros", query=("state", "embedding")),
    )
    model.compile(keras.optimizers.Adam(1e-2), TokenCrossentropy())
    train, held = slice(0, 1600), slice(1600, rows)
    model.fit((source[train], target_in[train]), target[train], batch_size=64, epochs=30, verbose=0)
    logits, weights = model((source[held], target_in[held]), return_attention_scores=True)
    right = np.argmax(weights, axis=-1) == where[held]  # (rows, 2)
    shares = [
        [right[named[held, step] == digit, step].mean() for digit in range(digits)]
        for step in range(2)
    ]
    # a blank may mean one of the digits, that which none of the other five is
    assert np.min(np.sort(shares, axis=1)[:, 1:]) > 0.95
    assert np.mean(np.all(np.argmax(logits, axis=-1) == target[held], axis=1)) > 0.95
