"""Seq2Seq: encoder and decoder as one model, trained with Keras, saved and loaded."""

import json

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from decoders import new_decoder

from keras_bahdanau.layers import BahdanauAttention
from keras_bahdanau.models import Encoder, Seq2Seq
from keras_bahdanau.models.losses import TokenCrossentropy, guided_alignment
from keras_bahdanau.models.metrics import Perplexity

SOURCE = np.array([[3, 1, 4, 1], [5, 0, 0, 0], [2, 6, 5, 0]], "int32")
TARGET_IN = np.array([[2, 5, 1], [2, 3, 0], [2, 0, 0]], "int32")
START, END = 2, 3


def new(
    vocabulary=7, units=6, cell="gru", depth=1, dropout=0.0, tie=False, share=False, policy=None
):
    both = {"cell": cell, "dropout": dropout, "dtype": policy}
    encoder = Encoder(vocabulary, 4, units // 2, depth=depth, **both)
    attention = BahdanauAttention(units, dtype=policy)
    decoder = new_decoder(vocabulary, 4, units, attention, tie_embeddings=tie, **both)
    return Seq2Seq(encoder, decoder, share_embeddings=share, dtype=policy)


def built(**options):
    model = new(**options)
    model.build()
    return extract.randomize(model)


def forced(model):
    return lambda source, target_in: model((source, target_in), return_attention_scores=True)


def all_close(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


@pytest.mark.few(1)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize(("tie", "share"), [(False, False), (True, False), (True, True)])
def test_logits_and_alignment_are_those_of_the_equations(run, cell, tie, share):
    model = built(cell=cell, tie=tie, share=share)
    logits, weights = run(forced(model), SOURCE, TARGET_IN)
    for row, length in enumerate(np.count_nonzero(SOURCE, axis=1)):
        memory = reference.encoder(SOURCE[row, :length], *extract.encoder(model.encoder))
        expected = reference.decoder(TARGET_IN[row], *memory, extract.decoder(model.decoder))
        np.testing.assert_allclose(logits[row], expected[0], atol=1e-4)
        np.testing.assert_allclose(weights[row, :, :length], expected[1], atol=1e-5)
        assert not weights[row, :, length:].any()


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_steps_of_a_search_equal_the_teacher_forced_model(run, cell):
    model = built(cell=cell)

    def search(source, target_in):
        prepared = model.encode(source)
        state, log_probs, weights = model.initial_state(prepared), [], []
        for t in range(TARGET_IN.shape[1]):
            step, alpha, state = model.decode_step(target_in[:, t], state, prepared)
            log_probs.append(step.log_probs)
            weights.append(alpha)
        return tf.stack(log_probs, axis=1), tf.stack(weights, axis=1)

    logits, weights = run(forced(model), SOURCE, TARGET_IN)
    expected = reference.log_softmax(logits.astype("float64")), weights
    all_close(run(search, SOURCE, TARGET_IN), expected, atol=1e-5)


def test_a_pair_gives_the_same_alone_padded_and_in_any_batch(run):
    answer = forced(built(depth=2))
    logits, weights = run(answer, SOURCE, TARGET_IN)
    wide = run(answer, np.pad(SOURCE, ((0, 0), (0, 3))), np.pad(TARGET_IN, ((0, 0), (0, 2))))
    all_close((wide[0][:, :3], wide[1][:, :3, :4]), (logits, weights), atol=1e-5)
    for row, length in enumerate(np.count_nonzero(SOURCE, axis=1)):
        alone = run(answer, SOURCE[[row], :length], TARGET_IN[[row]])
        all_close(alone, (logits[[row]], weights[[row], :, :length]), atol=1e-5)
    turned = run(answer, SOURCE[::-1], TARGET_IN[::-1])
    all_close(turned, (logits[::-1], weights[::-1]), atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_an_empty_sentence_gives_finite_log_probs_and_gradients(policy):
    model = built(policy=policy)
    source = tf.constant(SOURCE * [[1], [0], [1]], "int32")
    with tf.GradientTape() as tape:
        logits, weights = forced(model)(source, TARGET_IN)
        loss = tf.reduce_mean(TokenCrossentropy(0.1)(TARGET_IN, logits))
    assert logits.dtype == weights.dtype == "float32"
    assert np.all(np.isfinite(logits)) and not np.any(weights[1])
    gradients = tape.gradient(loss, model.trainable_variables)
    assert all(np.all(np.isfinite(tf.convert_to_tensor(gradient))) for gradient in gradients)


def test_encoding_before_the_first_call_leaves_a_whole_model():
    model = new()
    prepared = model.encode(tf.constant(SOURCE))
    model.decode_step(tf.constant([2, 2, 2]), model.initial_state(prepared), prepared)
    assert model((SOURCE, TARGET_IN)).shape == (3, 3, 7)


@pytest.mark.parametrize("inputs", [{"source": SOURCE, "target_in": TARGET_IN}, SOURCE, (SOURCE,)])
def test_inputs_that_are_no_pair_are_refused(inputs):
    with pytest.raises(TypeError, match=r"must be \(features, target_in\), or"):
        new()(inputs)


def test_a_summary_shows_both_parts_and_every_weight():
    model, lines = built(), []
    model.summary(print_fn=lines.append)
    text = "\n".join(lines)
    assert "Encoder" in text and "Decoder" in text and f"{model.count_params():,}" in text


def test_shared_embeddings_are_one_matrix():
    apart, shared, all_three = (
        built(**options).count_params() for options in ({}, {"share": True}, {"share": 1, "tie": 1})
    )
    assert (apart - shared, shared - all_three) == (7 * 4, 7 * 4 + 7)


@pytest.mark.parametrize("name", ["vocabulary_size", "embedding_units"])
def test_embeddings_of_different_shapes_cannot_be_shared(name):
    sizes = {"vocabulary_size": 7, "embedding_units": 4, "units": 6}
    with pytest.raises(ValueError, match="`share_embeddings=True` needs the same vocab.*Received"):
        Seq2Seq(Encoder(**sizes), new_decoder(**{**sizes, name: 9}), share_embeddings=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize(("tie", "share"), [(False, False), (True, False), (True, True)])
def test_it_is_saved_and_loaded_without_custom_objects(tmp_path, cell, tie, share):
    model = built(cell=cell, depth=2, dropout=0.1, tie=tie, share=share)
    assert_saved(model, tmp_path / "model.keras")


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_precision_survives_the_file(tmp_path, policy):
    model = built(policy=policy, share=True, tie=True)
    loaded = assert_saved(model, tmp_path / "model.keras")
    ours, theirs = (
        {layer.path: layer.dtype_policy.name for layer in one._flatten_layers()}
        for one in (model, loaded)
    )
    assert ours == theirs and policy in ours.values()


def test_a_global_precision_survives_the_file(tmp_path):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = built(dropout=0.1)
    finally:
        keras.config.set_dtype_policy("float32")
    assert model.decoder.cell.attention.compute_dtype == "bfloat16"
    assert_saved(model, tmp_path / "model.keras")


def assert_saved(model, path):
    """Save and load a model, assert that its outputs are bitwise equal, and return it."""
    expected = forced(model)(SOURCE, TARGET_IN)
    model.save(path)
    loaded = keras.saving.load_model(path)
    assert json.dumps(loaded.get_config()) == json.dumps(model.get_config())
    assert [weight.path for weight in loaded.weights] == [weight.path for weight in model.weights]
    for found, one in zip(forced(loaded)(SOURCE, TARGET_IN), expected, strict=True):
        np.testing.assert_array_equal(found, one)
    return loaded


def copies(pairs, seed=0):
    """Return ((source, target_in), target_out, weights), where the target is the source."""
    random = np.random.default_rng(seed)
    source = np.zeros((pairs, 4), "int32")
    for row, length in enumerate(random.integers(1, 4, size=pairs)):
        source[row, :length] = random.integers(4, 8, size=length)
        source[row, length] = END
    target_in = np.pad(source, ((0, 0), (1, 0)), constant_values=START)[:, :-1]
    target_in[target_in == END] = 0
    return (source, target_in), source, (source != 0).astype("float32")


def batches(pairs, count, lengths=(4,)):
    """Return a dataset of `count` batches of the same pairs, truncated to `lengths` in turn."""
    data = copies(pairs)

    def generate():
        for number in range(count):
            first = np.s_[:, : lengths[number % len(lengths)]]
            yield tf.nest.map_structure(lambda array, first=first: array[first], data)

    signature = tf.nest.map_structure(lambda x: tf.TensorSpec((pairs, None), x.dtype), data)
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    return dataset.apply(tf.data.experimental.assert_cardinality(count))


def compiled(jit_compile=False, **options):
    keras.utils.set_random_seed(1)
    model = new(vocabulary=8, **options)
    model.compile(
        optimizer=keras.optimizers.Adam(0.02, global_clipnorm=1.0),
        loss=TokenCrossentropy(),
        weighted_metrics=[Perplexity()],
        jit_compile=jit_compile,
    )
    model.build()
    model.optimizer.build(model.trainable_variables)  # otherwise the first step is traced twice
    return model


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_it_learns_to_copy(cell):
    model = compiled(cell=cell, units=24, tie=True, share=True)
    model.fit(batches(128, 100), verbose=0, shuffle=False)
    inputs, target_out, weights = copies(64, seed=1)
    found = model.evaluate(inputs, target_out, sample_weight=weights, verbose=0, return_dict=True)
    assert found["perplexity"] < 2  # without the source, the minimum is 3.6
    np.testing.assert_allclose(found["loss"], np.log(found["perplexity"]), atol=1e-3)


FITS = [
    ("gru", "float32", False, [4]),
    *(
        pytest.param(cell, policy, jit_compile, [4, 3], marks=pytest.mark.slow)  # XLA is slow
        for cell in ("gru", "lstm")
        for policy in ("float32", "mixed_float16", "mixed_bfloat16")
        for jit_compile in (True, False)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "policy", "jit_compile", "lengths"), FITS)
def test_fit_lowers_the_loss(cell, policy, jit_compile, lengths):
    model = compiled(jit_compile, cell=cell, policy=policy, dropout=0.1, tie=True, units=12)
    data = batches(32, 16, lengths)
    history = model.fit(data, epochs=2, verbose=0, shuffle=False).history
    assert np.isfinite(history["loss"]).all()
    assert history["perplexity"][1] < 0.8 * history["perplexity"][0]


@pytest.mark.slow
def test_a_loss_of_weights_needs_an_attention_that_learns():
    with pytest.raises(ValueError, match="learned weights.* Received: guided_al.*=0.5, .*FixedCon"):
        Seq2Seq(Encoder(7, 8, 6), new_decoder(6, 8, 12, attention=None), guided_alignment=0.5)


@pytest.mark.slow
def test_guided_alignment_pulls_the_attention_towards_what_is_given():
    """The target equals the source; guidance makes attention reach the diagonal sooner."""
    inputs, target_out, weights = copies(64)
    diagonal = np.repeat(np.eye(4, dtype="float32")[None], 64, axis=0) * weights[..., None]
    surprise = []
    for weight in (0.0, 1.0):
        model = compiled(units=16)
        model.guided_alignment = weight
        model.fit((*inputs, diagonal), target_out, sample_weight=weights, epochs=16, verbose=0)
        _, alpha = model(inputs, return_attention_scores=True)
        surprise.append(float(guided_alignment(diagonal, alpha)))
    assert surprise[1] < 0.5 * surprise[0]


def losses_with(weights, targets, loss, **settings):
    """Return loss and perplexity of a batch in training (with learning rate 0) and in a test."""
    model, inputs = built(), (SOURCE, TARGET_IN)
    model.compile(keras.optimizers.SGD(0.0), loss, weighted_metrics=[Perplexity()], **settings)
    return [
        method(inputs, targets, sample_weight=weights)
        for method in (model.train_on_batch, model.test_on_batch)
    ]


SENTENCE_WEIGHTS = np.array([0.5, 0.0, 2.0], "float32")
TARGETS = np.array([[5, 1, 3], [3, 3, 0], [3, 0, 0]])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "loss", [TokenCrossentropy(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True)]
)
def test_a_weight_of_a_sentence_is_that_of_its_tokens(loss):
    of_tokens = SENTENCE_WEIGHTS[:, None] * (TARGETS != 0)
    expected = losses_with(of_tokens, TARGETS, loss, run_eagerly=True)
    for given in (SENTENCE_WEIGHTS, SENTENCE_WEIGHTS[:, None]):
        found = losses_with(given, TARGETS, loss, run_eagerly=True)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow
def test_a_weight_of_a_sentence_is_that_of_its_tokens_under_xla():
    """XLA reads the last weight for positions beyond it, unless weights have a matching shape."""
    expected = losses_with(SENTENCE_WEIGHTS, TARGETS, TokenCrossentropy(0.1), run_eagerly=True)
    found = losses_with(SENTENCE_WEIGHTS, TARGETS, TokenCrossentropy(0.1), jit_compile=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_weights_of_another_shape_are_refused():
    model = built()
    model.compile("adam", TokenCrossentropy(), run_eagerly=True)
    with pytest.raises(ValueError, match=r"sample_weight.shape=\(3, 2\) with targets of shape"):
        model.train_on_batch((SOURCE, TARGET_IN), TARGET_IN, np.ones((3, 2)))


@pytest.mark.slow
def test_encoder_and_decoder_stand_in_a_functional_model():
    source, target_in = (keras.Input((None,), dtype="int32") for _ in range(2))
    whole = built()
    model = keras.Model([source, target_in], whole.decoder(target_in, whole.encoder(source)).logits)
    np.testing.assert_allclose(model([SOURCE, TARGET_IN]), whole((SOURCE, TARGET_IN)), atol=1e-6)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, run_eagerly=True)  # as other tests cover the graph
    first, *_, last = model.fit([SOURCE, TARGET_IN], TARGET_IN, epochs=5, verbose=0).history["loss"]
    assert last < first
