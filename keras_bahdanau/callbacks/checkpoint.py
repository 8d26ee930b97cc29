"""Checkpoints for resuming interrupted training runs."""

import io
import math
import time
from pathlib import Path

import h5py
import keras

from keras_bahdanau.callbacks.stopping import BatchCount, require_finite_state
from keras_bahdanau.files.integrity import Damage, check_seal, seal_of
from keras_bahdanau.files.whole_file import replacing

_METRICS = "metrics_so_far"  # sums and counts of the current epoch


class Checkpoint(keras.callbacks.Callback):
    """Callback that saves the training state: weights, optimizer, random state and progress.

    The file is replaced atomically, so it is complete even if the process is killed at any time.
    Its last 64 bytes, which HDF5 ignores, are the SHA-256 hash of all other bytes. A NaN or
    infinite weight raises FloatingPointError, and the previous file is kept. A `fit` that resumes
    within an epoch continues the metrics of this epoch, so pass it the remaining batches.

    Args:
        path: Path that ends in ".weights.h5".
        progress: `training.Progress`, which is saved with the weights. The callback updates its
            `step` (number of batches in this epoch) and `seconds` (total over all runs).
        save_freq: Positive integer. Number of batches between checkpoints, rounded up to a multiple
            of `steps_per_execution` in `compile`.
        ends_epochs: Bool. True to count each epoch at its end and save a checkpoint. Use this if
            you call `fit` yourself.

    Example:
        >>> checkpoint = Checkpoint("run.weights.h5", progress, ends_epochs=True)
        >>> if progress.step:  # the rest of an epoch
        ...     rest = data.epoch(progress.epoch, progress.step)
        ...     model.fit(rest, initial_epoch=progress.epoch, epochs=progress.epoch + 1,
        ...               shuffle=False, callbacks=[checkpoint])
        >>> model.fit(data.dataset(progress.epoch), initial_epoch=progress.epoch, epochs=9,
        ...           shuffle=False, callbacks=[checkpoint])
    """

    def __init__(self, path, progress, save_freq=100, ends_epochs=False):
        super().__init__()
        self.path = Path(path)
        self.progress = progress
        self.save_freq = save_freq
        self.ends_epochs = ends_epochs
        self._counted_until = time.monotonic()
        self._metrics = []
        self._count = BatchCount()

    def on_train_begin(self, logs=None):
        if self.progress.step and self.path.is_file():
            with h5py.File(self.path) as file:
                self._metrics = [value[()] for _, value in sorted(file.get(_METRICS, {}).items())]

    def on_epoch_begin(self, epoch, logs=None):
        self._count.begin_epoch()

    def on_train_batch_end(self, batch, logs=None):
        # Keras resets the metrics at the start of an epoch, and creates them in the first batch
        for variable, value in zip(_metric_states(self.model), self._metrics, strict=False):
            variable.assign_add(value)
        self._metrics = []
        before, steps = self.progress.step, self.params["steps"]  # None if unknown
        self.progress.step += self._count.since_last(batch, steps)
        if not self.progress.epoch and not before:
            self._count_time()  # this includes the time for compilation
        epoch_goes_on = steps is None or self._count.last + 1 < steps
        if epoch_goes_on and self.progress.step // self.save_freq > before // self.save_freq:
            self.save()

    def on_epoch_end(self, epoch, logs=None):
        if self.ends_epochs:
            logs, judges = logs or {}, ("val_perplexity", "val_loss", "loss")
            value = next((logs[name] for name in judges if name in logs), math.inf)
            self.progress.end_epoch(logs, value)
            self.save()

    def save(self):
        """Write the file now. If FloatingPointError or OSError is raised, the old file is kept."""
        require_finite_state(self.model, self.progress)
        self._count_time()
        memory = _Memory()  # HDF5 does not recover from a full disk
        self.model.save_weights(memory)
        with h5py.File(memory, "a") as file:
            file["progress"] = self.progress.dumps()
            file["random"] = [variable.numpy() for variable in random_states(self.model)]
            for index, variable in enumerate(_metric_states(self.model)):
                file[f"{_METRICS}/{index:03d}"] = keras.ops.convert_to_numpy(variable)
        seal = seal_of(memory.getbuffer())
        memory.seek(0, io.SEEK_END)
        memory.write(seal)
        unfinished = self.path.with_name(f".unfinished-{self.path.name}")
        with replacing(self.path, unfinished):
            unfinished.write_bytes(memory.getbuffer())

    def _count_time(self):
        now = time.monotonic()
        self.progress.add_time(now - self._counted_until)
        self._counted_until = now

    @staticmethod
    def restore(path, model):
        """Load the weights, optimizer and random state into a compiled model.

        Raises ValueError if the file is damaged, or was saved from a different model.
        """
        try:
            with open(path, "rb") as file:
                check_seal(file)
        except Damage as error:
            raise ValueError(
                f"A checkpoint must be intact. Received: path={str(path)!r} ({error}). "
                "Use a copy of it, or train again."
            ) from None
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        model.load_weights(path)
        with h5py.File(path) as file:
            for variable, value in zip(random_states(model), file["random"][()], strict=True):
                variable.assign(value)


class _Memory(io.BytesIO):
    """File in memory, with a name that tells Keras the format."""

    def __str__(self):
        return "memory.weights.h5"


def random_states(model):
    """Return the variables of random number generators, which Keras does not save with weights."""
    return [variable for variable in model.variables if variable.name == "seed_generator_state"]


def _metric_states(model):
    """Return the variables of the metrics: sums and counts of the current epoch."""
    return [variable for metric in model.metrics for variable in metric.variables]
