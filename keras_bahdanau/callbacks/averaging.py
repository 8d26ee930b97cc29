"""Averages of weights, over the last epochs or over several models."""

import contextlib
import io
from pathlib import Path

import keras
import numpy as np

from keras_bahdanau.files.integrity import Damage, check_seal, seal_of
from keras_bahdanau.files.whole_file import open_regular, replacing
from keras_bahdanau.optimizers.adam import restoring
from keras_bahdanau.settings import checks


class AverageLast(keras.callbacks.Callback):
    """Callback that averages the trainable weights of the last few epochs.

    This is also known as checkpoint averaging (Vaswani et al. 2017, section 6.1). `epochs`, a
    positive integer, is the number of epochs to average. The average replaces the weights at the
    end of `fit`, or within a block:

    ```python
    average = AverageLast(5, apply_at_end=False)
    model.fit(data, epochs=20, callbacks=[average])
    with average.applied():
        translator.save("average.keras")
    ```

    With a `directory`, the weights of each of these epochs are stored in a file there, so that a
    later `fit` can resume from them. Without it, they are kept in memory.
    """

    def __init__(self, epochs, directory=None, apply_at_end=True):
        super().__init__()
        self.epochs = checks.positive_integer("epochs", "the number averaged", epochs)
        self.apply_at_end = apply_at_end
        self._weights = {} if directory is None else _WeightFiles(directory)

    def on_epoch_end(self, epoch, logs=None):
        self._weights[epoch] = [
            np.array(keras.ops.convert_to_numpy(variable), "float32")
            for variable in self.model.trainable_variables
        ]
        for old in set(self._weights) - set(range(epoch - self.epochs + 1, epoch + 1)):
            del self._weights[old]

    def on_train_end(self, logs=None):
        if self.apply_at_end and set(self._weights):
            self._apply()

    def weights(self):
        """Return the average, a list with one array for each trainable variable.

        Raises ValueError before the first epoch has ended.
        """
        return _mean(self._weights[epoch] for epoch in sorted(self._weights))

    @contextlib.contextmanager
    def applied(self):
        """Use the averaged weights within a `with` block."""
        with restoring(self.model.trainable_variables):
            self._apply()
            yield

    def _apply(self):
        for variable, value in zip(self.model.trainable_variables, self.weights(), strict=True):
            variable.assign(value)


class _WeightFiles:
    """Mapping from epochs to lists of arrays, with one file per epoch."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def __iter__(self):
        paths = self.directory.glob("epoch-*.npz")
        return (int(path.stem.removeprefix("epoch-")) for path in paths)

    def __setitem__(self, epoch, weights):
        self.directory.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez(content, *weights)
        content.write(seal_of(content.getbuffer()))
        with replacing(self._path(epoch), self.directory / "unfinished.npz") as unfinished:
            unfinished.write_bytes(content.getbuffer())

    def __getitem__(self, epoch):
        try:
            with open_regular(self._path(epoch)) as content:
                check_seal(content)
                with np.load(content) as file:
                    return [file[f"arr_{index}"] for index in range(len(file.files))]
        except Damage as error:
            raise ValueError(
                "The weights of an epoch must be intact. Received: path="
                f"{str(self._path(epoch))!r} ({error}). Remove the file to average without it."
            ) from None

    def __delitem__(self, epoch):
        self._path(epoch).unlink()

    def _path(self, epoch):
        return self.directory / f"epoch-{epoch:05d}.npz"


def average_weights(models):
    """Return the average weights of models with a common ancestor, for `set_weights`.

    For example, average a model that was fine-tuned with several seeds (Wortsman et al. 2022). For
    models with different initial weights, use an `Ensemble` instead. `models` is an iterable of
    built Keras models; with a generator, only one model needs to be in memory at a time. Raises
    ValueError if the iterable is empty, or if the shapes of the weights differ.
    """
    return _mean(model.get_weights() for model in models)


def _mean(lists):
    lists = iter(lists)
    first = next(lists, None)
    if first is None:
        raise ValueError(
            "Averaging needs the weights of at least one model or epoch. Received: none. "
            "Train for an epoch, or pass a model."
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
        for running, array in zip(total, arrays, strict=True):
            running += array
    return [(sums / count).astype(array.dtype) for sums, array in zip(total, first, strict=True)]
