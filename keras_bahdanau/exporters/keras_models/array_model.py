"""An exported Keras model without Keras: named arrays in, named arrays out."""

import os
import threading
import time
from pathlib import Path

import numpy as np

from keras_bahdanau.exporters.card import read_packed_card
from keras_bahdanau.settings.guesses import nearest

LITERT = ".tflite"


class ArrayModel:
    """A .tflite file that `export_litert` wrote of a Keras model, run by LiteRT alone.

    ```python
    model = keras_bahdanau.runners.ArrayModel("mine.tflite")
    model({"ids": [[4, 8, 15]]})["dense"]  # float32 (1, classes)
    step = model.stream()  # of a file with the signature `step`
    for sample in samples:
        print(step({"sample": [sample]}))
    ```

    Neither TensorFlow nor Keras is loaded. Any number of threads may share a model: they take
    turns. Other .tflite files with named signatures are run, too, if they have a card.

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
        ImportError: If `ai-edge-litert` is not installed.
        TypeError: If an input is no array of numbers.
        ValueError: If the file is damaged, or a signature, the name or the shape of an input is
            not the file's.
    """

    def __init__(self, path, threads=1):
        self.path, self._threads = Path(path), threads
        self.card = read_packed_card(self.path)
        _require_whole(self.path)
        if "tensors" not in self.card:
            raise ValueError(
                "A file of ArrayModel must be of a Keras model. Received: "
                f"path={str(path)!r}, which is of a pipeline. Open it with LiteRTPipeline or "
                "LiteRTTranslator."
            )
        self.signatures = self.card["tensors"]
        self.labels = self.card.get("labels")
        self._open()

    def _open(self):
        """Make the interpreter of this process, and the runners of its signatures."""
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise ImportError(
                "Running a .tflite file needs the package ai-edge-litert. Received: an environment "
                "without it. Install it: pip install 'keras-bahdanau[litert]'"
            ) from None
        self._turn, self._process = threading.Lock(), os.getpid()
        try:
            interpreter = Interpreter(model_path=str(self.path), num_threads=self._threads)
            self._runners = {
                name: interpreter.get_signature_runner(name) for name in self.signatures
            }
            for name, runner in self._runners.items():
                if {*runner.get_input_details()} != {*self.signatures[name]["inputs"]}:
                    raise ValueError(f"its card has other inputs of {name!r} than the model")
            if "states" in self.card and {*self.card["states"]} - {
                *self.signatures["step"]["inputs"]
            }:
                raise ValueError("its card has other states than the model")
        except (KeyError, RuntimeError, ValueError) as error:
            raise ValueError(
                "A .tflite file must hold a model that LiteRT can load. Received: "
                f"path={str(self.path)!r} ({error}). Install a newer ai-edge-litert, or export "
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
        with self._turn:
            runner = self._runners[name]
            arrays = self._checked(inputs, name, runner.get_input_details())
            try:
                return runner(**arrays)
            except (RuntimeError, ValueError) as error:
                shapes = {key: array.shape for key, array in arrays.items()}
                raise ValueError(
                    f"Inputs must have a shape that the model reads. Received: {shapes} "
                    f"({' '.join(str(error).split())[:200]})."
                ) from None

    def _checked(self, inputs, signature, details):
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
            array, dtype = np.asarray(inputs[name]), np.dtype(details[name]["dtype"])
            numbers = "biu" if dtype.kind in "iu" else "biuf"
            if array.dtype.kind not in numbers:
                raise TypeError(
                    f"The input {name!r} must be an array of {dtype.name}. Received: "
                    f"{array.dtype.name}."
                )
            shape = [None if size < 0 else int(size) for size in _shape_of(details[name])]
            fits = array.ndim == len(shape) and all(
                size in (None, actual) for size, actual in zip(shape, array.shape, strict=True)
            )
            if not fits or not array.size:
                raise ValueError(
                    f"The input {name!r} must be {described[name]}. Received: shape {array.shape}."
                )
            if dtype.kind in "iu":
                limits = np.iinfo(dtype)
                array = np.clip(array, limits.min, limits.max)
            arrays[name] = np.ascontiguousarray(array, dtype)
        return arrays

    def stream(self):
        """A function of the inputs of one time step, which keeps the states; all begin with zeros.

        Raises ValueError if the file has no signature `step`.
        """
        if "step" not in self.signatures:
            raise ValueError(
                "A model to stream must have the signature 'step'. Received: signatures "
                f"{', '.join(self.signatures)}. Export it with signatures=('step',)."
            )
        return Stream(self)

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
            "A .tflite file at work can't be pickled. Received: "
            f"path={str(self.path)!r}. Give the path to the other process, which opens it itself."
        )


class Stream:
    """A model that reads one time step a call: `ArrayModel.stream`.

    Attributes:
        states: Dictionary from the name of each state to its array.
    """

    def __init__(self, model):
        self._model = model
        details = model._runners["step"].get_input_details()
        self.states = {
            name: np.zeros(details[name]["shape"], details[name]["dtype"])
            for name in model.card.get("states", ())
        }

    def __call__(self, inputs):
        names = [n for n in self._model.signatures["step"]["inputs"] if n not in self.states]
        if not isinstance(inputs, dict):
            inputs = dict(zip(names, [inputs], strict=False))
        outputs = self._model({**inputs, **self.states}, "step")
        self.states = {name: outputs.pop(name) for name in self.states}
        return outputs


def _shape_of(detail):
    """The declared shape of a tensor, -1 for any size."""
    signature = detail.get("shape_signature")
    return detail["shape"] if signature is None or not len(signature) else signature


def _require_whole(path):
    """Raise ValueError if a byte has changed since the export."""
    from keras_bahdanau.exporters.litert.file_check import find_damage

    findings = find_damage(path)
    if findings:
        raise ValueError(
            "A .tflite file must be as it was exported. Received: "
            f"path={str(path)!r} ({findings[0]})"
        )
