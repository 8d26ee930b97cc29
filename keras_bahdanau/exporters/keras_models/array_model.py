"""An exported Keras model without Keras: named arrays in, named arrays out."""

import os
import time
from pathlib import Path

import numpy as np

from keras_bahdanau.exporters.keras_models.array_engines import ENGINES, LiteRTEngine
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value


class ArrayModel:
    """A file that `export_litert` or `export_onnx` wrote of a Keras model, without Keras.

    ```python
    model = keras_bahdanau.runners.ArrayModel("mine.tflite")
    model({"ids": [[4, 8, 15]]})["dense"]  # float32 (1, classes)
    step = model.stream()  # of a file with the signature `step`
    for sample in samples:
        print(step({"sample": [sample]}))
    ```

    LiteRT runs a .tflite file, ONNX Runtime an .onnx file; neither TensorFlow nor Keras is loaded.
    Any number of threads may share a model; those of a .tflite file take turns.

    Args:
        path: Path of the file.
        threads: Positive integer. Processor threads to use.

    Call arguments:
        inputs: Dictionary from the name of each input to its array, as wide as `tensors` says; an
            array alone for the only one.
        signature: String; the first signature of the file by default.

    Output:
        Dictionary from the name of each output to its array.

    Attributes:
        card: Dictionary, the card of the file.
        signatures: Dictionary from a name to {"inputs": ..., "outputs": ...}, each a dictionary
            from a name to dtype and shape in words, such as "float32 (1, any, 8)".
        labels: List of the names of the classes, or None.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If `ai-edge-litert`, or `onnxruntime`, is not installed.
        TypeError: If an input is no array of numbers.
        ValueError: If the file is damaged, or a signature, the name or the shape of an input is
            not the file's.
    """

    def __init__(self, path, threads=1):
        self.path, self._threads = Path(path), threads
        self._engine = ENGINES.get(self.path.suffix, LiteRTEngine)(self.path)
        self.card = self._engine.card
        if "tensors" not in self.card:
            raise ValueError(
                "A file of ArrayModel must be of a Keras model. Received: "
                f"path={str(path)!r}, which is of a pipeline. Open it with "
                f"{self._engine.pipelines}."
            )
        self.signatures = self.card["tensors"]
        self.labels = self.card.get("labels")
        self._open()

    def _open(self):
        """Open the signatures in this process."""
        self._process, engine = os.getpid(), self._engine
        try:
            self._runners = engine.open(self.signatures, self._threads)
            for name, runner in self._runners.items():
                if {*runner.inputs} != {*self.signatures[name]["inputs"]}:
                    raise ValueError(f"its card has other inputs of {name!r} than the model")
            if "states" in self.card and {*self.card["states"]} - {
                *self.signatures["step"]["inputs"]
            }:
                raise ValueError("its card has other states than the model")
        except (KeyError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{engine.form} must hold a model that {engine.runtime} can load. Received: "
                f"path={str(self.path)!r} ({error}). Install a newer {engine.package}, or export "
                "again."
            ) from None

    def __call__(self, inputs, signature=None):
        name = next(iter(self.signatures)) if signature is None else signature
        if name not in self.signatures:
            raise ValueError(
                f"`signature` must be one of {', '.join(self.signatures)}. Received: "
                f"signature={signature!r}{nearest(signature, self.signatures)}"
            )
        if self._process != os.getpid():  # a fork has no threads, and perhaps a held lock
            self._inherited = self._runners  # to free them may hang
            self._open()
        runner = self._runners[name]
        arrays = self._checked(inputs, name, runner.inputs)
        try:
            return runner(arrays)
        except (RuntimeError, ValueError) as error:
            shapes = {key: array.shape for key, array in arrays.items()}
            raise ValueError(
                f"Inputs must have a shape that the model reads. Received: {shapes} "
                f"({' '.join(str(error).split())[:200]})."
            ) from None

    def _checked(self, inputs, signature, slots):
        """Inputs as arrays of the signature's dtypes; TypeError or ValueError for others."""
        described = self.signatures[signature]["inputs"]
        if not isinstance(inputs, dict):
            inputs = dict(zip(described, [inputs], strict=False))
        if set(inputs) != set(described):
            raise ValueError(
                f"The inputs of {signature!r} must be {', '.join(described)}. Received: "
                f"{', '.join(map(str, inputs)) or 'none'}."
            )
        arrays = {}
        for name in described:
            array, dtype = np.asarray(inputs[name]), slots[name].dtype
            numbers = "biu" if dtype.kind in "iu" else "biuf"
            if array.dtype.kind not in numbers:
                raise TypeError(
                    f"The input {name!r} must be an array of {dtype.name}. Received: "
                    f"{array.dtype.name}."
                )
            if not slots[name].fits(array) or not array.size:
                raise ValueError(
                    f"The input {name!r} must be {described[name]}. Received: shape {array.shape}."
                )
            if dtype.kind in "iu":
                limits = np.iinfo(dtype)
                array = np.clip(array, limits.min, limits.max)
            arrays[name] = np.ascontiguousarray(array, dtype)
        return arrays

    def stream(self, rows=1):
        """A function of the inputs of one time step, which keeps the states; all begin with zeros.

        `rows` are those of each step, for a file that takes any number. Raises ValueError if the
        file has no signature `step`.
        """
        check_value("rows", rows, BATCH_SIZE)
        if "step" not in self.signatures:
            raise ValueError(
                "A model to stream must have the signature 'step'. Received: signatures "
                f"{', '.join(self.signatures)}. Export it with signatures=('step',)."
            )
        return Stream(self, rows)

    def timed(self, requests):
        """(outputs, seconds) of (signature, inputs) pairs, after a first call of each shape."""
        outputs, seconds, seen = [], [], set()
        for signature, inputs in requests:
            shapes = (signature, *(array.shape for array in inputs.values()))
            if shapes not in seen:
                seen.add(shapes)
                self(inputs, signature)
            began = time.perf_counter()
            outputs.append(self(inputs, signature))
            seconds.append(time.perf_counter() - began)
        return outputs, seconds

    def __reduce__(self):
        raise TypeError(
            f"{self._engine.form} at work can't be pickled. Received: "
            f"path={str(self.path)!r}. Give the path to the other process, which opens it itself."
        )


class Stream:
    """A model that reads one time step a call: `ArrayModel.stream`.

    Attributes:
        states: Dictionary from the name of each state to its array.
    """

    def __init__(self, model, rows):
        self._model, self.states = model, {}
        for name in model.card.get("states", ()):
            dtype, (batch, *axes) = model._runners["step"].inputs[name]
            shape = (batch or rows, *(size or 1 for size in axes))
            self.states[name] = np.zeros(shape, dtype)

    def __call__(self, inputs):
        names = [n for n in self._model.signatures["step"]["inputs"] if n not in self.states]
        if not isinstance(inputs, dict):
            inputs = dict(zip(names, [inputs], strict=False))
        outputs = self._model({**inputs, **self.states}, "step")
        self.states = {name: outputs.pop(name) for name in self.states}
        return outputs
