"""Alignments recorded during training: their steps, inputs and values."""

import math

import keras
import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.callbacks import AlignmentHistory

IDS = np.array([[1, 2, 3, 0], [2, 2, 0, 0], [3, 1, 2, 1]])


def new_classifier(count=1):
    """Return a compiled Keras model with attention pooling layers."""
    inputs = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(4, 3, mask_zero=True)(inputs)
    contexts = [kb.AttentionPooling(3, name=f"look_{n}")(embedded) for n in range(count)]
    context = contexts[0] if count == 1 else keras.layers.Concatenate()(contexts)
    model = keras.Model(inputs, keras.layers.Dense(1)(context))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def fit(model, history, batches, epochs=1, **settings):
    x = np.repeat(IDS[:1], 2 * batches, axis=0)
    return model.fit(
        x, np.ones(len(x)), batch_size=2, epochs=epochs, callbacks=[history], verbose=0, **settings
    )


def test_records_are_dense_at_the_start_and_the_last_step_is_one():
    history = AlignmentHistory(IDS)
    fit(new_classifier(), history, batches=13, epochs=2)
    assert history.steps == [0, 1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 26]
    assert len(history.alignments) == len(history.losses) == len(history.entropies) == 13


def test_chosen_steps_count_batches_over_epochs():
    history = AlignmentHistory(IDS, steps=[7, 0, 5, 99])
    fit(new_classifier(), history, batches=4, epochs=2)
    assert history.steps == [0, 5, 7]


def test_steps_in_one_execution_are_recorded_at_its_end():
    model = new_classifier()
    model.compile(keras.optimizers.SGD(0.1), "mse", steps_per_execution=4)
    history = AlignmentHistory(IDS, steps=[1, 4, 6])
    fit(model, history, batches=8)
    assert history.steps == [4, 8]


def test_records_are_the_weights_at_their_step():
    model = new_classifier()
    before = kb.attention_weights(model, IDS)["look_0"]
    history = AlignmentHistory(IDS, steps=[0, 3])
    losses = fit(model, history, batches=3).history["loss"]
    after = kb.attention_weights(model, IDS)["look_0"]
    for record, weights in zip(history.alignments, (before, after), strict=True):
        for one, row in zip(record, weights, strict=True):
            np.testing.assert_allclose(one.alignment, row[np.newaxis], atol=1e-6)
            assert one.scores is None and one.target_tokens == [""]
            assert one.source_tokens == ["0", "1", "2", "3"]
    assert math.isnan(history.losses[0]) and history.losses[1] == pytest.approx(losses[0])


def test_the_loss_of_a_record_is_the_mean_since_the_one_before():
    history = AlignmentHistory(IDS, steps=[0, 2, 5])
    history.set_model(new_classifier())
    history.on_train_begin()
    # Keras reports running means: the batches have 4, 2, 0 and, in the next epoch, 9, 6.
    for means in ((4.0, 3.0, 2.0), (9.0, 7.5)):
        history.on_epoch_begin(0)
        for batch, mean in enumerate(means):
            history.on_train_batch_end(batch, {"loss": mean})
    assert history.steps == [0, 2, 5] and math.isnan(history.losses[0])
    assert history.losses[1:] == pytest.approx([3, 5])


def test_labels_leave_padding_out():
    labels = [["a", "b", "c"], ["b", "b"], ["c", "a", "b", "a"]]
    history = AlignmentHistory(IDS, steps=[0, 1], source_labels=map(iter, labels))
    fit(new_classifier(), history, batches=1)
    for records in history.alignments:
        for record, tokens in zip(records, labels, strict=True):
            assert record.source_tokens == tokens and record.alignment.shape == (1, len(tokens))
            assert record.alignment.sum() == pytest.approx(1, abs=1e-5)


def test_the_entropy_is_that_of_rows_with_weights():
    history = AlignmentHistory(IDS, steps=[0])
    model = new_classifier()
    for variable in model.get_layer("look_0").trainable_variables:
        variable.assign(keras.ops.zeros_like(variable))
    fit(model, history, batches=1)
    # Equal scores over 3, 2 and 4 real positions.
    assert history.entropies[0] == pytest.approx(np.mean(np.log([3, 2, 4])), abs=1e-5)


def test_a_layer_is_chosen_by_its_name():
    history = AlignmentHistory(IDS, steps=[0], layer="look_1")
    model = new_classifier(2)
    expected = kb.attention_weights(model, IDS)["look_1"]
    fit(model, history, batches=1)
    np.testing.assert_allclose(history.alignments[0][2].alignment[0], expected[2], atol=1e-6)
    with pytest.raises(ValueError, match="layer=None. Choose one of: look_0, look_1"):
        fit(model, AlignmentHistory(IDS), batches=1)


def test_pairs_of_a_translator_have_its_traces(translator):
    pairs = [("one two", "eins zwei"), ("five", "fünf")]
    history = AlignmentHistory(pairs, translator, steps=[0])
    history.set_model(translator.model)
    history.on_train_begin()
    for record, (source, target) in zip(history.alignments[0], pairs, strict=True):
        trace = translator.trace(source, target)
        assert record.source_tokens == trace.source_tokens
        assert record.target_tokens == trace.target_tokens
        np.testing.assert_allclose(record.alignment, trace.weights, atol=1e-6)
        np.testing.assert_allclose(record.scores, trace.scores, atol=1e-5)


def test_another_model_than_that_of_the_translator_is_refused(translator):
    history = AlignmentHistory([("five", "fünf")], translator)
    with pytest.raises(ValueError, match="must have the model in training"):
        fit(new_classifier(), history, batches=1)
