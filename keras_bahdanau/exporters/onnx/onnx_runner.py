"""Decode features to texts with an exported ONNX file in ONNX Runtime, one input at a time."""

import os

import numpy as np

from keras_bahdanau.exporters.litert.on_device import OnDevicePipeline
from keras_bahdanau.exporters.onnx.onnx_file import open_sealed

_SINGULAR = {"target_lengths": "length", "scores": "score", "confidences": "confidence"}
_LENGTH = "_length"  # suffix for an input that holds the number of positions of another one
_QUIET = 4  # the log level at which ONNX Runtime prints nothing


class OnnxRunner(OnDevicePipeline):
    """An .onnx file that `export_onnx` wrote, with the methods of `OnDevicePipeline`.

    Threads may share an object, and run concurrently.
    """

    form, runtime, package = "An .onnx file", "ONNX Runtime", "onnxruntime"

    def _unpack(self, path):
        self._content, contents = open_sealed(path)
        card = contents.card
        _check_card(self.path, card, contents.files)
        return card, contents.files

    def _open(self):
        """Create the session for this process."""
        session = open_session(self._content, self._threads)
        self._run, self._process = session, os.getpid()
        self._inputs = {value.name: value for value in session.get_inputs()}
        self._outputs = [value.name for value in session.get_outputs()]

    def _read_model(self):
        ids = next(value for value in self._run.get_outputs() if value.name == "ids")
        longest = self.card["max_target_length"] if "prefix" in self._inputs else 0
        return int(ids.shape[1]), longest, self._outputs

    def decode(self, features, labels, surfaces=()):
        """Return the best text for the features of one input: see `OnDevicePipeline.decode`."""
        return self.decode_nbest(features, labels, 1, surfaces=surfaces)[0]

    def decode_nbest(self, features, labels, nbest=None, prefix="", surfaces=()):
        """Return the best few texts, best first: see `OnDevicePipeline.decode_nbest`."""
        nbest = self.most if nbest is None else nbest
        self.check_nbest(nbest)
        self._open_after_fork()
        prefix_inputs = {"prefix": [], "prefix_length": 0} if "prefix" in self._inputs else {}
        if prefix:
            prefix_inputs = self._prefix(prefix)
        outputs = self.run(_batch_of_one({**features, **prefix_inputs}, self._inputs))
        return self.hypotheses(outputs, 0, labels, nbest, surfaces)

    def hypotheses(self, outputs, row, labels, nbest, surfaces=()):
        """Return the best few texts in a row of the outputs, as a list of `OnDeviceTranslation`."""
        lists = {name: rows[row] for name, rows in outputs.items() if rows.ndim > 1}
        first, *results = (
            self._read(
                labels,
                {_SINGULAR.get(name, name): values[rank] for name, values in lists.items()},
                surfaces,
            )
            for rank in range(nbest)
        )
        return [first, *(result for result in results if result.target_tokens)]

    def _prefix(self, prefix):
        """Return the inputs for a prefix."""
        self._completing = "prefix" in self._inputs or None
        return super()._prefix(prefix)

    def run(self, tensors):
        """Run the graph on a dictionary of batched arrays, and return its outputs by name.

        Raises ValueError if it fails.
        """
        try:
            results = self._run.run(None, tensors)
        except Exception as error:  # ONNX Runtime's exceptions have no common base class
            raise ValueError(
                f"ONNX Runtime must be able to run a request. Received: path={self.path!r} "
                f"({' '.join(str(error).split())[:400]}). Correct its shapes."
            ) from None
        return dict(zip(self._outputs, results, strict=True))


def open_session(content, threads=1):
    """Open an `onnxruntime.InferenceSession` on the CPU for a model's bytes.

    Raises ImportError if `onnxruntime` is missing, and ValueError if it can't load the model.
    """
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            "Running an .onnx file needs the package onnxruntime. Received: an environment "
            "without it. Install it: pip install 'keras-bahdanau[onnx]'"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, _QUIET
    options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions have no common base class
        raise ValueError(" ".join(str(error).split())[:400]) from None


def _batch_of_one(features, inputs):
    """Add a batch axis of size 1 to the inputs of a graph, and add missing lengths."""
    tensors = {}
    for name, value in inputs.items():
        array = features.get(name)
        if array is None and name.endswith(_LENGTH):
            array = len(features[name.removesuffix(_LENGTH)])
        tensors[name] = _checked(name, np.asarray(array), value)
    return tensors


def _checked(name, array, value):
    """Add a batch axis of size 1 to an array. Raises ValueError if it doesn't match the input."""
    shape, dtype = value.shape[1:], dtype_of(value)
    fits = array.ndim == len(shape) and all(
        not isinstance(axis, int) or axis == size
        for axis, size in zip(shape, array.shape, strict=True)
    )
    if not fits:
        demand = ", ".join(str(axis or "positions") for axis in shape)
        raise ValueError(
            f"`{name}` must have the shape ({demand}) in this file. "
            f"Received: {array.dtype} with the shape {array.shape}."
        )
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(f"`{name}` must contain values that fit {dtype}. Received: {array.dtype}.")
    return np.expand_dims(array.astype(dtype), axis=0)


_DTYPES = {
    **{"tensor(float)": "float32", "tensor(int32)": "int32"},
    **{"tensor(uint8)": "uint8", "tensor(int8)": "int8"},
}


def dtype_of(value):
    """Return the NumPy dtype of an input or output of a session.

    Raises KeyError for dtypes that exports never use.
    """
    return np.dtype(_DTYPES[value.type])


def _check_card(path, card, files):
    """Raise ValueError unless the card contains the verb, the vocabularies and the limits."""
    names = card.get("vocabularies", {})
    missing = [
        name for name in ("verb", "max_source_length", "max_target_length") if not card.get(name)
    ]
    missing += [name for name in ("target", *names) if names.get(name) not in files]
    if missing:
        raise ValueError(
            "An .onnx file must contain a pipeline, with its vocabularies and a card that says how "
            f"to run it. Received: path={path!r}, which lacks {missing[0]!r}. Export it again with "
            "export_onnx."
        )
