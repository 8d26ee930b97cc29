"""Run an exported Keras model without Keras: named arrays in, named arrays out."""

import os
import time
from pathlib import Path

import numpy as np

from keras_bahdanau.exporters.keras_models.array_engines import ENGINES, LiteRTEngine
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import BATCH_SIZE, MOST_OF_AN_INPUT, THREADS
from keras_bahdanau.settings.option import check_value


class ArrayModel:
    """A Keras model from a file that `export_litert` or `export_onnx` wrote.

    ```python
    model = keras_bahdanau.runners.ArrayModel("mine.tflite")
    model({"ids": [[4, 8, 15]]})["dense"]  # float32 (1, classes)
    step = model.stream()  # if the file has the signature `step`
    for sample in samples:
        print(step({"sample": [sample]}))
    ```

    LiteRT runs .tflite files, and ONNX Runtime runs .onnx files; neither TensorFlow nor Keras is
    loaded. Any number of threads may share a model; with a .tflite file they take turns.

    Args:
        path: Path of the file.
        threads: Positive integer. Number of processor threads to use.

    Call arguments:
        inputs: Dictionary from the name of each input to its array, shaped as in `signatures`; or
            only the array, if there is a single input. Integers are clipped to the input's range.
            NaN is allowed only in models that check for it, such as `Forecaster`.
        signature: String, the name of a signature; by default, the first one in the file.

    Output:
        Dictionary from the name of each output to its array.

    Attributes:
        card: Dictionary, the card of the file.
        signatures: Dictionary from the name of each signature to {"inputs": ..., "outputs": ...}.
            Each of these is a dictionary from a tensor's name to its dtype and shape as text, such
            as "float32 (1, any, 8)".
        labels: List of the names of the classes, or None.

    Raises:
        FileNotFoundError: If the file does not exist.
        ImportError: If the runtime (`ai-edge-litert` or `onnxruntime`) is not installed.
        OSError: If `path` is a directory, a pipe or a device.
        TypeError: If an input is not a numeric array.
        ValueError: If the file is damaged; if the file has no such signature or input; if an input
            has the wrong shape; or if it contains non-finite values.
    """

    def __init__(self, path, threads=1):
        check_value("threads", threads, THREADS)
        self.path, self._threads = Path(path), threads
        self._engine = ENGINES.get(self.path.suffix, LiteRTEngine)(self.path)
        self.card = self._engine.card
        if "tensors" not in self.card:
            raise ValueError(
                "ArrayModel needs a file exported from a Keras model. Received: "
                f"path={str(path)!r}, which is from a pipeline. Open it with "
                f"{self._engine.pipelines}."
            )
        self.signatures = self.card["tensors"]
        self.labels = self.card.get("labels")
        self._open()

    def __repr__(self):
        parts = [
            f"{name}: {_listed(tensors['inputs'])} -> {_listed(tensors['outputs'])}"
            for name, tensors in self.signatures.items()
        ]
        return f"{type(self).__name__}({str(self.path)!r}, {'; '.join(parts)})"

    def _open(self):
        """Open the signatures, once in each process."""
        self._process, engine = os.getpid(), self._engine
        try:
            self._runners = engine.open(self.signatures, self._threads)
            if not self._runners:
                raise ValueError("its card contains no signature")
            for name, runner in self._runners.items():
                if {*runner.inputs} != {*self.signatures[name]["inputs"]}:
                    raise ValueError(f"its card and its model have different inputs in {name!r}")
            if states := {*self.card.get("states", ())}:
                step = self._runners["step"]
                if states - {*step.inputs} & {*step.outputs}:
                    raise ValueError("its card and its model have different states")
        except (KeyError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{engine.form} must contain a model that {engine.runtime} can load. Received: "
                f"path={str(self.path)!r} ({error}). Install a newer {engine.package}, or export "
                "again."
            ) from None

    def __call__(self, inputs, signature=None):
        name = next(iter(self.signatures)) if signature is None else signature
        if not isinstance(name, str) or name not in self.signatures:
            raise ValueError(
                f"`signature` must be one of {', '.join(self.signatures)}. Received: "
                f"signature={signature!r:.200}{nearest(signature, self.signatures)}"
            )
        if self._process != os.getpid():  # a fork has no threads, and perhaps a held lock
            self._inherited = self._runners  # freeing them may hang
            self._open()
        runner = self._runners[name]
        arrays = self._checked(inputs, name, runner.inputs)
        try:
            return runner(arrays)
        except (RuntimeError, ValueError) as error:
            shapes = {key: array.shape for key, array in arrays.items()}
            raise ValueError(
                f"Inputs must have shapes that the model accepts. Received: {shapes} "
                f"({' '.join(str(error).split())[:200]})."
            ) from None

    def _checked(self, inputs, signature, slots):
        """Convert inputs to arrays with the signature's dtypes.

        Raises TypeError or ValueError if they don't match the signature.
        """
        described = self.signatures[signature]["inputs"]
        if not isinstance(inputs, dict):
            inputs = dict(zip(described, [inputs], strict=False))
        require_names(f"The inputs of {signature!r}", inputs, described)
        arrays = {}
        for name in described:
            array = _fitting_array(name, inputs[name], described[name], slots[name])
            arrays[name] = _converted(array, slots[name].dtype)
            if array.dtype.kind == "f" and not np.isfinite(arrays[name]).all():
                self._check_missing(name, array, arrays[name])
        rows = {len(array) for name, array in arrays.items() if slots[name].shape[:1] == (None,)}
        if len(rows) > 1:  # a runtime may broadcast them
            shapes = {name: array.shape for name, array in arrays.items()}
            raise ValueError(
                f"The inputs of {signature!r} must have equal numbers of rows. Received: {shapes}."
            )
        return arrays

    def _check_missing(self, name, array, converted):
        """Raise ValueError for non-finite values, except for NaN if the model checks for it."""
        looks_for_nan = self.card.get("missing_values")
        wrong = np.isinf(converted) if looks_for_nan else ~np.isfinite(converted)
        if not wrong.any():
            return
        raise ValueError(
            f"The input {name!r} must contain finite {converted.dtype.name} values. Received: "
            f"{array[wrong].flat[0]}. Replace it, or make the model check for it with "
            "keras.ops.isnan."
        )

    def stream(self, rows=1):
        """Return a `Stream`, a function that reads one time step per call.

        It keeps the states between calls; they start at zero. `rows` is the number of rows per
        step, if the file accepts any number. Raises ValueError if the file has no signature `step`.
        """
        check_value("rows", rows, BATCH_SIZE)
        if "step" not in self.signatures:
            raise ValueError(
                "A model to stream must have the signature 'step'. Received: signatures "
                f"{', '.join(self.signatures)}. Export it with signatures=('step',)."
            )
        return Stream(self, rows)

    def timed(self, requests):
        """Time requests, which are pairs (signature, inputs), and return (outputs, seconds).

        The first call with each shape is slow, so it is made twice and timed the second time.
        """
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
            f"{self._engine.form} that is open can't be pickled. Received: "
            f"path={str(self.path)!r}. Pass the path to the other process, and open it there."
        )


class Stream:
    """A model that reads one time step per call: see `ArrayModel.stream`.

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
        require_names("The inputs of a time step", inputs, names)
        outputs = self._model({**inputs, **self.states}, "step")
        self.states = {name: outputs.pop(name) for name in self.states}
        return outputs


def _listed(tensors):
    return ", ".join(f"{name} {text}" for name, text in tensors.items())


def require_names(subject, inputs, names):
    """Raise ValueError unless the keys of a dictionary are these names."""
    if set(inputs) != set(names):
        received = repr(", ".join(map(str, inputs)))[1:-1]  # on one line
        raise ValueError(
            f"{subject} must be {', '.join(names) or 'none'}. Received: {received[:200] or 'none'}."
        )


def as_array(name, value):
    """Convert any value to an array. Raises ValueError for lists of different lengths."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The input {name!r} must be an array, or lists of the same length. Received: "
            f"{type(value).__name__} ({' '.join(str(error).split())[:200]})."
        ) from None


def _fitting_array(name, value, described, slot):
    """Convert an input to a numeric array. Raises an error if it does not match a `Slot`."""
    array, dtype = as_array(name, value), slot.dtype
    if array.dtype.kind not in ("biu" if dtype.kind in "iu" else "biuf"):
        raise TypeError(
            f"The input {name!r} must be an array of {dtype.name}. Received: {array.dtype.name}."
        )
    if not slot.fits(array) or not array.size:
        raise ValueError(f"The input {name!r} must be {described}. Received: shape {array.shape}.")
    if array.size > MOST_OF_AN_INPUT:
        raise ValueError(
            f"The input {name!r} must have at most {MOST_OF_AN_INPUT:,} values. Received: shape "
            f"{array.shape}. Split it into parts."
        )
    return array


def _converted(array, dtype):
    """Convert an array to a dtype; integers are clipped to the range of the dtype."""
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if array.dtype.kind == "u":
            array = np.minimum(array.astype(np.uint64), np.uint64(most))
        else:  # NumPy rejects bounds outside the range of the array's dtype
            array = np.clip(array.astype(np.int64), least, min(most, np.iinfo(np.int64).max))
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype)
