"""Encoder: against the equations, over padding, and through a file."""

import json

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf

from keras_bahdanau.models import Encoder

SOURCE = np.array([[3, 1, 4, 1], [5, 0, 0, 0], [2, 6, 5, 0]], "int32")
LENGTHS = np.count_nonzero(SOURCE, axis=1)
POLICIES = ["float32", "mixed_float16", "mixed_bfloat16"]


def built(**kwargs):
    encoder = Encoder(7, 4, 3, **kwargs)
    encoder.build((None, None))
    return extract.randomize(encoder)


def fields(encoder, **kwargs):
    """A function of source ids that gives values, mask and summary."""
    return lambda source: encoder(source, **kwargs)[:3]


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("depth", [1, 2])
def test_each_sentence_is_encoded_as_if_it_were_alone(run, cell, depth):
    encoder = built(cell=cell, depth=depth)
    values, mask, summary = run(fields(encoder), SOURCE)
    for row, length in enumerate(LENGTHS):
        expected = reference.encoder(SOURCE[row, :length], *extract.encoder(encoder))
        np.testing.assert_allclose(values[row, :length], expected[0], atol=1e-5)
        np.testing.assert_allclose(summary[row], expected[1], atol=1e-5)
    np.testing.assert_array_equal(mask, SOURCE != 0)
    assert not values[SOURCE == 0].any()


def test_further_padding_changes_nothing(run):
    encoder = built(depth=2)
    values, mask, summary = run(fields(encoder), np.pad(SOURCE, ((0, 0), (0, 3))))
    expected = run(fields(encoder), SOURCE)
    np.testing.assert_allclose(values[:, :4], expected[0], atol=1e-6)
    np.testing.assert_array_equal(mask[:, :4], expected[1])
    np.testing.assert_allclose(summary, expected[2], atol=1e-6)
    assert not values[:, 4:].any() and not mask[:, 4:].any()


def test_the_order_of_a_batch_means_nothing(run):
    encoder = built()
    turned = run(fields(encoder), SOURCE[::-1])
    for one, other in zip(turned, run(fields(encoder), SOURCE), strict=True):
        np.testing.assert_allclose(one[::-1], other, atol=1e-6)


@pytest.mark.parametrize("policy", POLICIES)
def test_an_empty_sentence_is_encoded_as_nothing_with_finite_gradients(policy):
    encoder = built(dtype=policy)
    source = tf.constant([[3, 1], [0, 0]])
    with tf.GradientTape() as tape:
        values, mask, summary = fields(encoder)(source)
        loss = tf.reduce_sum(tf.cast(values, "float32")) + tf.reduce_sum(
            tf.cast(summary, "float32") ** 2
        )
    assert values.dtype == summary.dtype == encoder.compute_dtype
    assert not np.any(values[1]) and not np.any(mask[1]) and not np.any(summary[1])
    gradients = tape.gradient(loss, encoder.trainable_variables)
    assert all(np.all(np.isfinite(tf.convert_to_tensor(gradient))) for gradient in gradients)


def test_a_batch_of_empty_sentences_is_one_of_nothing(run):
    values, mask, summary = run(fields(built()), np.zeros((2, 1), "int32"))
    assert not values.any() and not mask.any() and not summary.any()


def test_dropout_is_for_training_only(run):
    encoder = built(dropout=0.5)
    plain = run(fields(built()), SOURCE)
    for found, expected in zip(run(fields(encoder), SOURCE), plain, strict=True):
        np.testing.assert_array_equal(found, expected)
    values, _, _ = run(fields(encoder, training=True), SOURCE)
    real = SOURCE != 0
    assert 0.2 < np.mean(values[real] == 0) < 0.8
    assert not values[~real].any()


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_it_is_saved_and_loaded_without_custom_objects(tmp_path, policy):
    encoder = built(cell="lstm", depth=2, dropout=0.1, dtype=policy)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    assert json.dumps(loaded.get_config()) == json.dumps(encoder.get_config())
    for found, expected in zip(fields(loaded)(SOURCE), fields(encoder)(SOURCE), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.xfail(reason="Keras takes no None in a model's output, and `Memory.keys` is one")
def test_it_stands_in_a_functional_model(tmp_path):
    source = keras.Input((None,), dtype="int32")
    encoder = built()
    model = keras.Model(source, encoder(source).values)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(SOURCE), encoder(SOURCE).values)


@pytest.mark.xfail(reason="Keras takes no None in a model's output, and `Memory.keys` is one")
def test_it_predicts():
    encoder = built()
    found = encoder.predict(SOURCE, verbose=0)
    np.testing.assert_allclose(found.summary, encoder(SOURCE).summary, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary_size": 0}, "`vocabulary_size`.* positive integer. Received: .*=0"),
        ({"embedding_units": 2.0}, "`embedding_units`.* positive integer. Received: .*=2.0"),
        ({"units": -3}, "`units`.* positive integer. Received: .*=-3"),
        ({"depth": 0}, "`depth`.* positive integer. Received: .*=0"),
        ({"cell": "rnn"}, "`cell` must be one of 'gru', 'lstm'. Received: cell='rnn'"),
        ({"dropout": 1.5}, r"`dropout`.* must be in \[0, 1\). Received: dropout=1.5"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        Encoder(**{"vocabulary_size": 7, "embedding_units": 4, "units": 3, **arguments})
