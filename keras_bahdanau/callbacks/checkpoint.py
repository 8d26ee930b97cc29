"""Checkpoints from which a killed training resumes."""

import io
import time
from pathlib import Path

import h5py
import keras

from keras_bahdanau.whole_file import replacing


class Checkpoint(keras.callbacks.Callback):
    """Save all that training needs to resume: weights, optimizer, random state, progress.

    One file, replaced as a whole: killed at any moment, the last one stands.

    Args:
        path: Path that ends in ".weights.h5".
        progress: `training.Progress` that is saved with the weights. The callback
            counts its `step` (batches done in this epoch) and `seconds` (of all
            the sittings together).
        every: Positive integer. Batches from one checkpoint to the next.
    """

    def __init__(self, path, progress, every=100):
        super().__init__()
        self.path = Path(path)
        self.progress = progress
        self.every = every
        self._counted_until = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        self.progress.step += 1
        steps = self.params["steps"]  # None where Keras does not know it
        epoch_goes_on = steps is None or batch + 1 < steps
        if epoch_goes_on and self.progress.step % self.every == 0:
            self.save()

    def save(self):
        """Write the file now.

        Raises:
            OSError: If the disk does not take it. The last file stays as it was.
        """
        now = time.monotonic()
        self.progress.seconds += now - self._counted_until
        self._counted_until = now
        memory = _Memory()  # HDF5 does not outlive a disk that is full
        self.model.save_weights(memory)
        with h5py.File(memory, "a") as file:
            file["progress"] = self.progress.to_json()
            file["random"] = [variable.numpy() for variable in _random_states(self.model)]
        unfinished = self.path.with_name(f".unfinished-{self.path.name}")
        with replacing(self.path, unfinished):
            unfinished.write_bytes(memory.getbuffer())

    @staticmethod
    def restore(path, model):
        """Load weights, optimizer and random state into a compiled model."""
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        model.load_weights(path)
        with h5py.File(path) as file:
            for variable, value in zip(_random_states(model), file["random"][()], strict=True):
                variable.assign(value)


class _Memory(io.BytesIO):
    """A file in memory; Keras tells the format by the name."""

    def __str__(self):
        return "memory.weights.h5"


def _random_states(model):
    """Variables of the random numbers of dropout, which Keras leaves out of a weights file."""
    return [variable for variable in model.variables if variable.name == "seed_generator_state"]
