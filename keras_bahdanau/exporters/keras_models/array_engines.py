"""Runtimes for `ArrayModel`: each one reads one kind of file and opens its signatures.

An engine checks its file for damage, and has the file's `card`. Its method
`open(signatures, threads)` returns a dictionary from the name of each signature to a function that
maps a dictionary of arrays to a dictionary of arrays. The function has the attributes `inputs`, a
dictionary of `Slot`, and `outputs`, a list of names.
"""

import threading
from typing import NamedTuple

import numpy as np

from keras_bahdanau.exporters.card import read_packed_card
from keras_bahdanau.exporters.onnx.onnx_file import open_sealed


class Slot(NamedTuple):
    """Dtype and shape of an input."""

    dtype: np.dtype
    shape: tuple  # None for an axis of any size

    def fits(self, array):
        """Return True if an array has this shape; its dtype does not matter."""
        return array.ndim == len(self.shape) and all(
            size in (None, actual) for size, actual in zip(self.shape, array.shape, strict=True)
        )


class LiteRTEngine:
    """Engine that runs a .tflite file with LiteRT."""

    form, runtime, package = "A .tflite file", "LiteRT", "ai-edge-litert"
    pipelines = "LiteRTPipeline or LiteRTTranslator"

    def __init__(self, path):
        from keras_bahdanau.exporters.litert.file_check import find_damage

        self.card, self._path = read_packed_card(path), path
        if findings := find_damage(path):
            raise ValueError(
                "A .tflite file must be unchanged since its export. Received: "
                f"path={str(path)!r} ({findings[0]})"
            )

    def open(self, signatures, threads):
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise ImportError(
                "Running a .tflite file needs the package ai-edge-litert. Received: an environment "
                "without it. Install it: pip install 'keras-bahdanau[litert]'"
            ) from None
        interpreter, turn = Interpreter(str(self._path), num_threads=threads), threading.Lock()
        return {
            name: _LiteRTSignature(interpreter.get_signature_runner(name), turn)
            for name in signatures
        }


class _LiteRTSignature:
    """A signature of an interpreter that runs for one thread at a time."""

    def __init__(self, runner, turn):
        self._runner, self._turn = runner, turn
        self.inputs = {
            name: Slot(np.dtype(detail["dtype"]), _declared_shape(detail))
            for name, detail in runner.get_input_details().items()
        }
        self.outputs = [*runner.get_output_details()]

    def __call__(self, arrays):
        with self._turn:
            return self._runner(**arrays)


def _declared_shape(detail):
    signature = detail.get("shape_signature")
    shape = detail["shape"] if signature is None or not len(signature) else signature
    return tuple(None if size < 0 else int(size) for size in shape)


class OnnxEngine:
    """Engine that runs an .onnx file with ONNX Runtime, for several threads concurrently."""

    form, runtime, package = "An .onnx file", "ONNX Runtime", "onnxruntime"
    pipelines = "OnnxPipeline or OnnxTranslator"

    def __init__(self, path):
        self._content, contents = open_sealed(path)
        self.card = contents.card

    def open(self, signatures, threads):
        from keras_bahdanau.exporters.onnx.onnx_runner import open_session

        if len(signatures) != 1:
            raise ValueError("its card must have one signature, like the model")
        session = open_session(self._content, threads)
        return {
            name: _OnnxSignature(session, tensors["outputs"])
            for name, tensors in signatures.items()
        }


class _OnnxSignature:
    """The only signature of an .onnx file: the graph of a session."""

    def __init__(self, session, outputs):
        from keras_bahdanau.exporters.onnx.onnx_conversion import OUT
        from keras_bahdanau.exporters.onnx.onnx_runner import dtype_of

        self._session = session
        self.inputs = {
            value.name: Slot(dtype_of(value), _known_sizes(value.shape))
            for value in session.get_inputs()
        }
        self.outputs = []
        for value in session.get_outputs():
            name = value.name
            if name not in outputs:  # renamed because an input has its name
                while name not in self.inputs and name.endswith(OUT):
                    name = name.removesuffix(OUT)
            self.outputs.append(name)

    def __call__(self, arrays):
        try:
            values = self._session.run(None, arrays)
        except Exception as error:  # ONNX Runtime's exceptions have no common base class
            raise ValueError(str(error)) from None
        return dict(zip(self.outputs, values, strict=True))


def _known_sizes(shape):
    return tuple(size if isinstance(size, int) else None for size in shape)


ENGINES = {".tflite": LiteRTEngine, ".onnx": OnnxEngine}
