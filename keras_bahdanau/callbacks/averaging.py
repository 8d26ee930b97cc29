"""Averages of the weights of the last epochs, or of several models."""

import contextlib
from pathlib import Path

import keras
import numpy as np

from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.optimizers.adam import restoring
from keras_bahdanau.settings import checks


class AverageLast(keras.callbacks.Callback):
    """Average the trainable weights as they stood after each of the last few epochs.

    Also known as checkpoint averaging (Vaswani et al. 2017, section 6.1). The
    average takes the weights' place when `fit` ends, or for the time of a block:

    ```python
    average = AverageLast(5, put_at_end=False)
    model.fit(data, epochs=20, callbacks=[average])
    with average.in_place():
        translator.save("average.keras")
    ```

    Args:
        epochs: Positive integer, how many.
        directory: Path of a directory for the weights of these epochs, one file
            each, from which a later `fit` resumes; in memory when left out.
        put_at_end: Bool. True if the average takes the weights' place when `fit` ends.

    Raises:
        ValueError: If `epochs` is not a positive integer.
    """

    def __init__(self, epochs, directory=None, put_at_end=True):
        super().__init__()
        self.epochs = checks.positive_integer("epochs", "the number averaged", epochs)
        self.put_at_end = put_at_end
        self._kept = {} if directory is None else _WeightFiles(directory)

    def on_epoch_end(self, epoch, logs=None):
        self._kept[epoch] = [
            np.array(keras.ops.convert_to_numpy(variable), "float32")
            for variable in self.model.trainable_variables
        ]
        for other in set(self._kept) - set(range(epoch - self.epochs + 1, epoch + 1)):
            del self._kept[other]

    def on_train_end(self, logs=None):
        if self.put_at_end and set(self._kept):
            self._put()

    def weights(self):
        """The average: list of arrays, one for each trainable variable.

        Raises:
            ValueError: If no epoch has ended yet.
        """
        return _mean(self._kept[epoch] for epoch in sorted(self._kept))

    @contextlib.contextmanager
    def in_place(self):
        """The model with the average, for as long as the block lasts."""
        with restoring(self.model.trainable_variables):
            self._put()
            yield

    def _put(self):
        for variable, value in zip(self.model.trainable_variables, self.weights(), strict=True):
            variable.assign(value)


class _WeightFiles:
    """Lists of arrays by epoch, in one file each."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def __iter__(self):
        return (int(path.stem.removeprefix("epoch-")) for path in self._paths())

    def __setitem__(self, epoch, weights):
        self.directory.mkdir(parents=True, exist_ok=True)
        with replacing(self._path(epoch), self.directory / "unfinished.npz") as unfinished:
            np.savez(unfinished, *weights)

    def __getitem__(self, epoch):
        with np.load(self._path(epoch)) as file:
            return [file[f"arr_{index}"] for index in range(len(file.files))]

    def __delitem__(self, epoch):
        self._path(epoch).unlink()

    def _path(self, epoch):
        return self.directory / f"epoch-{epoch:05d}.npz"

    def _paths(self):
        return self.directory.glob("epoch-*.npz")


def average_weights(models):
    """The average of the weights of several models that went on from one, for `set_weights`.

    Such as one model trained further with several seeds (Wortsman et al. 2022). Models that began
    with weights of their own have nothing in common: their average knows nothing, and an `Ensemble`
    is what they go into.

    Args:
        models: Iterable of built Keras models; one at a time is kept in memory
            if it is a generator.

    Returns:
        List of NumPy arrays, as `get_weights` of each model gives.

    Raises:
        ValueError: If there is no model, or their weights differ in shape.

    Example:
        >>> further = [trained_further(model, seed) for seed in (1, 2)]
        >>> model.set_weights(average_weights(further))
    """
    return _mean(model.get_weights() for model in models)


def _mean(lists):
    """The mean of lists of arrays, place by place, added up in float64."""
    lists = iter(lists)
    first = next(lists, None)
    if first is None:
        raise ValueError(
            "Averaging needs the weights of at least one model or epoch. Received: none. "
            "Train for an epoch, or give a model."
        )
    shapes = [array.shape for array in first]
    count, total = 1, [np.array(array, "float64") for array in first]
    for arrays in lists:
        if [array.shape for array in arrays] != shapes:
            raise ValueError(
                "Weights must have the same shapes to be averaged. Received: shapes="
                f"{[array.shape for array in arrays]} after {shapes}. "
                "Average models of the same configuration."
            )
        count += 1
        for added_up, array in zip(total, arrays, strict=True):
            added_up += array
    return [
        (added_up / count).astype(array.dtype) for added_up, array in zip(total, first, strict=True)
    ]
