"""Averaged weights, over the last epochs or over several models."""

import keras
import numpy as np
import pytest
from toy_regression import assert_equal, fit, new

from keras_bahdanau.callbacks import (
    AverageLast,
    average_weights,
)


class RecordEpochs(keras.callbacks.Callback):
    """Record the weights after each epoch."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_epoch_end(self, epoch, logs=None):
        self.weights.append(self.model.get_weights())


def mean(lists):
    return [np.mean(arrays, axis=0, dtype="float64") for arrays in zip(*lists, strict=True)]


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("where", ["memory", "files"])
@pytest.mark.parametrize(("epochs", "last"), [(5, 3), (2, 3), (4, 1)])
def test_fit_ends_with_the_mean_of_the_last_epochs(where, epochs, last, tmp_path):
    model, record = new("sgd"), RecordEpochs()
    average = AverageLast(last, directory=None if where == "memory" else tmp_path / "kept")
    fit(model, epochs=epochs, callbacks=[record, average])
    assert_close(model.get_weights(), mean(record.weights[-last:]))
    assert_close(average.weights(), mean(record.weights[-last:]))


def test_the_mean_of_the_last_epochs_is_in_place_for_a_block():
    model, record, average = new("sgd"), RecordEpochs(), AverageLast(2, apply_at_end=False)
    fit(model, epochs=3, callbacks=[record, average])
    assert_equal(model.get_weights(), record.weights[-1])
    with pytest.raises(RuntimeError), average.applied():
        assert_close(model.get_weights(), mean(record.weights[-2:]))
        raise RuntimeError
    assert_equal(model.get_weights(), record.weights[-1])


def test_a_later_fit_goes_on_with_the_files_of_an_earlier_one(tmp_path):
    model, record = new("sgd"), RecordEpochs()
    for epoch in range(3):  # a new callback each time, as after a kill
        average = AverageLast(2, directory=tmp_path, apply_at_end=False)
        fit(model, epochs=epoch + 1, initial_epoch=epoch, callbacks=[record, average])
    assert_close(average.weights(), mean(record.weights[-2:]))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "epoch-00001.npz",
        "epoch-00002.npz",
    ]


@pytest.mark.slow
def test_files_of_a_longer_earlier_run_do_not_count(tmp_path):
    fit(new("sgd"), epochs=5, callbacks=[AverageLast(3, directory=tmp_path)])
    record, average = RecordEpochs(), AverageLast(3, directory=tmp_path)
    fit(new("sgd"), callbacks=[record, average])
    assert_close(average.weights(), record.weights[-1])


def test_weights_that_are_not_trained_are_left_alone():
    model = new("sgd")
    model.layers[-1].bias.trainable = False
    bias = model.layers[-1].bias
    average = AverageLast(2)
    fit(model, epochs=2, callbacks=[average])
    assert len(average.weights()) == 1
    bias.assign([7.0])
    average._apply()
    np.testing.assert_array_equal(bias, [7.0])


def test_nothing_to_average_is_an_error_but_not_at_the_end_of_fit():
    average = AverageLast(2)
    fit(new("sgd"), epochs=0, callbacks=[average])
    with pytest.raises(ValueError, match="Received: none"):
        average.weights()
    with pytest.raises(ValueError, match="Received: none"):
        average_weights([])


@pytest.mark.parametrize("epochs", [0, -1, 2.0])
def test_the_number_of_epochs_is_checked(epochs):
    with pytest.raises(ValueError, match=f"epochs={epochs}"):
        AverageLast(epochs)


class Scale(keras.layers.Layer):
    """A layer with one scalar weight, which NumPy does not return as an array."""

    def build(self, inputs_shape):
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, inputs):
        return self.scale * inputs


def test_weights_of_models_are_averaged_place_by_place():
    models = [keras.Sequential([keras.Input((2,)), Scale(), keras.layers.Dense(1)]) for _ in "abc"]
    for number, model in enumerate(models):
        weights = [1.0 + number, [[2.0 * number], [3.0]], [number**2]]
        model.set_weights([np.array(weight, "float32") for weight in weights])
    found = average_weights(model for model in models)
    assert_equal(found, [2.0, [[2.0], [3.0]], [np.float32(5 / 3)]])
    models[0].set_weights(found)


def test_models_of_other_shapes_are_refused():
    models = [keras.Sequential([keras.Input((n,)), keras.layers.Dense(1)]) for n in (2, 3)]
    with pytest.raises(ValueError, match=r"\(3, 1\), \(1,\)\] after \[\(2, 1\)"):
        average_weights(models)
