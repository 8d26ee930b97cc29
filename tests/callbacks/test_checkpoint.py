"""Checkpoints from which training can resume."""

import hashlib

import h5py
import numpy as np
import pytest
from full_disk import full_disk
from sealing import flips
from toy_regression import X, Y, assert_equal, fit, new

from keras_bahdanau.callbacks import Checkpoint
from keras_bahdanau.optimizers import averaged_weights
from keras_bahdanau.training import Progress


def test_training_resumes_from_a_checkpoint_as_if_never_stopped(tmp_path):
    """It contains the weights, the optimizer, the average and the random state of dropout."""
    path, progress = tmp_path / "checkpoint.weights.h5", Progress(epoch=7)
    whole = new(dropout=0.5)
    fit(whole)

    killed = new(dropout=0.5)
    fit(killed, X[:5], Y[:5], callbacks=[Checkpoint(path, progress, save_freq=4)])
    resumed = new(dropout=0.5)
    Checkpoint.restore(path, resumed)
    with h5py.File(path) as file:
        restored = Progress.loads(file["progress"][()])
    assert (restored.step, restored.epoch) == (4, 7)
    assert restored.seconds > 0
    fit(resumed, X[4:], Y[4:])
    assert_equal(resumed.get_weights(), whole.get_weights())
    with averaged_weights(resumed), averaged_weights(whole):
        assert_equal(resumed.get_weights(), whole.get_weights())


def test_the_metrics_of_an_epoch_resume_too(tmp_path):
    path, progress = tmp_path / "checkpoint.weights.h5", Progress()
    whole = fit(new()).history["loss"]
    fit(new(), X[:5], Y[:5], callbacks=[Checkpoint(path, progress, save_freq=4)])
    resumed = new()
    Checkpoint.restore(path, resumed)
    rest = fit(resumed, X[4:], Y[4:], callbacks=[Checkpoint(path, Progress(step=4), save_freq=99)])
    assert rest.history["loss"] == whole


@pytest.mark.slow
def test_the_next_epoch_begins_with_no_metrics(tmp_path):
    path = tmp_path / "checkpoint.weights.h5"
    plain = fit(new(), X[:3], Y[:3], epochs=2).history["loss"]
    saved = fit(
        new(), X[:3], Y[:3], epochs=2, callbacks=[Checkpoint(path, Progress(), save_freq=2)]
    )
    assert saved.history["loss"] == plain


def test_a_fit_of_its_own_counts_and_saves_each_epoch(tmp_path):
    path, progress = tmp_path / "checkpoint.weights.h5", Progress()
    steps = fit(new(), X[:3], Y[:3]).params["steps"]
    checkpoint = Checkpoint(path, progress, save_freq=steps, ends_epochs=True)
    losses = fit(new(), X[:3], Y[:3], epochs=2, callbacks=[checkpoint]).history["loss"]
    with h5py.File(path) as file:
        saved = Progress.loads(file["progress"][()])
    assert (saved.epoch, saved.step) == (progress.epoch, progress.step) == (2, 0)
    assert [logs["loss"] for logs in saved.history] == pytest.approx(losses)
    assert saved.best == pytest.approx(min(losses))


@pytest.mark.few(1)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["weights", "optimizer"])
def test_weights_that_diverged_are_not_saved_over_those_before(tmp_path, value, kind):
    path, model = tmp_path / "checkpoint.weights.h5", new()
    checkpoint = Checkpoint(path, Progress(epoch=1, step=7))
    checkpoint.set_model(model)
    model.optimizer.build(model.trainable_variables)
    checkpoint.save()
    before = path.read_bytes()
    spoilt = {"weights": model.weights, "optimizer": model.optimizer.variables}[kind][-1]
    spoilt.assign(spoilt * 0 + value)
    with pytest.raises(FloatingPointError, match=f"in '{spoilt.path}' after batch 7 of epoch 2"):
        checkpoint.save()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_checkpoint_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "checkpoint.weights.h5"
    fit(new(), callbacks=[Checkpoint(path, Progress(), save_freq=2)])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_checkpoint_that_fails_leaves_the_last_one(tmp_path):
    model, path = new(), tmp_path / "checkpoint.weights.h5"
    checkpoint = Checkpoint(path, Progress())
    checkpoint.set_model(model)
    checkpoint.save()
    before = path.read_bytes()
    checkpoint.progress.step = object()  # not serializable as JSON
    with pytest.raises(TypeError):
        checkpoint.save()
    assert path.read_bytes() == before


def test_hdf5_and_keras_read_a_checkpoint_with_its_seal_behind_it(tmp_path):
    model, path = new(), tmp_path / "checkpoint.weights.h5"
    model.optimizer.build(model.trainable_variables)
    checkpoint = Checkpoint(path, Progress())
    checkpoint.set_model(model)
    checkpoint.save()
    content = path.read_bytes()
    assert content[-64:] == hashlib.sha256(content[:-64]).hexdigest().encode()
    assert content[:8] == b"\x89HDF\r\n\x1a\n"
    loaded = new()
    loaded.optimizer.build(loaded.trainable_variables)
    loaded.load_weights(path)
    assert_equal(loaded.get_weights(), model.get_weights())


def test_a_checkpoint_with_one_flipped_bit_is_not_restored(tmp_path):
    model, path = new(), tmp_path / "checkpoint.weights.h5"
    model.optimizer.build(model.trainable_variables)
    checkpoint = Checkpoint(path, Progress())
    checkpoint.set_model(model)
    checkpoint.save()
    for position in flips(path, 20, np.random.default_rng(0)):
        with pytest.raises(ValueError, match="must be intact. Received: path=.*copy"):
            Checkpoint.restore(path, model)
            raise AssertionError(position)
    Checkpoint.restore(path, model)


@pytest.mark.parametrize("bytes_left", [0, 100, 2000])
def test_a_full_disk_gets_one_line_and_leaves_the_last_one(tmp_path, bytes_left):
    model, path = new(), tmp_path / "checkpoint.weights.h5"
    checkpoint = Checkpoint(path, Progress())
    checkpoint.set_model(model)
    checkpoint.save()
    before = path.read_bytes()
    assert len(before) > bytes_left
    with full_disk(bytes_left), pytest.raises(OSError, match="Received: path='.*File too large"):
        checkpoint.save()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_batches_are_counted_where_keras_takes_several_at_once(tmp_path):
    path, progress = tmp_path / "checkpoint.weights.h5", Progress()
    model = new()
    model.compile("sgd", "mse", steps_per_execution=2)
    fit(model, X[:5], Y[:5], callbacks=[Checkpoint(path, progress, save_freq=3)])
    assert progress.step == int(model.optimizer.iterations) == 5
    with h5py.File(path) as file:  # after 2, 4 and 5 batches
        assert Progress.loads(file["progress"][()]).step == 4
