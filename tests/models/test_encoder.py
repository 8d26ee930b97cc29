"""Encoder: its equations, padding, and saving."""

import json

import extract
import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from modes import graph_is_slow

from keras_bahdanau.layers import CELLS, READERS
from keras_bahdanau.models import Encoder

SOURCE = np.array([[3, 1, 4, 1], [5, 0, 0, 0], [2, 6, 5, 0]], "int32")
LENGTHS = np.count_nonzero(SOURCE, axis=1)
POLICIES = ["float32", "mixed_float16", "mixed_bfloat16"]


def built(**kwargs):
    encoder = Encoder(7, 4, 3, **kwargs)
    encoder.build((None, None))
    return extract.randomize(encoder)


def fields(encoder, **kwargs):
    """Return a function of source ids that returns values, mask and summary."""
    return lambda source: encoder(source, **kwargs)[:3]


TEXT_READERS = [kind for kind in READERS if kind != "pyramidal"]  # that one is for frames
OPTIONS = {
    **{kind: {"kind": kind, "depth": 2} for kind in TEXT_READERS},
    **{cell: {"cell": cell} for cell in CELLS if cell not in ("gru", "lstm")},
    "a Keras cell": {"cell": keras.layers.LSTMCell(3), "kind": "unidirectional"},
    "everything": {
        "depth": 2,
        "residual": True,
        "summary": "backward",
        "recurrent_dropout": 0.2,
        "word_dropout": 0.2,
        "dropout": 0.1,
    },
}
EACH = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@pytest.mark.few(1)
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


@pytest.mark.slow
def test_embeddings_have_a_share_of_their_own(run):
    """Embedding dropout changes the values but sets none of them to 0."""
    encoder = Encoder.from_config(built(embedding_dropout=0.5).get_config())
    encoder.build((None, None))
    extract.randomize(encoder)
    values, _, _ = run(fields(encoder, training=True), SOURCE)
    assert values[SOURCE != 0].all()
    assert not np.allclose(values, run(fields(encoder), SOURCE)[0])
    kept = built(dropout=0.5, embedding_dropout=0.0)
    whole = np.ones((4, 100), "float32")
    np.testing.assert_array_equal(kept.dropouts[0](whole, training=True), whole)


@pytest.mark.slow
def test_further_padding_changes_nothing(run):
    encode = fields(built(depth=2))
    values, mask, summary = run(encode, np.pad(SOURCE, ((0, 0), (0, 3))))
    expected = run(encode, SOURCE)
    np.testing.assert_allclose(values[:, :4], expected[0], atol=1e-6)
    np.testing.assert_array_equal(mask[:, :4], expected[1])
    np.testing.assert_allclose(summary, expected[2], atol=1e-6)
    assert not values[:, 4:].any() and not mask[:, 4:].any()


@graph_is_slow
def test_the_order_of_a_batch_means_nothing(run):
    encode = fields(built())
    turned = run(encode, SOURCE[::-1])
    for one, other in zip(turned, run(encode, SOURCE), strict=True):
        np.testing.assert_allclose(one[::-1], other, atol=1e-6)


@pytest.mark.few(1)
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


@graph_is_slow
def test_dropout_is_for_training_only(run):
    encoder = built(dropout=0.5)
    plain = run(fields(built()), SOURCE)
    for found, expected in zip(run(fields(encoder), SOURCE), plain, strict=True):
        np.testing.assert_array_equal(found, expected)
    values, _, _ = run(fields(encoder, training=True), SOURCE)
    real = SOURCE != 0
    assert 0.2 < np.mean(values[real] == 0) < 0.8
    assert not values[~real].any()


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_it_is_saved_and_loaded_without_custom_objects(tmp_path, policy):
    encoder = built(cell="lstm", depth=2, dropout=0.1, dtype=policy)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    assert json.dumps(loaded.get_config()) == json.dumps(encoder.get_config())
    for found, expected in zip(fields(loaded)(SOURCE), fields(encoder)(SOURCE), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.few(1)
@EACH
def test_each_form_encodes_a_sentence_as_if_it_were_alone(run, options):
    encoder = built(**options)
    batch = run(encoder, np.pad(SOURCE, ((0, 0), (0, 2))))
    for row, length in enumerate(LENGTHS):
        alone = keras.tree.flatten(run(encoder, SOURCE[row : row + 1, :length]))
        values, mask, *vectors = (field[0] for field in alone)
        assert mask.all()
        length = -(-length // encoder.reduction)
        np.testing.assert_allclose(batch.values[row, :length], values, atol=1e-5)
        assert not batch.values[row, length:].any()
        for found, expected in zip(keras.tree.flatten(batch[2:]), vectors, strict=True):
            np.testing.assert_allclose(found[row], expected, atol=1e-5)


@pytest.mark.few(1)
@EACH
@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "bfloat16"])
def test_each_form_takes_an_empty_sentence(options, policy):
    encoder = built(**options, dtype=policy)
    source = tf.constant([[3, 1, 4], [0, 0, 0]])
    with tf.GradientTape() as tape:
        memory = keras.tree.flatten(encoder(source))
        loss = sum(
            tf.reduce_sum(tf.cast(field, "float32") ** 2)
            for field in memory
            if field.dtype != tf.bool
        )
    assert not any(np.any(field[1]) for field in memory)
    gradients = tape.gradient(loss, encoder.trainable_variables)
    for weight, gradient in zip(encoder.trainable_variables, gradients, strict=True):
        gradient = np.float32(tf.convert_to_tensor(gradient))
        assert np.all(np.isfinite(gradient)) and np.any(gradient), weight.path


@pytest.mark.few(1)
@EACH
def test_each_form_says_its_shapes_and_widths(options):
    encoder = built(**options)
    symbols = keras.tree.flatten(encoder(keras.Input((None,), dtype="int32")))
    assert [symbol.shape for symbol in symbols] == [*filter(None, encoder.memory_shape)]
    for symbol, field in zip(symbols, keras.tree.flatten(encoder(SOURCE)), strict=True):
        assert symbol.shape[-1] in (None, field.shape[-1])
        assert symbol.dtype == keras.backend.standardize_dtype(field.dtype)


@pytest.mark.few(1)
@EACH
def test_each_form_is_saved_and_loaded_without_custom_objects(tmp_path, options):
    encoder = built(**options)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    assert json.dumps(loaded.get_config()) == json.dumps(encoder.get_config())
    for found, expected in zip(loaded(SOURCE), encoder(SOURCE), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TEXT_READERS, "everything"])
def test_each_kind_learns_in_which_half_of_the_vocabulary_the_last_token_is(name):
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    source = random.integers(1, 7, size=(64, 5)).astype("int32")
    ids = keras.Input((None,), dtype="int32")
    encoder = Encoder(7, 4, 3, **OPTIONS[name])
    model = keras.Model(ids, keras.layers.Dense(1, activation="sigmoid")(encoder(ids).last))
    model.compile(keras.optimizers.Adam(0.03), "binary_crossentropy")
    model.optimizer.build(model.trainable_variables)  # otherwise the first step is traced twice
    losses = model.fit(source, source[:, -1:] > 3, epochs=12, verbose=0).history["loss"]
    assert losses[-1] < 0.85 * losses[0]


@pytest.mark.slow
@EACH
def test_each_form_converts_with_built_in_operations_only(tmp_path, options):
    from ai_edge_litert.interpreter import Interpreter

    encoder, module = built(**options), tf.Module()
    module.weights = [weight.value for weight in encoder.weights]

    def fields(source):  # omits fields that aren't tensors, such as symbols without copying
        return {
            name: one
            for name, one in encoder(source)._asdict().items()
            if not isinstance(one, tuple)
        }

    function = tf.function(fields, input_signature=[tf.TensorSpec((1, 4), "int32")])
    tf.saved_model.save(module, tmp_path, signatures=function.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    runner = Interpreter(model_content=converter.convert()).get_signature_runner()
    for row in (*SOURCE, np.zeros(4, "int32")):
        expected = fields(row[None])
        for name, found in runner(source=row[None]).items():
            np.testing.assert_allclose(found, expected[name], atol=1e-5)


@graph_is_slow
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["bidirectional", "unidirectional"])
def test_residual_layers_add_what_comes_in_from_the_second_one_up(run, kind):
    encoder = built(kind=kind, depth=3, residual=True)
    values = encoder.front_end.embedding(SOURCE)
    for index, reader in enumerate(encoder.readers):
        values = reader(values, LENGTHS.astype("int32")) + (values if index else 0)
    found = run(encoder, SOURCE).values
    np.testing.assert_allclose(found[SOURCE != 0], np.asarray(values)[SOURCE != 0], atol=1e-6)


@pytest.mark.slow
def test_the_summary_is_the_mean_or_what_a_direction_ends_with(run):
    found = {name: run(built(summary=name), SOURCE) for name in ("mean", "last", "backward")}
    values = found["mean"].values
    for row, length in enumerate(LENGTHS):
        mean, last, backward = (memory.summary[row] for memory in found.values())
        np.testing.assert_allclose(mean, values[row, :length].mean(axis=0), atol=1e-6)
        np.testing.assert_array_equal(backward, values[row, 0, 3:])
        np.testing.assert_array_equal(last, [*values[row, length - 1, :3], *backward])
        np.testing.assert_array_equal(found["mean"].last[row], last)


@graph_is_slow
def test_the_task_is_the_first_tokens_embedding_without_dropout(run):
    encoder = built(dropout=0.5, word_dropout=0.5)
    memory = run(lambda source: encoder(source, training=True), SOURCE)
    np.testing.assert_array_equal(memory.task, encoder.front_end.embedding(SOURCE[:, 0]))


@graph_is_slow
def test_word_dropout_hides_whole_tokens_in_training_only(run):
    encoder = built(kind="convolutional", word_dropout=0.5)
    plain = run(encoder, SOURCE)
    source = np.tile(SOURCE[:1], (30, 1))
    hidden = run(lambda source: encoder(source, training=True), source).values
    assert len(np.unique(hidden.round(5), axis=0)) > 5
    np.testing.assert_array_equal(run(built(kind="convolutional"), SOURCE).values, plain.values)


@pytest.mark.few(1)
@graph_is_slow
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_the_embedding_of_padding_holds_reaches_nothing(run, value):
    encoder = built()
    expected = run(encoder, SOURCE)
    table = encoder.front_end.embedding.get_weights()[0]
    table[0] = value
    encoder.front_end.embedding.set_weights([table])
    for found, field in zip(run(encoder, SOURCE), expected, strict=True):
        np.testing.assert_array_equal(found, field)


@pytest.mark.slow
def test_it_stands_in_a_functional_model(tmp_path):
    source = keras.Input((None,), dtype="int32")
    encoder = built()
    model = keras.Model(source, encoder(source).values)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(SOURCE), encoder(SOURCE).values)


def test_it_predicts():
    encoder = built()
    found = encoder.predict(SOURCE, verbose=0)
    for one, other in zip(found, encoder(SOURCE), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary_size": 0}, "`vocabulary_size`.* positive integer. Received: .*=0"),
        ({"embedding_units": 2.0}, "`embedding_units`.* positive integer. Received: .*=2.0"),
        ({"units": -3}, "`units`.* positive integer. Received: .*=-3"),
        ({"depth": 0}, "`depth`.* positive integer. Received: .*=0"),
        ({"cell": "rnn"}, "`cell` must be one of 'simple', .*. Received: cell='rnn'"),
        ({"kind": "cnn"}, "`kind` must be one of 'bidirectional', .*. Received: kind='cnn'"),
        ({"summary": "max"}, "`summary` must be one of 'mean', .*. Received: summary='max'"),
        ({"summary": "backward", "kind": "unidirectional"}, "needs a reader with a backward"),
        ({"summary": "backward", "kind": "convolutional"}, "needs a reader with a backward"),
        ({"recurrent_dropout": 1.0}, r"`recurrent_dropout`.* must be in \[0, 1\)."),
        ({"recurrent_dropout": 0.1, "kind": "convolutional"}, "readers with a recurrent state"),
        ({"word_dropout": -1}, r"`word_dropout`.* must be in \[0, 1\). Received: .*=-1"),
        ({"embedding_dropout": 2}, r"`embedding_dropout`.* must be in \[0, 1\). Received: "),
        ({"dropout": 1.5}, r"`dropout`.* must be in \[0, 1\). Received: dropout=1.5"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        Encoder(**{"vocabulary_size": 7, "embedding_units": 4, "units": 3, **arguments})
