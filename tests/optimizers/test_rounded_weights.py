"""Weights rounded to 8 bits in training: values, steps, averages, and a whole training run."""

import dataclasses
import json

import keras
import numpy as np
import pytest
from conftest import toy_pairs
from modes import eager, xla

from keras_bahdanau.callbacks import AverageLast, Checkpoint
from keras_bahdanau.optimizers import AveragingAdam, averaged_weights
from keras_bahdanau.optimizers.adam import whole_weights
from keras_bahdanau.optimizers.rounded_weights import rounded, rounding, roundings_of
from keras_bahdanau.pipelines.tasks import Translator
from keras_bahdanau.training import Progress, TrainingOptions, train

RANDOM = np.random.default_rng(5)
KERNEL = RANDOM.normal(size=(32, 40))
X, Y = RANDOM.normal(size=(12, 32)), RANDOM.normal(size=(12, 40))
RATE, AT_ONCE = 5.0, 4  # a high rate, so that weights cross rounding boundaries


def expected(weight):
    """Round to the nearest of 255 levels from -max |w| to max |w|, in float64."""
    scale = np.abs(weight).max() / 127
    return np.rint(weight / scale) * scale


@pytest.mark.parametrize("run", [eager, pytest.param(xla, marks=pytest.mark.slow)])
def test_a_matrix_has_one_scale_a_filter_one_for_each_channel(run):
    def both(matrix, filters):
        return rounded(matrix), rounded(filters, axis=-1)

    filters = RANDOM.normal(size=(3, 3, 64, 5)) * [1, 10, 100, 0, 0.01]
    matrix, found = run(both, np.float32(KERNEL), np.float32(filters))
    np.testing.assert_allclose(matrix, expected(KERNEL), atol=1e-6)
    for channel in (0, 1, 2, 4):
        one = expected(filters[..., channel])
        np.testing.assert_allclose(found[..., channel], one, rtol=1e-5)
    assert not found[..., 3].any()  # zeros stay zeros, without a scale


def expected_of_4_bits(weight):
    """Round to 15 levels with the step size of the least squared error, in float64."""
    widest = (np.abs(weight).max() or 1.0) / 7
    tried = [
        np.clip(np.rint(weight / scale), -7, 7) * scale
        for scale in widest * np.arange(50, 101, 5) / 100
    ]
    return min(tried, key=lambda one: np.square(one - weight).sum())


@pytest.mark.parametrize("run", [eager, pytest.param(xla, marks=pytest.mark.slow)])
def test_a_matrix_of_4_bits_has_a_scale_for_each_output_with_the_least_error(run):
    columns = np.repeat([1.0, 100.0, 0.0, 0.01], 10)
    matrix = RANDOM.normal(size=(64, 40)) * columns
    matrix[5, 3], matrix[6, 13] = 9, -1500  # outliers that are clipped
    (found,) = run(lambda one: (rounded(one, -1, quantization="int4"),), np.float32(matrix))
    found = keras.ops.convert_to_numpy(found)
    for column in range(40):
        np.testing.assert_allclose(
            found[:, column], expected_of_4_bits(matrix[:, column]), rtol=1e-5, atol=1e-7
        )
    assert found[5, 3] < 9 and found[6, 13] > -1500
    assert not found[:, 20:30].any()
    again = keras.ops.convert_to_numpy(rounded(found, -1, quantization="int4"))
    np.testing.assert_allclose(again, found, rtol=1e-5)


def test_a_large_table_of_4_bits_has_a_scale_for_each_row_and_a_small_one_8_bits():
    sizes = (1400, 48), (1300, 50), (2100, 33)  # large, too small, and an odd width
    layers = [keras.layers.Embedding(rows, units) for rows, units in sizes]
    for layer in layers:
        layer.build()
    tables = [RANDOM.normal(size=size) * RANDOM.uniform(0.1, 9, (size[0], 1)) for size in sizes]
    model = keras.Sequential(layers)
    found = [
        keras.ops.convert_to_numpy(nearest_to(np.float32(table)))
        for (_, nearest_to), table in zip(roundings_of(model, "int4"), tables, strict=True)
    ]
    for row in range(0, 1400, 7):
        nearest = expected_of_4_bits(tables[0][row])
        np.testing.assert_allclose(found[0][row], nearest, rtol=1e-5, atol=1e-6)
    for table, one in zip(tables[1:], found[1:], strict=True):
        # Float32 may round a value in the middle between two levels the other way.
        assert (np.abs(one - expected(table)) > 1e-4).mean() < 1e-3


def test_parts_have_scales_of_their_own_and_small_ones_stay():
    parts = KERNEL * np.repeat([1, 9, 1], [32, 4, 4])
    found = keras.ops.convert_to_numpy(rounded(np.float32(parts), sections=[32, 36]))
    np.testing.assert_allclose(found[:, :32], expected(parts[:, :32]), atol=1e-6)
    np.testing.assert_array_equal(found[:, 32:], np.float32(parts[:, 32:]))  # only 128 values each


def test_what_was_rounded_is_rounded_to_itself():
    once = rounded(np.float32(KERNEL))
    np.testing.assert_allclose(rounded(once), once, rtol=1e-6)
    assert np.abs(once - KERNEL).max() > 1e-3


def new_line(kind=keras.optimizers.SGD, eagerly=False, **settings):
    """Return a linear model whose kernel is rounded and whose bias is not."""
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(40)])
    model.layers[0].kernel.assign(KERNEL)
    optimizer = rounding(kind)(RATE, **settings)
    optimizer.round_weights_of(model)
    model.compile(optimizer, "mse", run_eagerly=eagerly)
    return model


def train_up_to(model, count):
    for first in range(0, count, AT_ONCE):
        model.train_on_batch(X[first : first + AT_ONCE], Y[first : first + AT_ONCE])


def exact(model):
    """Return w = q + r for the kernel."""
    kernel = model.layers[0].kernel
    return kernel.numpy() + model.optimizer.remainders[id(kernel)].numpy()


@pytest.mark.parametrize("eagerly", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_step_moves_the_exact_weight_by_the_gradient_at_the_rounded_one(eagerly):
    model, weight, bias = new_line(eagerly=eagerly), KERNEL, np.zeros(40)
    for first in range(0, len(X), AT_ONCE):
        x, y = X[first : first + AT_ONCE], Y[first : first + AT_ONCE]
        read = model.get_weights()[0]
        slope = 2 * (x @ read + bias - y) / y.size
        weight, bias = weight - RATE * x.T @ slope, bias - RATE * slope.sum(axis=0)
        model.train_on_batch(x, y)
        kernel, found = model.get_weights()
        np.testing.assert_allclose(exact(model), weight, atol=1e-4)
        np.testing.assert_allclose(found, bias, atol=1e-4)
        # It is a nearest value: float32 may round the middle between two the other way.
        steps = 127 * kernel / np.abs(weight).max()
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)
        assert np.abs(kernel - weight).max() < np.abs(weight).max() / 254 + 1e-4
    assert np.abs(np.rint(127 * KERNEL / np.abs(KERNEL).max()) - steps).max() > 0.9  # it moved


def test_a_training_goes_on_from_a_checkpoint_with_what_was_taken_off(tmp_path):
    path = tmp_path / "checkpoint.weights.h5"
    whole, killed, resumed = (new_line(AveragingAdam, eagerly=True) for _ in range(3))
    train_up_to(whole, len(X))
    train_up_to(killed, 2 * AT_ONCE)
    checkpoint = Checkpoint(path, Progress())
    checkpoint.set_model(killed)
    checkpoint.save()
    Checkpoint.restore(path, resumed)
    resumed.train_on_batch(X[2 * AT_ONCE :], Y[2 * AT_ONCE :])
    np.testing.assert_array_equal(exact(resumed), exact(whole))
    np.testing.assert_array_equal(resumed.get_weights()[0], whole.get_weights()[0])


def test_the_moving_average_is_that_of_the_exact_weights():
    model, weights = new_line(AveragingAdam, eagerly=True, ema_momentum=0.9), []
    for first in range(0, len(X), AT_ONCE):
        batch = X[first : first + AT_ONCE], Y[first : first + AT_ONCE]
        model.train_on_batch(*batch)
        weights.append(exact(model))
    mean = weights[0]
    for before, weight in enumerate(weights[1:], 1):  # m_t = (t - 1) / (t + 8)
        mean = (before * mean + 9 * weight) / (before + 9)
    with averaged_weights(model):
        np.testing.assert_allclose(model.get_weights()[0], mean, atol=1e-4)


def test_a_mean_over_epochs_is_that_of_the_exact_weights():
    model, average, weights = new_line(eagerly=True), AverageLast(2, apply_at_end=False), []
    average.set_model(model)
    for epoch, first in enumerate(range(0, len(X), AT_ONCE)):
        model.train_on_batch(X[first : first + AT_ONCE], Y[first : first + AT_ONCE])
        before = model.get_weights()[0]
        with whole_weights(model):
            average.on_epoch_end(epoch)
        np.testing.assert_array_equal(model.get_weights()[0], before)
        weights.append(exact(model))
    np.testing.assert_allclose(average.weights()[0], np.mean(weights[-2:], axis=0), atol=1e-5)
    averaging = new_line(AveragingAdam, eagerly=True)  # its average has no remainder
    train_up_to(averaging, AT_ONCE)
    before = averaging.get_weights()[0]
    with whole_weights(averaging):
        np.testing.assert_array_equal(averaging.get_weights()[0], before)


PAIRS = toy_pairs()
OPTIONS = TrainingOptions(
    vocabulary_size=48, embedding_units=24, units=48, attention_units=24, dropout=0.0,
    epochs=4, batch_tokens=512, learning_rate=1e-2, ema_momentum=0.9,
)  # fmt: skip


@pytest.fixture(scope="module")
def trained_before(tmp_path_factory):
    out = tmp_path_factory.mktemp("rounded") / "before"
    train(PAIRS, PAIRS, out, OPTIONS, verbose=0, say=lambda _: None)
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"accumulate": 2},
        {"average_last": 2, "optimizer": "sgd", "learning_rate": 0.1, "ema_momentum": 0.0},
        {"precision": "bfloat16"},
        {"freeze": "encoder"},
        {"weight_decay": 0.01},
        {"quantization": "int4"},
    ],
    ids=lambda settings: "-".join(settings) or "plain",
)
def test_the_saved_model_has_rounded_weights_and_says_so(trained_before, tmp_path, settings):
    settings = {"epochs": 1, "learning_rate": 1e-2, "ema_momentum": 0.9, **settings}
    options = TrainingOptions(quantization_aware=True, **settings)
    lines = []
    new = train(
        *(PAIRS, PAIRS, tmp_path / "new", options),
        verbose=0, say=lines.append, initial=trained_before,
    )  # fmt: skip
    before, after = Translator.load(trained_before / "translator.keras"), Translator.load(new)
    assert (before.training["quantization_aware"], after.training["quantization_aware"]) == (0, 1)
    quantization = settings.get("quantization", "int8")
    pairs = [roundings_of(one.model, quantization) for one in (after, before)]
    large = [(one, old) for one, old in zip(*pairs, strict=True) if np.prod(one[0].shape) >= 1024]
    assert len(large) > 6
    for (variable, nearest_to), (old, _) in large:
        value = variable.numpy()
        np.testing.assert_allclose(nearest_to(value), value, rtol=1e-5)
        assert np.abs(nearest_to(old.numpy()) - old.numpy()).max() > 1e-4
    first = next(line for line in lines if line.startswith("before the first step"))
    (last,) = json.loads((tmp_path / "new" / "history.json").read_text())
    assert last["val_perplexity"] < float(first.split()[-2])  # it learns


@pytest.mark.slow
def test_a_killed_training_of_rounded_weights_ends_as_an_undisturbed_one(trained_before, tmp_path):
    options = TrainingOptions(quantization_aware=True, epochs=2, learning_rate=1e-3)
    settings = {"verbose": 0, "say": lambda _: None, "initial": trained_before}

    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise KeyboardInterrupt

    whole = train(PAIRS, PAIRS, tmp_path / "whole", options, **settings)
    with pytest.raises(KeyboardInterrupt):
        train(PAIRS, PAIRS, tmp_path / "parts", options, callbacks=[Stop()], **settings)
    parts = train(PAIRS, PAIRS, tmp_path / "parts", options, **settings)
    models = [Translator.load(path).model.get_weights() for path in (whole, parts)]
    for one, other in zip(*models, strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_is_off_unless_asked_for():
    assert TrainingOptions().resolved().quantization_aware is False
    asked = dataclasses.replace(TrainingOptions(), quantization_aware=True)
    assert asked.resolved().quantization_aware is True
