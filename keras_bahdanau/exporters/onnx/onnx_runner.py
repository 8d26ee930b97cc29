"""An exported ONNX file at work in ONNX Runtime: features of one input in, texts out."""

import os

import numpy as np

from keras_bahdanau.exporters.litert.on_device import OnDevicePipeline
from keras_bahdanau.exporters.onnx.onnx_file import open_sealed

_SINGULAR = {"target_lengths": "length", "scores": "score", "confidences": "confidence"}
_LENGTH = "_length"  # end of the name of an input: number of positions of another one
_QUIET = 4  # the level of ONNX Runtime's log at which it prints nothing


class OnnxRunner(OnDevicePipeline):
    """An .onnx file that `export_onnx` wrote, as `OnDevicePipeline` is for a .tflite file.

    Threads may share the object, and run concurrently.
    """

    form, runtime, package = "An .onnx file", "ONNX Runtime", "onnxruntime"

    def _unpack(self, path):
        self._content, contents = open_sealed(path)
        card = contents.card
        _check_card(self.path, card, contents.files)
        return card, contents.files

    def _open(self):
        """Create the session of this process."""
        session = open_session(self._content, self._threads)
        self._run, self._process = session, os.getpid()
        self._inputs = {value.name: value for value in session.get_inputs()}
        self._outputs = [value.name for value in session.get_outputs()]

    def _read_model(self):
        ids = next(value for value in self._run.get_outputs() if value.name == "ids")
        longest = self.card["max_target_length"] if "prefix" in self._inputs else 0
        return int(ids.shape[1]), longest, self._outputs

    def decode(self, features, labels, surfaces=()):
        """The best text for the features of one input: see `OnDevicePipeline.decode`."""
        return self.decode_nbest(features, labels, 1, surfaces=surfaces)[0]

    def decode_nbest(self, features, labels, nbest=None, prefix="", surfaces=()):
        """The best few texts for one input, best first: see `OnDevicePipeline.decode_nbest`."""
        nbest = self.most if nbest is None else nbest
        self.check_nbest(nbest)
        self._open_after_fork()
        prefix_inputs = {"prefix": [], "prefix_length": 0} if "prefix" in self._inputs else {}
        if prefix:
            prefix_inputs = self._prefix(prefix)
        outputs = self.run(_batch_of_one({**features, **prefix_inputs}, self._inputs))
        return self.hypotheses(outputs, 0, labels, nbest, surfaces)

    def hypotheses(self, outputs, row, labels, nbest, surfaces=()):
        """The best few texts of a row of the outputs, best first: `OnDeviceTranslation`."""
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
        """The inputs of a prefix."""
        self._completing = "prefix" in self._inputs or None
        return super()._prefix(prefix)

    def run(self, tensors):
        """The outputs of the graph by name, for arrays with a batch; ValueError if it fails."""
        try:
            results = self._run.run(None, tensors)
        except Exception as error:  # its classes have no base of their own
            raise ValueError(
                f"ONNX Runtime must be able to run a request. Received: path={self.path!r} "
                f"({' '.join(str(error).split())[:400]}). Correct its shapes."
            ) from None
        return dict(zip(self._outputs, results, strict=True))


def open_session(content, threads=1):
    """An `onnxruntime.InferenceSession` on the processor, of a model's bytes.

    Raises ImportError without `onnxruntime`; ValueError if it can't load the model.
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
    except Exception as error:  # its classes have no base of their own
        raise ValueError(" ".join(str(error).split())[:400]) from None


def _batch_of_one(features, inputs):
    """Arrays with a batch of 1 for the inputs of a graph; missing lengths are filled in."""
    tensors = {}
    for name, value in inputs.items():
        array = features.get(name)
        if array is None and name.endswith(_LENGTH):
            array = len(features[name.removesuffix(_LENGTH)])
        tensors[name] = _checked(name, np.asarray(array), value)
    return tensors


def _checked(name, array, value):
    """An array with a batch of 1 that suits a graph's input; else ValueError."""
    shape, dtype = value.shape[1:], dtype_of(value)
    fits = array.ndim == len(shape) and all(
        not isinstance(axis, int) or axis == size
        for axis, size in zip(shape, array.shape, strict=True)
    )
    if not fits:
        demand = ", ".join(str(axis or "positions") for axis in shape)
        raise ValueError(
            f"`{name}` must have the shape ({demand}) in this file. "
            f"Received: {array.dtype} of the shape {array.shape}."
        )
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(f"`{name}` must hold numbers that fit {dtype}. Received: {array.dtype}.")
    return np.expand_dims(array.astype(dtype), axis=0)


_DTYPES = {
    **{"tensor(float)": "float32", "tensor(int32)": "int32"},
    **{"tensor(uint8)": "uint8", "tensor(int8)": "int8"},
}


def dtype_of(value):
    """The NumPy dtype of an input or output of a session; KeyError for dtypes not exported."""
    return np.dtype(_DTYPES[value.type])


def _check_card(path, card, files):
    """Raise ValueError unless the card names the verb, the vocabularies and the limits."""
    names = card.get("vocabularies", {})
    missing = [
        name for name in ("verb", "max_source_length", "max_target_length") if not card.get(name)
    ]
    missing += [name for name in ("target", *names) if names.get(name) not in files]
    if missing:
        raise ValueError(
            "An .onnx file to run must hold a pipeline: its card says how to run it, and its "
            f"vocabularies are in it. Received: path={path!r} without {missing[0]!r}. Export it "
            "again with export_onnx."
        )
