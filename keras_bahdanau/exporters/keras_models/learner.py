"""A model that learns on the device, with the state of its head in memory and in sealed files."""

import base64
import binascii
import threading
from pathlib import Path

import numpy as np

from keras_bahdanau.exporters.keras_models.array_model import ArrayModel, as_array, require_names
from keras_bahdanau.files.integrity import (
    Damage,
    check_fields,
    first_not_finite,
    read_sealed_json,
    write_sealed_json,
)
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import MOST_STEPS
from keras_bahdanau.settings.option import check_value, integer

FORMAT = "Learned state of a Keras model"


class Learner:
    """A model from a .tflite file with the signature `train`, which learns from corrections.

    ```python
    learner = keras_bahdanau.runners.Learner("mood.tflite")
    learner.train({"ids": [[4, 8, 15]]}, ["good"])
    learner.infer({"ids": [[4, 8, 15]]})["mood"]  # float32 (1, classes)
    learner.save("mood.learned")
    ```

    Neither TensorFlow nor Keras is loaded, and the .tflite file never changes. Any number of
    threads may share a learner; they take turns.

    Args:
        path: Path of a file that was exported with `signatures=("train",)`.
        threads: Positive integer. Number of processor threads to use.

    Attributes:
        model: The `ArrayModel` for the file.
        state: Dictionary from names to arrays: the weights of the layers that learn, and the
            state of the optimizer. Do not change it in place.

    Raises:
        ValueError: If the file has no signature `train`. Other errors are as in `ArrayModel`.
    """

    def __init__(self, path, threads=1):
        self.model = ArrayModel(path, threads)
        if "training" not in self.model.card:
            raise ValueError(
                "A file that learns must have the signature 'train'. Received: signatures "
                f"{', '.join(self.model.signatures)}. Export it with signatures=('train',)."
            )
        self._training, self._turn = self.model.card["training"], threading.Lock()
        try:
            self._first = self._first_state()
        except (KeyError, ValueError) as error:
            raise ValueError(
                "A file that learns must have a card that describes its state. Received: "
                f"path={str(path)!r} ({str(error)[:200]}). Export it again."
            ) from None
        self.state, self._previous = self._first, None

    def _first_state(self):
        """Return the state at the time of the export.

        Raises `Damage`, KeyError or ValueError if the card describes a different state.
        """
        training = self._training
        check_fields(training, {"labels": str, "weights": [str], "state": [str]})
        for name in ("classes", "ignored"):
            if not isinstance(training[name], int | None):
                raise Damage(f"its {name!r} is not a number")
        first = self.model({}, "initial_state")
        state = {name: first[name] for name in training["state"]}
        inputs = self.model.signatures["train"]["inputs"].keys()
        if not {*training["weights"]} <= {*state} <= {*inputs} - {training["labels"]}:
            raise Damage("its weights or labels don't match the signature 'train'")
        return state

    def infer(self, inputs):
        """Compute the outputs with the learned weights; inputs and outputs as in `ArrayModel`."""
        state = self.state
        weights = {name: state[name] for name in self._training["weights"]}
        return self.model({**self._named(inputs, "infer"), **weights}, "infer")

    def train(self, inputs, labels, steps=1):
        """Learn from one batch.

        Args:
            inputs: As in `infer`.
            labels: Labels of the batch. For sparse crossentropy, indices or names of classes: one
                for each row, or `(batch, time)` if the model labels each step. For other losses, an
                array with the shape of the output.
            steps: Integer from 1 to 100. Number of optimizer steps.

        Returns:
            Float, the loss before the last step.

        Raises:
            TypeError: If an array has the wrong kind of dtype.
            ValueError: If an array has the wrong shape, if a label is not a class, or if the loss
                is not finite. The state is then unchanged.
        """
        check_value("steps", steps, integer(1, MOST_STEPS))
        request = {**self._named(inputs, "train"), self._training["labels"]: self._numbers(labels)}
        with self._turn:
            state = self.state
            for _ in range(steps):
                state = self.model({**request, **state}, "train")
                loss = float(state.pop("loss")[0])
                if not np.isfinite(loss):  # it is also NaN if the weights are infinite
                    raise ValueError(
                        f"A step must have a finite loss. Received: loss={loss}. The weights are "
                        "unchanged. Look for NaN and very large values in the inputs."
                    )
                state = {name: state[name] for name in self.state}
            self._previous, self.state = self.state, state
        return loss

    def undo(self):
        """Undo the last call of `train`.

        Raises ValueError if there was none since the last undo, reset or restore.
        """
        with self._turn:
            if self._previous is None:
                raise ValueError(
                    "`undo` must follow a call of `train`. Received: nothing to undo. Restore a "
                    "saved state, or call reset()."
                )
            self.state, self._previous = self._previous, None

    def reset(self):
        """Forget everything that was learned since the export."""
        with self._turn:
            self.state, self._previous = self._first, None

    def save(self, path):
        """Atomically write the state to a sealed file.

        If the process is killed, the old file is unchanged. Raises OSError if the disk is full.
        """
        with self._turn:
            arrays = {name: _encoded(array) for name, array in self.state.items()}
            card = {"format": FORMAT, "model_sha256": self._digest(), "arrays": arrays}
            write_sealed_json(Path(path), card)

    def restore(self, path):
        """Restore a state that `save` wrote.

        Raises FileNotFoundError if the file does not exist, and ValueError if it is damaged or
        belongs to a different model. The state is then unchanged.
        """
        try:
            card = read_sealed_json(path)
            check_fields(card, {"format": str, "model_sha256": str, "arrays": {str: dict}})
            if card["model_sha256"] != self._digest():
                raise Damage("it is from a different model, or from another export of the model")
            state = {
                name: _decoded(name, card["arrays"], array) for name, array in self._first.items()
            }
        except Damage as error:
            raise ValueError(
                "A learned state must be a file that `save` wrote for this model. Received: "
                f"path={str(path)!r} ({error}). Pass a state of {str(self.model.path)!r}."
            ) from None
        with self._turn:
            self.state, self._previous = state, None

    def _digest(self):
        return self.model.card["sha256"]["model"]

    def _named(self, inputs, signature):
        """Return a dictionary of the model's inputs, without the state."""
        hidden = {*self._first, self._training["labels"]}
        names = [name for name in self.model.signatures[signature]["inputs"] if name not in hidden]
        if not isinstance(inputs, dict):
            inputs = dict(zip(names, [inputs], strict=False))
        require_names("The inputs", inputs, names)
        return inputs

    def _numbers(self, labels):
        """Convert labels to numbers. Raises ValueError for a label that is not a class."""
        array, names = as_array(self._training["labels"], labels), self.model.labels
        classes, ignored = self._training["classes"], self._training["ignored"]
        if classes is None:
            return array
        if array.dtype.kind == "U" and names is not None:
            for label in array.flat:
                if label not in names:
                    raise ValueError(
                        f"A label must be one of {', '.join(names[:20])}. Received: "
                        f"{str(label)!r:.200}{nearest(str(label), names)}"
                    )
            numbers = [names.index(label) for label in array.flat]
            return np.array(numbers, np.int32).reshape(array.shape)
        if array.dtype.kind in "iu":
            wrong = ((array < 0) | (array >= classes)) & (array != ignored)
            if wrong.any():
                raise ValueError(
                    f"A label must be an integer from 0 to {classes - 1}. Received: "
                    f"{int(array[wrong][0])}."
                )
        return array


def _encoded(array):
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    text = base64.b64encode(array.tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "base64": text}


def _decoded(name, arrays, expected):
    """Decode an array from a file. Raises `Damage` unless it has the expected dtype and shape."""
    try:
        entry = arrays[name]
        if (entry["dtype"], entry["shape"]) != (expected.dtype.name, list(expected.shape)):
            raise Damage(f"{name!r} has the wrong dtype or shape")
        content = base64.b64decode(entry["base64"], validate=True)
        little = np.frombuffer(content, expected.dtype.newbyteorder("<"))
        array = little.astype(expected.dtype).reshape(expected.shape)
    except (KeyError, TypeError, binascii.Error, ValueError) as error:
        if isinstance(error, Damage):
            raise
        raise Damage(f"{name!r} is missing or unreadable") from None
    if first_not_finite([(name, array)]) is not None:
        raise Damage(f"{name!r} is not finite")
    return array
