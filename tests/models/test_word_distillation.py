"""Word-level distillation: the loss matches its definition, and a student learns."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from decoders import new_decoder
from numpy.testing import assert_allclose, assert_array_equal

from keras_bahdanau.layers import BahdanauAttention, HardAlignment, UnfedCell
from keras_bahdanau.models import Encoder, Ensemble, HardDecoder, Seq2Seq
from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy, WordDistillation

END, SHARE = 3, 0.75
SOURCE = np.array([[4, 5, 4, 5, 3], [4, 3, 0, 0, 0], [5, 5, 5, 3, 0]], "int32")
TARGET = np.array([[5, 5, END, 0], [4, 5, 6, END], [END, 0, 0, 0]], "int32")
WEIGHT = np.where(TARGET > 0, [[1.0], [0.5], [2.0]], 0.0).astype("float32")
INPUTS = SOURCE, np.pad(TARGET[:, :-1], [(0, 0), (1, 0)], constant_values=2)


def new(seed, units=6, dropout=0.0, hard=False, **options):
    keras.utils.set_random_seed(seed)
    encoder = Encoder(7, 4, units // 2, dropout=dropout)
    cell = UnfedCell(units, HardAlignment(units=5)) if hard else None
    decoder = HardDecoder(7, 4, cell) if hard else new_decoder(7, 4, units, BahdanauAttention(5))
    model = Seq2Seq(encoder, decoder, **options)
    model.build()
    for variable in model.trainable_variables:  # makes distributions far from uniform
        variable.assign(3.0 * variable)
    return model


def student(teacher, loss=None, share=SHARE, **options):
    model = new(1, **options)
    model.compile(keras.optimizers.Adam(0.03), loss or TokenCrossentropy(), run_eagerly=False)
    if teacher is not None:
        model.word_distillation = WordDistillation(teacher, share)
    return model


def loss_of(model):
    output = model(INPUTS, training=True)
    return model.compute_loss(INPUTS, TARGET, output, WEIGHT, training=True)


def probs_of(model):
    """Return probabilities `(batch, target_time, vocabulary)` in float64."""
    return reference.softmax(keras.ops.convert_to_numpy(model(INPUTS)).astype(float))


def total_of(losses):
    """Return the weighted sum of losses `(batch, target_time)`."""
    return np.sum(WEIGHT * losses)


def expected_loss(model, probs, label_smoothing=0.0, units=None):
    """Return (1 - share) * loss of the true tokens + share * cross-entropy with the teacher."""
    log_probs = np.log(probs_of(model))
    own = -np.take_along_axis(log_probs, TARGET[..., None], axis=-1)[..., 0]
    own = (1 - label_smoothing) * own - label_smoothing * log_probs.mean(axis=-1)
    taught = -np.sum(probs * log_probs, axis=-1)
    return total_of((1 - SHARE) * own + SHARE * taught) / (units or WEIGHT.sum())


@pytest.mark.parametrize(
    "loss", [TokenCrossentropy(0.1), pytest.param(SentenceCrossentropy(), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("r_drop", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_the_loss_is_the_share_of_each(loss, r_drop):
    teacher = new(2, units=8)
    model = student(teacher, loss, r_drop=r_drop)  # without dropout, both passes agree
    units = 3 if isinstance(loss, SentenceCrossentropy) else None
    expected = expected_loss(model, probs_of(teacher), loss.label_smoothing, units)
    assert_allclose(loss_of(model), expected, rtol=1e-5)


@pytest.mark.slow
def test_a_loss_of_keras_a_hard_student_and_ctc_get_the_same_share():
    teacher = new(2)
    keras_loss = keras.losses.SparseCategoricalCrossentropy(
        True, reduction="mean_with_sample_weight"
    )
    for model in (student(teacher, keras_loss), student(teacher, hard=True)):
        assert_allclose(loss_of(model), expected_loss(model, probs_of(teacher)), rtol=1e-5)
    models = [student(teacher, ctc_weight=weight) for weight in (0.25, 1.0)]
    models[1].set_weights(models[0].get_weights())
    some, alone = (float(loss_of(model)) for model in models)
    tokens = expected_loss(models[0], probs_of(teacher))
    assert_allclose(some, 0.75 * tokens + 0.25 * alone, rtol=1e-5)


@pytest.mark.slow
def test_an_ensemble_teaches_its_mean():
    members = new(2), new(3)
    model = student(Ensemble(members))
    expected = expected_loss(model, np.mean([probs_of(one) for one in members], axis=0))
    assert_allclose(loss_of(model), expected, rtol=1e-5)
    assert len(model.variables) == len(new(1).variables)


@pytest.mark.slow
def test_nothing_of_a_teacher_is_trained_or_saved(tmp_path):
    members = new(2), new(3)
    model = student(Ensemble(members))
    before = [one.get_weights() for one in members]
    model.fit(INPUTS, TARGET, sample_weight=WEIGHT, verbose=0)
    for one, weights in zip(members, before, strict=True):
        for found, was in zip(one.get_weights(), weights, strict=True):
            assert_array_equal(found, was)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.word_distillation is None
    assert_array_equal(loaded(INPUTS), model(INPUTS))


@pytest.mark.slow
def test_a_regularizer_counts_once_and_whole():
    teacher = new(2)
    plain, model = student(teacher), student(teacher)
    variable = model.trainable_variables[0]
    variable.regularizer = keras.regularizers.L2(0.5)
    added = 0.5 * np.sum(np.square(keras.ops.convert_to_numpy(variable)))
    assert_allclose(loss_of(model) - loss_of(plain), added, rtol=1e-4)


def divergence(teacher, model):
    """Return KL(teacher || student) for the real tokens, in nats."""
    probs = probs_of(teacher)
    losses = np.sum(probs * (np.log(probs) - np.log(probs_of(model))), axis=-1)
    return total_of(losses) / WEIGHT.sum()


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("share", [1.0, 0.0])
def test_a_student_that_is_as_its_teacher_learns_from_the_share_of_the_targets_alone(share):
    teacher = new(2)
    model = student(teacher, share=share)
    model.set_weights(teacher.get_weights())
    with tf.GradientTape() as tape:
        loss = loss_of(model)
    found = tape.gradient(loss, [one.value for one in model.trainable_variables])
    largest = max(float(tf.reduce_max(tf.abs(tf.convert_to_tensor(one)))) for one in found)
    assert (largest < 1e-6) == (share == 1)


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.0])
def test_a_student_of_the_whole_share_comes_to_the_teacher_and_not_to_the_targets(share):
    teacher = new(2)
    model = student(teacher, share=share)
    before = divergence(teacher, model)
    model.fit(INPUTS, TARGET, sample_weight=WEIGHT, epochs=150, verbose=0)
    assert (divergence(teacher, model) < 0.1 * before) == (share == 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("reduction, units", [("sum", 1), ("sum_over_batch_size", WEIGHT.size)])
def test_the_share_is_reduced_as_the_loss_is(reduction, units):
    teacher = new(2, units=8)
    model = student(teacher, TokenCrossentropy(reduction=reduction))
    expected = expected_loss(model, probs_of(teacher), units=units)
    assert_allclose(loss_of(model), expected, rtol=1e-5)


def test_a_new_teacher_lets_keras_trace_the_training_again():
    model = student(None)
    for teacher in (WordDistillation(new(2, units=8), SHARE), None):
        model.train_function = "what an earlier fit has traced"
        model.word_distillation = teacher
        assert model.train_function is None


@pytest.mark.slow
def test_a_teacher_may_come_and_go_between_trainings():
    model, teacher = student(None), new(2, units=8)
    model.optimizer.learning_rate = 0.0

    def fitted():
        batch = tf.data.Dataset.from_tensors((INPUTS, TARGET, WEIGHT))
        return model.fit(batch, verbose=0, shuffle=False).history["loss"][0]

    alone = fitted()
    model.word_distillation = WordDistillation(teacher, SHARE)
    assert_allclose(fitted(), expected_loss(model, probs_of(teacher)), rtol=1e-5)
    model.word_distillation = None
    assert_allclose(fitted(), alone, rtol=1e-6)


def test_what_cannot_teach_is_refused():
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]. Received: share=80"):
        WordDistillation(new(2), 80)
    model = new(1)
    other = Seq2Seq(Encoder(7, 4, 3), new_decoder(9, 4, 6, BahdanauAttention(units=5)))
    with pytest.raises(ValueError, match=r"sizes \(7, 9\) .* \(7, 7\) for the student"):
        model.word_distillation = WordDistillation(other, 0.5)


@pytest.mark.slow
def test_a_teacher_has_no_dropout_and_reads_the_inputs():
    teacher = new(2, dropout=0.5)
    model = student(teacher)
    assert_allclose(loss_of(model), expected_loss(model, probs_of(teacher)), rtol=1e-5)
    output = model(INPUTS, training=True)
    with pytest.raises(
        ValueError, match=r"A teacher reads the inputs .* Received: compute_loss\(x="
    ):
        model.compute_loss(y=TARGET, y_pred=output, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match="needs the `TrainingOutput`"):
        model.compute_loss(INPUTS, TARGET, model(INPUTS), WEIGHT)
