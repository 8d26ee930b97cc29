"""Decoder: its equations, single steps compared with whole targets, and saving."""

import inspect
import json

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from decoders import new_decoder
from memory import memory_of, shape_of
from modes import graph_is_slow

from keras_bahdanau.layers import (
    ATTENTIONS,
    BahdanauAttention,
    ConditionalCell,
    FixedContext,
    InputFeedingCell,
    PastAttention,
    SelfAttentionCell,
)
from keras_bahdanau.models import Decoder

RANDOM = np.random.default_rng(9)
LENGTHS = (4, 2, 3)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
SUMMARY = RANDOM.normal(size=(3, 6)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
MEMORY = (VALUES, MASK, SUMMARY)
TARGET_IN = np.array([[2, 5, 1, 6, 4], [2, 3, 3, 0, 0], [2, 0, 0, 0, 0]], "int32")
KINDS = pytest.mark.parametrize(
    "options",
    [{}, {"cell": "lstm"}, {"tie_embeddings": True}],
    ids=["gru", "lstm", "tied"],
)
OPTIONS = pytest.mark.parametrize(
    "options",
    [
        {"attention": None},
        {"attention": "general"},
        {"attention": ATTENTIONS.get("bahdanau", 4, heads=2, past=2)},
        {"attention": ATTENTIONS.get("bahdanau", window="local-m", coverage="sum")},
        {"attention": ATTENTIONS.get("bahdanau", normalizer="monotonic-hard")},
        {"when": "after", "query": ("state", "task"), "readout": "plain"},
        {"when": "between", "readout": "maxout", "depth": 2, "residual": True},
        {"readout": "tanh", "readout_state": "previous", "bridge": "zeros"},
        {"readout": "attentional", "bridge": "zeros"},
        {"cell": keras.layers.GRUCell(8), "query": ("embedding", "context")},
        {"cell": "layer-norm-lstm", "recurrent_dropout": 0.2, "word_dropout": 0.1},
        {"context_dropout": 0.1, "readout_units": 9},
    ],
    ids=lambda options: "-".join(options),
)


def new(**options):
    return new_decoder(7, 5, 8, **{"attention": BahdanauAttention(3), **options})


def built(**options):
    decoder = new(**options)
    decoder.build((None, None), shape_of(6))
    return extract.randomize(decoder)


def forced(decoder, **kwargs):
    """Return a function of (target_in, memory fields) that returns logits and weights."""
    return lambda target_in, memory: decoder(
        target_in, memory_of(*memory), return_attention_scores=True, **kwargs
    )[:2]


def one_by_one(decoder):
    """Return the same function as `forced`, computed step by step as in a search."""

    def function(target_in, memory):
        prepared = decoder.prepare(memory_of(*memory))
        state, logits, weights = decoder.initial_state(prepared), [], []
        for t in range(TARGET_IN.shape[1]):
            scores, shown, state = decoder.step(target_in[:, t], state, prepared)
            logits.append(scores)
            weights.append(shown.weights)
        return tf.stack(logits, axis=1), tf.stack(weights, axis=1)

    return function


@pytest.mark.few(1)
@KINDS
def test_logits_and_alignment_are_those_of_the_equations(run, options):
    decoder = built(**options)
    logits, weights = run(forced(decoder), TARGET_IN, MEMORY)
    assert logits.dtype == weights.dtype == np.float32
    for row, length in enumerate(LENGTHS):
        expected = reference.decoder(
            TARGET_IN[row], VALUES[row, :length], SUMMARY[row], extract.decoder(decoder)
        )
        np.testing.assert_allclose(logits[row], expected[0], atol=1e-4)
        np.testing.assert_allclose(weights[row, :, :length], expected[1], atol=1e-5)
        assert not weights[row, :, length:].any()


@pytest.mark.few(1)
@KINDS
def test_one_step_after_the_other_equals_all_at_once(run, options):
    decoder = built(**options)
    expected = run(forced(decoder), TARGET_IN, MEMORY)
    for found, one in zip(run(one_by_one(decoder), TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-5)


@pytest.mark.few(1)
@OPTIONS
def test_every_option_is_saved_loaded_and_the_same_step_by_step(tmp_path, options):
    decoder = built(**options)
    expected = forced(decoder)(TARGET_IN, MEMORY)
    for found, one in zip(one_by_one(decoder)(TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-5)
    decoder.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    assert json.dumps(loaded.get_config()) == json.dumps(decoder.get_config())
    for found, one in zip(forced(loaded)(TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_array_equal(found, one)


@graph_is_slow
@pytest.mark.few(1)
@KINDS
def test_a_beam_is_as_good_as_separate_rows(run, options):
    decoder = built(**options)
    state = tf.nest.map_structure(
        lambda leaf: RANDOM.normal(size=(3, 2, leaf.shape[-1])).astype("float32"),
        decoder.initial_state(decoder.prepare(memory_of(*MEMORY))),
    )
    tokens = TARGET_IN[:, :2]

    def step(tokens, state, memory):
        return decoder.step(tokens, state, decoder.prepare(memory_of(*memory)))

    found = tf.nest.flatten(run(step, tokens, state, MEMORY))
    for beam in range(2):
        alone = tf.nest.map_structure(lambda leaf, beam=beam: leaf[:, beam], state)
        expected = tf.nest.flatten(run(step, tokens[:, beam], alone, MEMORY))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one[:, beam], other, atol=1e-5)


def test_no_token_is_told_what_comes_after_it(run):
    decode = forced(built())
    changed = TARGET_IN.copy()
    changed[:, 3:] = 1
    found, expected = (run(decode, target, MEMORY)[0] for target in (changed, TARGET_IN))
    np.testing.assert_allclose(found[:, :3], expected[:, :3], atol=1e-6)
    assert not np.allclose(found[:, 3:], expected[:, 3:])


@graph_is_slow
def test_padding_of_source_and_target_means_nothing(run):
    decode = forced(built())
    target_in = np.pad(TARGET_IN, ((0, 0), (0, 2)))
    values = np.where(MASK[..., None], VALUES, 100.0).astype("float32")
    values = np.pad(values, ((0, 0), (0, 3), (0, 0)), constant_values=-50.0)
    wide = (values, np.pad(MASK, ((0, 0), (0, 3))), SUMMARY)
    logits, weights = run(decode, target_in, wide)
    expected = run(decode, TARGET_IN, MEMORY)
    np.testing.assert_allclose(logits[:, :5], expected[0], atol=1e-5)
    np.testing.assert_allclose(weights[:, :5, :4], expected[1], atol=1e-6)
    assert not weights[:, :, 4:].any()


@graph_is_slow
def test_a_row_is_decoded_alone_as_in_a_batch(run):
    decode = forced(built())
    logits, _ = run(decode, TARGET_IN, MEMORY)
    for row, length in enumerate(LENGTHS):
        alone = slice(row, row + 1)
        memory = (VALUES[alone, :length], MASK[alone, :length], SUMMARY[alone])
        found, _ = run(decode, TARGET_IN[alone], memory)
        np.testing.assert_allclose(found, logits[alone], atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_without_a_real_source_token_it_decodes_with_finite_gradients(policy):
    decoder = built(dtype=policy, attention=BahdanauAttention(3, dtype=policy))
    mask = tf.constant(MASK & [[True], [False], [True]])
    with tf.GradientTape() as tape:
        logits, weights = forced(decoder)(TARGET_IN, (VALUES, mask, SUMMARY))
        loss = tf.reduce_sum(tf.nn.log_softmax(logits)[..., 1])
    assert logits.dtype == weights.dtype == "float32"
    assert not np.any(weights[1])
    assert np.all(np.isfinite(logits))
    gradients = tape.gradient(loss, decoder.trainable_variables)
    assert all(np.all(np.isfinite(tf.convert_to_tensor(gradient))) for gradient in gradients)


@graph_is_slow
def test_dropout_is_for_training_only(run):
    decoder = built(dropout=0.3, attention=BahdanauAttention(3, dropout=0.3))
    plain = run(forced(built()), TARGET_IN, MEMORY)
    for found, expected in zip(run(forced(decoder), TARGET_IN, MEMORY), plain, strict=True):
        np.testing.assert_array_equal(found, expected)
    logits, weights = run(forced(decoder, training=True), TARGET_IN, MEMORY)
    assert not np.allclose(logits, plain[0])
    real = MASK.any(axis=1)  # rows that aren't empty
    np.testing.assert_allclose(weights[real].sum(axis=-1), 1, atol=1e-5)


@graph_is_slow
def test_embeddings_are_dropped_in_training(run):
    """They change the state and therefore the attention, unlike dropout in the readout."""
    decoder = built(dropout=0.5)
    weights, plain = (
        run(forced(decoder, training=training), TARGET_IN, MEMORY)[1] for training in (True, False)
    )
    assert not np.allclose(weights, plain, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "embeddings", "readout"),
    [
        ({"embedding_dropout": 0.5}, True, False),
        ({"readout_dropout": 0.5}, False, True),
        ({"dropout": 0.5, "embedding_dropout": 0.0}, False, True),
        ({"dropout": 0.5, "readout_dropout": 0.0}, True, False),
        ({"dropout": 0.5}, True, True),
    ],
)
def test_embeddings_and_readout_have_a_share_of_their_own(options, embeddings, readout):
    decoder = Decoder.from_config(new(**options).get_config())
    ones = np.ones((4, 100), "float32")
    dropped = decoder.embedding_dropout(ones, training=True)
    assert np.any(np.equal(dropped, 0)) == embeddings
    assert np.any(np.equal(decoder.readout.output_dropout(ones, training=True), 0)) == readout


def test_a_tied_decoder_has_one_matrix_for_embedding_and_output():
    sizes = [decoder.count_params() for decoder in (built(), built(tie_embeddings=True))]
    assert sizes[0] - sizes[1] == 7 * 5 + 7


def test_attention_is_as_wide_as_the_decoder_when_left_out():
    assert new_decoder(7, 5, 8).cell.attention.units == 8


@pytest.mark.few(1)
@KINDS
@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_it_is_saved_and_loaded_without_custom_objects(tmp_path, options, policy):
    attention = BahdanauAttention(3, dropout=0.2, dtype=policy)
    decoder = built(dtype=policy, attention=attention, dropout=0.1, **options)
    decoder.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    assert json.dumps(loaded.get_config()) == json.dumps(decoder.get_config())
    assert loaded.cell.attention.dtype_policy.name == policy
    expected = forced(decoder)(TARGET_IN, MEMORY)
    for found, one in zip(forced(loaded)(TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_array_equal(found, one)


def test_embeddings_can_only_be_shared_before_it_is_built():
    with pytest.raises(ValueError, match="before the decoder is built. Received: a built decoder"):
        built().use_embedding(keras.layers.Embedding(7, 5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary_size": 0}, "`vocabulary_size`.* positive integer. Received: .*=0"),
        ({"embedding_units": None}, "`embedding_units`.* positive integer. Received: .*=None"),
        ({"units": -3}, "`units`.* positive integer. Received: .*=-3"),
        ({"units": None}, "`units`.* positive integer. Received: .*=None"),
        ({"cell": "rnn"}, "`cell` must be one of .*'gru'.* Received: cell='rnn'"),
        ({"readout": "relu"}, "`readout` must be one of .*Received: readout='relu'"),
        ({"attention": "luong"}, "`attention` must be one of .*Received: attention='luong'"),
        ({"readout_units": 9, "tie_embeddings": True}, "as wide as an embedding. Received: .*=9, "),
        ({"dropout": 1}, r"`dropout`.* must be in \[0, 1\). Received: dropout=1"),
        ({"embedding_dropout": -0.1}, r"`embedding_dropout`.* must be in \[0, 1\). Received: "),
        ({"readout_dropout": 1.0}, r"`readout_dropout`.* must be in \[0, 1\). Received: "),
        ({"when": "after", "feed_forward_units": 9}, "feed_forward_units"),
        ({"cell": SelfAttentionCell(3, heads=1)}, r"DecoderCell\(...\). Use when='blocks'"),
        (
            {"copy": True, "attention": PastAttention(FixedContext(), 3)},
            "`copy` needs an att.*=Past",
        ),
        ({"readout": "plain", "readout_state": "previous"}, "must read the last token.*'plain'"),
        ({"readout": "attentional", "readout_state": "previous"}, "must read.*'attentional'"),
        ({"readout": "plain", "when": "apart"}, "readout='plain', cell=UnfedCell"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        new_decoder(**{"vocabulary_size": 7, "embedding_units": 4, "units": 3, **arguments})


@graph_is_slow
def test_known_alignments_are_followed_row_by_row(run):
    decoder = built(attention="forced")
    given = np.eye(4, dtype="float32")[[[0, 1, 2, 3, 3], [1, 0, 1, 0, 1], [2, 1, 0, 0, 1]]]
    logits, weights = run(lambda *args: forced(decoder, alignment=given)(*args), TARGET_IN, MEMORY)
    np.testing.assert_array_equal(weights, given)
    with pytest.raises(ValueError, match="needs known alignments. Received: no alignment"):
        forced(decoder)(TARGET_IN, MEMORY)


def cells():
    attention = BahdanauAttention(3)
    yield InputFeedingCell(8, attention, input_feeding=False, cell="lstm", depth=2)
    attention = ATTENTIONS.get("general", window="local-m")
    yield ConditionalCell(8, attention, query=("state", "task"), name="step")


@pytest.mark.few(1)
@pytest.mark.parametrize("cell", [*cells()], ids=lambda cell: type(cell).__name__)
def test_a_decoder_cell_is_given_whole_and_saved_with_the_decoder(tmp_path, cell):
    decoder = Decoder(7, 5, cell=cell, readout="plain")
    assert decoder.cell is cell and decoder.units == decoder.readout.units == 8
    decoder.build((None, None), shape_of(6))
    extract.randomize(decoder)
    expected = forced(decoder)(TARGET_IN, MEMORY)
    for found, one in zip(one_by_one(decoder)(TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-5)
    decoder.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    assert json.dumps(loaded.get_config()) == json.dumps(decoder.get_config())
    assert loaded.cell.name == cell.name and type(loaded.cell) is type(cell)
    for found, one in zip(forced(loaded)(TARGET_IN, MEMORY), expected, strict=True):
        np.testing.assert_array_equal(found, one)


@pytest.mark.parametrize("cell", ["gru", 512, keras.layers.GRUCell(8)])
def test_what_is_no_decoder_cell_is_refused(cell):
    with pytest.raises(TypeError, match="must be a decoder cell, .*Received: cell="):
        Decoder(7, 5, cell)


def test_it_has_few_arguments():
    parameters = inspect.signature(Decoder).parameters
    assert len(parameters) <= 12
