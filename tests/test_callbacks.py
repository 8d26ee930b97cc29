"""Averaged weights, and checkpoints that training goes on from."""

import json

import h5py
import keras
import numpy as np
import pytest

from keras_bahdanau.callbacks import AveragingAdam, Checkpoint, averaged_weights

X = np.arange(12.0).reshape(6, 2).astype("float32") / 10
Y = X @ [[1.0], [-2.0]] + 0.5


def new(optimizer=None, dropout=0.0, policy=None):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dropout(dropout, seed=5),
            keras.layers.Dense(1, dtype=policy),
        ]
    )
    optimizer = optimizer or AveragingAdam(0.1, ema_momentum=0.9)
    if policy:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(optimizer, "mse", jit_compile=False)
    return model


def fit(model, x=X, y=Y, **kwargs):
    return model.fit(x, y, batch_size=1, shuffle=False, verbose=0, **kwargs)


class Record(keras.callbacks.Callback):
    """The weights after each batch."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append(self.model.get_weights())


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def average(history, momentum=0.9):
    """The moving average over recorded weights; it begins with the first."""
    found = history[0]
    for weights in history[1:]:
        found = [momentum * a + (1 - momentum) * w for a, w in zip(found, weights, strict=True)]
    return found


@pytest.mark.parametrize("policy", [None, "mixed_float16"])
def test_the_average_is_in_place_for_as_long_as_the_block_lasts(policy):
    model, record = new(policy=policy), Record()
    fit(model, callbacks=[record])
    with averaged_weights(model):
        for found, expected in zip(model.get_weights(), average(record.weights), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)
    assert_equal(model.get_weights(), record.weights[-1])


def test_the_trained_weights_come_back_after_an_error_too():
    model = new()
    fit(model)
    trained = model.get_weights()
    with pytest.raises(RuntimeError), averaged_weights(model):
        raise RuntimeError
    assert_equal(model.get_weights(), trained)


def test_fits_one_after_the_other_equal_one_long_fit():
    whole, pieces = new(), new()
    fit(whole, epochs=2)
    fit(pieces)
    with averaged_weights(pieces):
        pieces.evaluate(X, Y, verbose=0)
    fit(pieces)
    assert_equal(pieces.get_weights(), whole.get_weights())


@pytest.mark.parametrize("trained", [True, False])
def test_another_optimizer_or_an_untrained_model_is_left_alone(trained):
    model = new(keras.optimizers.Adam() if trained else None)
    if trained:
        fit(model)
    before = model.get_weights()
    with averaged_weights(model):
        assert_equal(model.get_weights(), before)
    assert_equal(model.get_weights(), before)


def test_the_optimizer_is_saved_and_loaded_without_custom_objects(tmp_path):
    model = new()
    fit(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    with averaged_weights(model), averaged_weights(loaded):
        assert_equal(loaded.get_weights(), model.get_weights())


def test_training_goes_on_from_a_checkpoint_as_if_never_stopped(tmp_path):
    """Weights, optimizer, average and the random state of dropout are all in it."""
    path, progress = tmp_path / "checkpoint.weights.h5", {"step": 0, "seconds": 0.0, "epoch": 7}
    whole = new(dropout=0.5)
    fit(whole)

    killed = new(dropout=0.5)
    fit(killed, X[:5], Y[:5], callbacks=[Checkpoint(path, progress, every=4)])
    resumed = new(dropout=0.5)
    Checkpoint.restore(path, resumed)
    with h5py.File(path) as file:
        restored = json.loads(file["progress"][()])
    assert (restored["step"], restored["epoch"]) == (4, 7)
    assert restored["seconds"] > 0
    fit(resumed, X[4:], Y[4:])
    assert_equal(resumed.get_weights(), whole.get_weights())
    with averaged_weights(resumed), averaged_weights(whole):
        assert_equal(resumed.get_weights(), whole.get_weights())


def test_a_checkpoint_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "checkpoint.weights.h5"
    fit(new(), callbacks=[Checkpoint(path, {"step": 0, "seconds": 0.0}, every=2)])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_checkpoint_that_fails_leaves_the_last_one(tmp_path):
    model, path = new(), tmp_path / "checkpoint.weights.h5"
    checkpoint = Checkpoint(path, {"step": 0, "seconds": 0.0})
    checkpoint.set_model(model)
    checkpoint.save()
    before = path.read_bytes()
    checkpoint.progress["step"] = object()  # nothing that JSON can write
    with pytest.raises(TypeError):
        checkpoint.save()
    assert path.read_bytes() == before
