"""Models that copy source tokens: probabilities match NumPy; training; errors."""

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from decoders import new_decoder
from numpy.testing import assert_allclose, assert_array_equal

import keras_bahdanau as kb
from keras_bahdanau.layers import ConvolutionalReader

SOURCE = np.array([[4, 5, 4, 3], [6, 3, 0, 0], [0, 0, 0, 0]], "int32")
SYMBOLS = (-1, 1, 2, 3, 5, -1, 4)  # target id (of six) for each of the seven source ids
TARGET_IN = np.array([[2, 5, 1], [2, 4, 0], [2, 0, 0]], "int32")
WEIGHT = np.float32(TARGET_IN > 0)


def new(symbols=SYMBOLS, copy=True, vocabulary_size=6, loss=None, seed=0, **options):
    decoder = {"attention": kb.layers.BahdanauAttention(3), "copy": copy}
    model = options.pop("model", {})
    model = kb.Seq2Seq(
        kb.Encoder(7, 4, 3, symbols=symbols),
        new_decoder(vocabulary_size, 5, 6, **{**decoder, **options}),
        **model,
    )
    model.build()
    model.compile("sgd", loss or kb.losses.TokenCrossentropy(), run_eagerly=True)
    return extract.randomize(model, seed)


@pytest.fixture(scope="module")
def model():
    """A model that is shared by all tests that don't change it."""
    return new()


@pytest.fixture(scope="module")
def log_probs(model):
    return model((SOURCE, TARGET_IN)).numpy()


def by_hand(model, source, target_in):
    """Return p(w) and p_gen at each step for a single sentence without padding."""
    values, summary = reference.encoder(source, *extract.encoder(model.encoder))
    weights = extract.decoder(model.decoder)
    logits, alignment = reference.decoder(target_in, values, summary, weights)
    kernel, bias = extract.arrays(model.decoder.pointer.projection)
    state, rows, gates = reference.initial_state(summary, weights), [], []
    for step, y in enumerate(weights.embedding[list(target_in)]):
        state, context, alpha = reference.decoder_step(y, state, values, weights)
        (gate,) = reference.sigmoid(np.concatenate([context, state[0], y]) @ kernel + bias)
        p = np.zeros(6)
        for one, attended in zip(source, alpha, strict=True):
            if SYMBOLS[one] >= 0:
                p[SYMBOLS[one]] += (1 - gate) * attended
        rows.append(p + (1 - p.sum()) * reference.softmax(logits[step]))
        gates.append(gate)
        assert_allclose(alpha, alignment[step])
    return np.array(rows), np.array(gates)


def test_every_steps_probabilities_are_those_of_the_equations(model, log_probs):
    found = np.exp(log_probs)
    assert_allclose(found.sum(axis=-1), 1, atol=1e-5)
    for row, (places, steps) in enumerate([(4, 3), (2, 2)]):
        expected, _ = by_hand(model, SOURCE[row, :places], TARGET_IN[row, :steps])
        assert_allclose(found[row, :steps], expected, atol=1e-5)


def test_the_pointer_of_a_step_is_the_gate_of_the_equations(model):
    prepared = model.encode(SOURCE[:1]).projected
    token, state = tf.constant([2]), model.decoder.initial_state(prepared)
    _, shown, _ = model.decoder.step(token, state, prepared)
    copying = model.decoder.copying(shown, model.decoder.embed(token), prepared.memory)
    _, gates = by_hand(model, SOURCE[0], TARGET_IN[0, :1])
    assert_allclose(copying.generation, gates, atol=1e-6)
    assert_array_equal(copying.symbols, [[5, -1, 5, 3]])


def test_an_empty_source_copies_nothing(model, log_probs):
    plain = new(symbols=None, copy=False)
    plain.set_weights([one for one in model.weights if "/pointer/" not in one.path])
    generated = tf.nn.log_softmax(plain((SOURCE, TARGET_IN)))
    assert_allclose(log_probs[2], generated[2], atol=1e-5)
    assert np.max(np.abs(log_probs[0] - generated[0])) > 0.1


@pytest.mark.few(1)
@pytest.mark.parametrize("r_drop", [1.0, 0.0])
@pytest.mark.parametrize(
    "loss", [kb.losses.SentenceCrossentropy(0.1), kb.losses.TokenCrossentropy()]
)
def test_the_loss_of_a_training_is_that_of_the_log_probabilities(log_probs, loss, r_drop):
    model = new(loss=loss, model={"r_drop": r_drop})
    output = model((SOURCE, TARGET_IN), training=True)
    target = np.array([[5, 1, 3], [4, 3, 0], [3, 0, 0]], "int32")
    found = model.compute_loss(y=target, y_pred=output, sample_weight=WEIGHT)
    assert_allclose(model.logits(output), log_probs, atol=1e-5)
    assert_allclose(found, loss(target, log_probs, WEIGHT), rtol=1e-5)
    smoothing = loss.label_smoothing
    own = -np.take_along_axis(np.float64(log_probs), target[..., None], -1)[..., 0]
    each = (1 - smoothing) * own - smoothing * np.mean(log_probs, axis=-1)
    count = 3 if isinstance(loss, kb.losses.SentenceCrossentropy) else WEIGHT.sum()
    assert_allclose(found, np.sum(each * WEIGHT) / count, rtol=1e-5)


def test_every_gradient_is_finite_for_padding_and_for_an_empty_source(model):
    with tf.GradientTape() as tape:
        output = model((SOURCE, TARGET_IN), training=True)
        loss = model.compute_loss(y=TARGET_IN, y_pred=output, sample_weight=WEIGHT)
    for gradient in tape.gradient(loss, model.trainable_variables):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


@pytest.mark.slow
def test_symbols_are_kept_in_a_file(model, log_probs, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.encoder.symbols == SYMBOLS and loaded.decoder.copies
    assert_array_equal(loaded((SOURCE, TARGET_IN)), log_probs)


@pytest.mark.slow
def test_an_ensemble_may_have_members_that_copy_and_others(model):
    members = [model, new(symbols=None, copy=False)]
    found = kb.Ensemble(members)((SOURCE, TARGET_IN))
    probabilities = [np.exp(tf.nn.log_softmax(one((SOURCE, TARGET_IN)))) for one in members]
    assert_allclose(np.exp(found), np.mean(probabilities, axis=0), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symbols": None}, "vocabulary_size=6, and an encoder with the highest symbol None. Set"),
        ({"vocabulary_size": 5}, "copy=True, vocabulary_size=5, and .* highest symbol 5. Set"),
        ({"symbols": SYMBOLS[1:]}, "6 symbols, 0 of them invalid, with vocabulary_size=7"),
        ({"symbols": (-2, 0.5, "a", *SYMBOLS[3:])}, "Received: 7 symbols, 3 of them invalid"),
        ({"attention": None}, "copy=True, attention=FixedContext"),
    ],
)
def test_what_can_not_be_copied_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        new(**options)


def test_a_source_without_tokens_has_no_symbols():
    with pytest.raises(ValueError, match=r"front_end=FrameProjection\(...\). Use symbols=None"):
        kb.Encoder(front_end=kb.layers.FrameProjection(7, 4), units=3, symbols=SYMBOLS)


def test_a_decoder_alone_needs_symbols_in_its_memory():
    memory = kb.Encoder(7, 4, 3)(SOURCE)
    with pytest.raises(ValueError, match="a memory without symbols. Set `symbols` of the encoder"):
        new_decoder(6, 5, 6, copy=True)(TARGET_IN, memory)


SEEN, LETTERS, BAR, FIRST = 120, 160, 4, 5  # ids: 4 special ones, a bar, letters


def sentences(count, letters, rng):
    """Return sources "four letters, bar, four others, end" and targets "the four letters, end"."""
    own = np.stack([rng.choice(letters, 4, replace=False) for _ in range(count)]) + FIRST
    others = rng.integers(0, LETTERS, own.shape) + FIRST
    bar, end = (np.full((count, 1), token) for token in (BAR, 3))
    target = np.concatenate([own, end], axis=1)
    target_in = np.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=2)
    return (np.concatenate([own, bar, others, end], axis=1), target_in), target


@pytest.mark.slow
@pytest.mark.parametrize("copy", [True, False])
def test_tokens_that_no_target_of_the_training_has_are_copied(copy):
    """In training, a quarter of the letters occurs only after the bar and never in a target."""
    keras.utils.set_random_seed(0)
    rng, size = np.random.default_rng(0), FIRST + LETTERS
    symbols = (-1, *range(1, size)) if copy else None
    readers = [ConvolutionalReader(64, kernel_size=3), kb.layers.BidirectionalRNN(16)]
    model = kb.Seq2Seq(
        kb.Encoder(size, 16, readers=readers, symbols=symbols),
        new_decoder(size, 16, 32, kb.layers.BahdanauAttention(32), copy=copy),
    )
    model.compile(keras.optimizers.Adam(4e-3), kb.losses.TokenCrossentropy())
    inputs, target = sentences(1500, np.arange(SEEN), rng)
    assert target.max() < FIRST + SEEN < inputs[0].max() == size - 1
    model.fit(inputs, target, batch_size=50, epochs=6, verbose=0)
    inputs, target = sentences(200, np.arange(SEEN, LETTERS), rng)
    right = np.mean(np.argmax(model(inputs), axis=-1)[:, :4] == target[:, :4])
    assert right > 0.95 if copy else right < 0.05
