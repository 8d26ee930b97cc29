"""Exact hard attention matches sums over all alignments, and works like other decoders."""

import functools
import json
import re

import extract
import keras
import numpy as np
import pytest
import reference_hard
import tensorflow as tf
from decoders import new_decoder, new_hard_decoder
from memory import memory_of, shape_of

from keras_bahdanau.layers import (
    BahdanauAttention,
    ConditionalCell,
    ConvolutionalReader,
    HardAlignment,
    MultiHeadAttention,
    PastAttention,
    UnfedCell,
)
from keras_bahdanau.models import Decoder, Encoder, Ensemble, HardDecoder, Seq2Seq
from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy
from keras_bahdanau.pipelines.batches import hypothesis_numbers

VOCABULARY, REACH = 6, 2
RANDOM = np.random.default_rng(5)
LENGTHS = (4, 2, 1)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
SUMMARY = RANDOM.normal(size=(3, 6)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
MEMORY = (VALUES, MASK, SUMMARY)
TARGET_IN = np.array([[2, 5, 1], [2, 3, 3], [2, 4, 0]], "int32")
TARGET = np.array([[5, 1, 3], [3, 3, 0], [4, 3, 0]], "int32")
KINDS = {
    "zeroth": {},
    "zeroth, monotonic": {"monotonic": True},
    "first": {"order": 1},
    "first, monotonic": {"order": 1, "monotonic": True},
}
HARDEST_FIRST = dict(reversed(KINDS.items()))
EACH = pytest.mark.parametrize("kind", HARDEST_FIRST.values(), ids=HARDEST_FIRST)


def new(kind, **options):
    attention = HardAlignment("additive", 3, reach=REACH, name="attention", **kind)
    return new_hard_decoder(VOCABULARY, 5, 8, attention, **{"readout_units": 7, **options})


def built(kind, **options):
    decoder = new(kind, **options)
    decoder.build((None, None), shape_of(6))
    return extract.randomize(decoder)


def forced(decoder, **kwargs):
    """Return a function of (target_in, memory fields): log-probabilities and weights."""
    return lambda target_in, memory: decoder(
        target_in, memory_of(*memory), return_attention_scores=True, **kwargs
    )[:2]


def one_by_one(decoder):
    """Return the same function as `forced`, computed step by step as in a search."""

    def function(target_in, memory):
        prepared = decoder.prepare(memory_of(*memory))
        state, log_probs, weights = decoder.initial_state(prepared), [], []
        for t in range(TARGET_IN.shape[1]):
            found, shown, state = decoder.step(target_in[:, t], state, prepared)
            log_probs.append(found)
            weights.append(shown.weights)
        return tf.stack(log_probs, axis=1), tf.stack(weights, axis=1)

    return function


def exact(decoder, row):
    """Return (log-probabilities, priors) of a row, summed over all alignments."""
    attention, length = decoder.cell.attention, LENGTHS[row]
    weights = reference_hard.weights_of(decoder)
    steps = (TARGET_IN[row], VALUES[row, :length], SUMMARY[row], weights)
    chain = reference_hard.chain(*steps, attention.monotonic, REACH)
    return reference_hard.likelihoods(chain, TARGET[row])


@pytest.mark.few(1)
@EACH
def test_each_step_is_the_sum_over_all_alignments(run, kind):
    decoder = built(kind)
    log_probs, weights = run(forced(decoder), TARGET_IN, MEMORY)
    assert log_probs.dtype == weights.dtype == np.float32
    for row, length in enumerate(LENGTHS):
        expected, priors = exact(decoder, row)
        np.testing.assert_allclose(log_probs[row], expected, atol=1e-5)
        np.testing.assert_allclose(weights[row, :, :length], priors, atol=1e-6)
        assert not weights[row, :, length:].any()


@pytest.mark.few(1)
@EACH
def test_one_step_after_the_other_equals_all_at_once(run, kind):
    decoder = built(kind, tie_embeddings=True, readout_units=5)
    expected = run(forced(decoder), TARGET_IN, MEMORY)
    for found, one in zip(run(one_by_one(decoder), TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-5)
    np.testing.assert_allclose(expected[0][0], exact(decoder, 0)[0], atol=1e-5)


@pytest.mark.few(1)
@EACH
def test_gradients_are_those_of_the_exact_likelihood(kind):
    decoder, gradients, step = built(kind), built(kind), 1e-4

    def gradient():
        with tf.GradientTape() as tape:
            log_probs = decoder(
                TARGET_IN[:1], memory_of(*(one[:1] for one in MEMORY)), training=True
            ).logits
            total = tf.reduce_sum(tf.gather(log_probs, TARGET[:1], batch_dims=2))
        return tape.gradient(total, decoder.trainable_variables)

    gradients.set_weights([np.asarray(tf.convert_to_tensor(one)) for one in gradient()])
    weights, slopes = map(reference_hard.weights_of, (decoder, gradients))
    random, leaves = np.random.default_rng(3), tf.nest.flatten(weights)

    def log_likelihood(*leaves):
        moved = tf.nest.pack_sequence_as(weights, leaves)
        chain = reference_hard.chain(
            TARGET_IN[0], VALUES[0], SUMMARY[0], moved, decoder.cell.attention.monotonic, REACH
        )
        log_probs, _ = reference_hard.likelihoods(chain, TARGET[0])
        return sum(log_probs[range(3), TARGET[0]])

    for place, (leaf, slope) in enumerate(zip(leaves, tf.nest.flatten(slopes), strict=True)):
        way = random.normal(size=leaf.shape)
        ends = [
            log_likelihood(*leaves[:place], leaf + sign * step * way, *leaves[place + 1 :])
            for sign in (1, -1)
        ]
        expected = (ends[0] - ends[1]) / (2 * step)
        assert abs(np.sum(slope * way) - expected) < 1e-4 + 1e-3 * abs(expected)


@pytest.mark.slow
def test_two_steps_train_the_first_order_in_a_graph():
    """As in `fit`, the gradient of a loop recomputes the pairs of positions."""
    decoder = built(KINDS["first, monotonic"], cell="simple")
    weights = decoder.cell.attention.trainable_variables
    assert len(weights) == 5  # W, U and v of the score; U and u of the jumps

    @functools.partial(tf.function, autograph=False)
    def step():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([one.value for one in weights])
            log_probs = decoder(TARGET_IN, memory_of(*MEMORY), training=True).logits
            loss = -tf.reduce_mean(tf.gather(log_probs, TARGET, batch_dims=2))
        return loss, tape.gradient(loss, weights)

    losses = []
    for _ in range(2):
        loss, gradients = step()
        losses.append(float(loss))
        for weight, gradient in zip(weights, gradients, strict=True):
            assert np.isfinite(gradient).all() and np.any(gradient), weight.path
            weight.assign_sub(0.05 * gradient)
    assert losses[1] < losses[0] - 1e-4


def name_of(weight):
    """Return the path of a weight without the numbers that Keras adds to layer names."""
    return re.sub(r"_\d+(?=/)", "", weight.path.partition("/")[2])


@pytest.mark.slow
def test_without_a_jump_score_the_first_order_is_the_zeroth(run):
    first = new({"order": 1})
    first.build((None, None), shape_of(6))
    zeroth = new({})
    zeroth.build((None, None), shape_of(6))
    weights = {name_of(weight): weight for weight in first.weights}
    for weight in zeroth.weights:
        weight.assign(weights[name_of(weight)])
    expected = run(forced(zeroth), TARGET_IN, MEMORY)
    for found, one in zip(run(forced(first), TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-5)


@pytest.mark.few(1)
@EACH
def test_a_source_with_nothing_real_has_no_weights_and_finite_gradients(kind):
    decoder = built(kind, dropout=0.2)
    wide = [np.pad(VALUES[:2], ((0, 0), (0, 3), (0, 0))), np.zeros((2, 7), bool), SUMMARY[:2]]
    narrow = [np.zeros_like(VALUES[:2]), MASK[:2] & False, SUMMARY[:2]]
    wide[0] *= 0
    found, weights = forced(decoder)(TARGET_IN[:2], wide)
    expected, _ = forced(decoder)(TARGET_IN[:2], narrow)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(tf.reduce_sum(tf.exp(found), axis=-1), 1, atol=1e-5)
    assert not np.any(weights)
    with tf.GradientTape() as tape:
        log_probs, _ = forced(decoder, training=True)(TARGET_IN[:2], wide)
        total = tf.reduce_sum(tf.gather(log_probs, TARGET[:2], batch_dims=2))
    for gradient in tape.gradient(total, decoder.trainable_variables):
        assert gradient is None or np.isfinite(tf.convert_to_tensor(gradient)).all()


@pytest.mark.slow
@EACH
def test_it_is_saved_and_loaded(kind, tmp_path):
    decoder = built(kind, cell="lstm", depth=2, query=("state", "embedding"), dropout=0.1)
    expected = forced(decoder)(TARGET_IN, MEMORY)
    decoder.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    assert json.dumps(loaded.get_config()) == json.dumps(decoder.get_config())
    for found, one in zip(forced(loaded)(TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_array_equal(found, one)


def seq2seq(loss, **options):
    keras.utils.set_random_seed(1)
    decoder = new(KINDS["first, monotonic"])
    model = Seq2Seq(Encoder(VOCABULARY, 5, 4), decoder, **options)
    model.compile("sgd", loss)
    model.build()
    return model


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy(0.1), SentenceCrossentropy(0.1)])
def test_losses_with_label_smoothing_are_those_of_the_mixture(loss):
    model, weight = seq2seq(loss), np.float32(TARGET > 0)
    inputs = (np.array([[3, 1, 4], [5, 0, 0], [2, 2, 0]], "int32"), TARGET_IN)
    found = model.compute_loss(y=TARGET, y_pred=model(inputs, training=True), sample_weight=weight)
    log_probs = np.float64(model(inputs))
    own = np.take_along_axis(log_probs, TARGET[..., None], axis=-1)[..., 0]
    total = np.sum(weight * (0.9 * -own - 0.1 * log_probs.mean(axis=-1)))
    count = 3 if isinstance(loss, SentenceCrossentropy) else weight.sum()
    np.testing.assert_allclose(found, total / count, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "received"),
    [
        (
            {"when": "after"},
            r"when='apart'. Received: cell=InputFeedingCell\(...\), att",
        ),
        (
            {"attention": BahdanauAttention(3)},
            "HardAlignment. Received: attention=Bahdanau",
        ),
        ({"query": ("context",)}, "a query without the context"),
        ({"context_gate": True}, "context_gate=False"),
        ({"context_dropout": 0.1}, "context_dropout=0"),
        ({"vocabulary_size": 10_001}, "at most 10,000.*vocabulary_size=10001. Change it, or use"),
        ({"readout": "maxout"}, "`readout` must be one of 'tanh'. Received: readout='maxout'"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options, received):
    arguments = {"vocabulary_size": 6, "units": 8, "attention": HardAlignment(units=3), **options}
    with pytest.raises(ValueError, match=received):
        new_hard_decoder(embedding_units=5, **arguments)


HEADS = functools.partial(MultiHeadAttention, heads=2)


@pytest.mark.parametrize("around", [None, PastAttention, HEADS])
def test_an_ordinary_decoder_refuses_it(around):
    attention = HardAlignment(units=3)
    attention = attention if around is None else around(attention)
    with pytest.raises(ValueError, match="Pass the HardAlignment itself to a HardDecoder"):
        new_decoder(6, 5, 8, attention)
    with pytest.raises(ValueError, match=rf"attention={type(attention).__name__}"):
        Decoder(6, 5, cell=UnfedCell(8, attention))


def test_a_search_counts_what_a_step_holds():
    zeroth, first = (
        Seq2Seq(Encoder(VOCABULARY, 5, 4), new(KINDS[name])) for name in ("zeroth", "first")
    )
    assert hypothesis_numbers(zeroth, 9) == 9 * (VOCABULARY + 7)
    assert hypothesis_numbers(first, 9) == 9 * (VOCABULARY + 7 + 9)
    assert hypothesis_numbers(Ensemble([first]), 9) == hypothesis_numbers(first, 9)
    soft = Seq2Seq(Encoder(6, 5, 4), new_decoder(6, 5, 8))
    assert hypothesis_numbers(soft, 9) == 8 + 9 * 8  # its state, and scores of positions


@pytest.mark.slow
def test_it_learns_the_places_of_a_text_read_in_order():
    """The target repeats even digits; the encoder distinguishes positions only by their digits.

    The next position therefore follows from the last token and its position. No alignment is given.
    """
    keras.utils.set_random_seed(0)
    rng, rows, time = np.random.default_rng(0), 1200, 12
    source, target = np.zeros((rows, 6), "int32"), np.zeros((rows, time), "int32")
    where = np.full((rows, time), -1)
    for row in range(rows):
        digits = [*rng.integers(4, 12, rng.integers(2, 6)), 3]  # source and target end with 3
        places = [place for place, one in enumerate(digits) for _ in range(1 + (one in (4, 6, 8)))]
        source[row, : len(digits)] = digits
        target[row, : len(places)] = np.array(digits)[places]
        where[row, : len(places)] = places
    target_in = np.pad(target[:, :-1], [(0, 0), (1, 0)], constant_values=2)
    attention = HardAlignment("additive", 16, order=1, monotonic=True)
    model = Seq2Seq(
        Encoder(12, 16, readers=[ConvolutionalReader(16, kernel_size=1)]),
        new_hard_decoder(12, 16, 32, attention, bridge="zeros"),
    )
    model.compile(keras.optimizers.Adam(1e-2), TokenCrossentropy())
    inputs, weight = (source, target_in), np.float32(target > 0)
    fitted = tuple(one[200:] for one in inputs)
    model.fit(fitted, target[200:], sample_weight=weight[200:], batch_size=50, epochs=12, verbose=0)
    log_probs, weights = model(tuple(one[:200] for one in inputs), return_attention_scores=True)
    real = target[:200] > 0
    assert np.mean(np.argmax(log_probs, axis=-1)[real] == target[:200][real]) > 0.98
    assert np.mean(np.argmax(weights, axis=-1)[real] == where[:200][real]) > 0.98


def test_a_cell_is_given_whole():
    decoder = HardDecoder(6, 5, cell=UnfedCell(8, HardAlignment(units=3), depth=2))
    assert decoder.units == 8
    with pytest.raises(ValueError, match=r"Received: cell=ConditionalCell"):
        HardDecoder(6, 5, cell=ConditionalCell(8, HardAlignment(units=3)))
