"""Runs a SavedModel as TensorFlow Serving does: in its C++ loader, without Python TensorFlow.

The model server is a C++ program: no Keras, no Python function and no XLA compiler stand behind
an artefact there. `run_in_clean_process` asks a SavedModel under the same conditions, in a new
process that calls TensorFlow's C library and imports neither `tensorflow` nor `keras`.
This module therefore needs nothing but the standard library and NumPy, and is its own script:

    python -m keras_bahdanau.exporters.cpp_loader SAVED_MODEL REQUESTS.npz ANSWERS.npz
"""

import argparse
import contextlib
import ctypes
import functools
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numpy as np

_DTYPES = {  # the numbers of TensorFlow's `DataType`
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    7: np.dtype(object),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    19: np.dtype(np.float16),
}
_NUMBERS = {dtype: number for number, dtype in _DTYPES.items()}
_STRING_SIZE = 24  # bytes of one `TF_TString`, the same on every 64-bit system


class TensorSpec(NamedTuple):
    """One argument or result of a signature.

    Attributes:
        tensor: Name of the tensor in the graph, such as `"serving_default_text:0"`.
        dtype: NumPy dtype, `object` for strings; None if this module can't carry the type.
        shape: Tuple with None for each unknown dimension; None if the rank is unknown.
    """

    tensor: str
    dtype: np.dtype | None
    shape: tuple[int | None, ...] | None


class Signature(NamedTuple):
    """The arguments and the results of one signature, by name."""

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]


class SavedModelSession:
    """A SavedModel in TensorFlow's C++ loader, with XLA disabled as in the model server.

    Only for a process that has not imported `tensorflow`, since XLA is disabled for the whole
    process: elsewhere call `run_in_clean_process`.

    Args:
        directory: Path of the SavedModel, the directory that holds `saved_model.pb`.
        tags: Tags of the graph to load.

    Attributes:
        signatures: Dictionary from a signature's name to its `Signature`.

    Raises:
        RuntimeError: If Python TensorFlow is imported already, if TensorFlow's C++ library is
            missing, or if the SavedModel can't be loaded.

    Example:
        with SavedModelSession("models/en-de/1") as session:
            session.run("serving_default", text=np.array([b"A man."], dtype=object))
    """

    def __init__(self, directory, tags=("serve",)):
        self._library = _load_library()
        self._owned = contextlib.ExitStack()
        try:
            self.signatures = self._load(os.fsencode(directory), [tag.encode() for tag in tags])
        except BaseException:
            self.close()
            raise

    def _load(self, directory, tags):
        library = self._library
        options = library.TF_NewSessionOptions()
        self._owned.callback(library.TF_DeleteSessionOptions, options)
        self._graph = library.TF_NewGraph()
        self._owned.callback(library.TF_DeleteGraph, self._graph)
        buffer = library.TF_NewBuffer()
        try:
            labels = (ctypes.c_char_p * len(tags))(*tags)
            arguments = (options, None, directory, labels, len(tags), self._graph, buffer)
            self._session = _call(library, "TF_LoadSessionFromSavedModel", *arguments)
            self._owned.callback(_call, library, "TF_DeleteSession", self._session)
            self._owned.callback(_call, library, "TF_CloseSession", self._session)
            meta_graph = _Buffer.from_address(buffer)
            return _read_signatures(ctypes.string_at(meta_graph.data, meta_graph.length))
        finally:
            library.TF_DeleteBuffer(buffer)

    def run(self, signature, /, **inputs):
        """Runs one signature.

        Args:
            signature: Name of the signature.
            **inputs: One array for each argument of the signature, with exactly its dtype;
                for a string argument an array or list of `str` or `bytes`. Any rank.

        Returns:
            Dictionary from a result's name to its array; strings are `bytes` in an object array.

        Raises:
            ValueError: If the signature or the names of the arguments are not the model's.
            TypeError: If an argument has another dtype than the signature's.
            RuntimeError: If the graph fails, with TensorFlow's own message.
        """
        arrays = self._check(signature, inputs)
        arguments, results = self.signatures[signature]
        with contextlib.ExitStack() as owned:
            fed = [_new_tensor(self._library, array, owned) for array in arrays]
            feeds = (self._find(arguments), (ctypes.c_void_p * len(fed))(*fed), len(fed))
            fetched = (ctypes.c_void_p * len(results))()
            fetches = (self._find(results), fetched, len(results))
            _call(
                self._library, "TF_SessionRun", self._session, None, *feeds, *fetches, None, 0, None
            )
            for tensor in fetched:
                owned.callback(self._library.TF_DeleteTensor, tensor)
            tensors = zip(results, fetched, strict=True)
            return {name: _read_tensor(self._library, tensor) for name, tensor in tensors}

    def _check(self, signature, inputs):
        """Returns the inputs as arrays, in the signature's order."""
        if self._session is None:
            raise RuntimeError("The session must be open. Received: a closed one. Load it again.")
        if signature not in self.signatures:
            raise ValueError(
                f"`signature` must be one of {sorted(self.signatures)}. "
                f"Received: signature={signature!r}"
            )
        arguments = self.signatures[signature].inputs
        if inputs.keys() != arguments.keys():
            raise ValueError(
                f"The arguments of signature {signature!r} must be {sorted(arguments)}. "
                f"Received: {sorted(inputs)}"
            )
        arrays = {name: _as_array(inputs[name]) for name in arguments}
        for name, array in arrays.items():
            if array.dtype != arguments[name].dtype:
                raise TypeError(
                    f"`{name}` of signature {signature!r} must have dtype "
                    f"{arguments[name].dtype}. Received: {name}.dtype={array.dtype}"
                )
        return arrays.values()

    def _find(self, specs):
        """Returns the graph's outputs that stand for arguments or results."""
        outputs = (_Output * len(specs))()
        for output, (name, spec) in zip(outputs, specs.items(), strict=True):
            operation, _, index = spec.tensor.rpartition(":")
            output.operation = self._library.TF_GraphOperationByName(
                self._graph, operation.encode()
            )
            if spec.dtype is None or not output.operation:
                raise RuntimeError(
                    "Each argument and result must be a dense tensor of one of the dtypes "
                    f"{sorted(map(str, _NUMBERS))}. Received: {name}={spec}"
                )
            output.index = int(index)
        return outputs

    def close(self):
        """Frees the session; calling it again does nothing."""
        self._session = None
        self._owned.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def run_in_clean_process(directory, requests):
    """Runs requests against a SavedModel in a new process without Python TensorFlow or Keras.

    The process sees no GPU, as in the stock image of the model server: a graph that can only run
    on one fails here.

    Args:
        directory: Path of the SavedModel, the directory that holds `saved_model.pb`.
        requests: List of `(signature, {argument: array})`, as `SavedModelSession.run` takes them.

    Returns:
        List with one dictionary from a result's name to its array for each request.

    Raises:
        RuntimeError: If loading the model or any request fails, with what the process said last.

    Example:
        text = np.array(["A man."], dtype=object)
        answers = run_in_clean_process("models/en-de/1", [("serving_default", {"text": text})])
        answers[0]["translation"]  # array([b'Ein Mann.'], dtype=object)
    """
    with tempfile.TemporaryDirectory() as scratch:
        asked, answered = pathlib.Path(scratch, "asked.npz"), pathlib.Path(scratch, "answered.npz")
        _write(asked, requests)
        child = subprocess.run(
            [sys.executable, __file__, os.fspath(directory), asked, answered],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"},
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        if child.returncode:
            lines = child.stderr.strip().splitlines() or [f"exit code {child.returncode}"]
            raise RuntimeError(f"TensorFlow's C++ loader refused {directory}: {lines[-1]}")
        return [results for _, results in _read(answered)]


class _Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]  # and a third, not read


class _Output(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


_DISABLE_XLA = "_ZN10tensorflow21DisableXlaCompilationEv"  # the model server calls it at its start
_C_TYPES = {
    "a": ctypes.c_void_p,  # any address
    "i": ctypes.c_int,
    "n": ctypes.c_int64,  # a size
    "s": ctypes.c_char_p,
    "v": None,  # void
}
_FUNCTIONS = {  # name: result, arguments (tensorflow/c: c_api.h, tf_tensor.h, tf_tstring.h)
    _DISABLE_XLA: ("v", ""),
    "TF_LoadLibrary": ("a", "sa"),
    "TF_DeleteLibraryHandle": ("v", "a"),
    "TF_NewStatus": ("a", ""),
    "TF_GetCode": ("i", "a"),
    "TF_Message": ("s", "a"),
    "TF_DeleteStatus": ("v", "a"),
    "TF_NewBuffer": ("a", ""),
    "TF_DeleteBuffer": ("v", "a"),
    "TF_NewGraph": ("a", ""),
    "TF_DeleteGraph": ("v", "a"),
    "TF_GraphOperationByName": ("a", "as"),
    "TF_NewSessionOptions": ("a", ""),
    "TF_DeleteSessionOptions": ("v", "a"),
    "TF_LoadSessionFromSavedModel": ("a", "aasaiaaa"),
    "TF_SessionRun": ("v", "aaaaiaaiaiaa"),
    "TF_CloseSession": ("v", "aa"),
    "TF_DeleteSession": ("v", "aa"),
    "TF_AllocateTensor": ("a", "iain"),
    "TF_DeleteTensor": ("v", "a"),
    "TF_TensorType": ("i", "a"),
    "TF_NumDims": ("i", "a"),
    "TF_Dim": ("n", "ai"),
    "TF_TensorData": ("a", "a"),
    "TF_TensorByteSize": ("n", "a"),
    "TF_StringInit": ("v", "a"),
    "TF_StringCopy": ("v", "asn"),
    "TF_StringGetDataPointer": ("a", "a"),
    "TF_StringGetSize": ("n", "a"),
    "TF_StringDealloc": ("v", "a"),
}


@functools.cache
def _load_library():
    """Returns TensorFlow's C library, XLA disabled and tensorflow-text's operations registered."""
    if "tensorflow" in sys.modules:
        raise RuntimeError(
            "Python TensorFlow must not be imported where a SavedModel runs as in the model "
            "server. Received: 'tensorflow' in sys.modules. Call `run_in_clean_process`."
        )
    home = _find_package("tensorflow")
    if home is None or not (home / "libtensorflow_cc.so.2").exists():
        raise RuntimeError(
            "The `tensorflow` package must be installed and hold `libtensorflow_cc.so.2`. "
            f"Received: package={home and str(home)!r}. Install its wheel on Linux."
        )
    ctypes.CDLL(os.fspath(home / "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(os.fspath(home / "libtensorflow_cc.so.2"), ctypes.RTLD_GLOBAL)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = _C_TYPES[result]
        function.argtypes = [_C_TYPES[argument] for argument in arguments]
    getattr(library, _DISABLE_XLA)()
    text = _find_package("tensorflow_text")
    for operations in sorted(text.glob("python/*/_*.so")) if text else []:
        handle = _call(library, "TF_LoadLibrary", os.fsencode(operations))
        library.TF_DeleteLibraryHandle(handle)  # the operations stay registered
    return library


def _find_package(name):
    spec = importlib.util.find_spec(name)  # which does not import it
    return spec and pathlib.Path(spec.submodule_search_locations[0])


def _call(library, name, *arguments):
    """Calls a C function whose last parameter is a status, and raises what that says."""
    status = library.TF_NewStatus()
    try:
        result = getattr(library, name)(*arguments, status)
        if library.TF_GetCode(status):
            raise RuntimeError(library.TF_Message(status).decode(errors="replace"))
        return result
    finally:
        library.TF_DeleteStatus(status)


def _new_tensor(library, array, owned):
    """Copies an array to a new C tensor, which `owned` frees."""
    size = array.size * _STRING_SIZE if array.dtype.hasobject else array.nbytes
    dimensions = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = library.TF_AllocateTensor(_NUMBERS[array.dtype], dimensions, array.ndim, size)
    owned.callback(library.TF_DeleteTensor, tensor)
    data = library.TF_TensorData(tensor)
    if not array.dtype.hasobject:
        ctypes.memmove(data, array.ctypes.data, size)
        return tensor
    for index, string in enumerate(array.flat):
        address = data + index * _STRING_SIZE
        library.TF_StringInit(address)
        library.TF_StringCopy(address, string, len(string))
        owned.callback(library.TF_StringDealloc, address)
    return tensor


def _read_tensor(library, tensor):
    dtype = _DTYPES[library.TF_TensorType(tensor)]
    shape = [library.TF_Dim(tensor, axis) for axis in range(library.TF_NumDims(tensor))]
    data, size = library.TF_TensorData(tensor), library.TF_TensorByteSize(tensor)
    if not dtype.hasobject:
        array = np.empty(shape, dtype)
        ctypes.memmove(array.ctypes.data, data, size)
        return array
    addresses = range(data, data + size, _STRING_SIZE) if size else []
    return _object_array([_read_string(library, address) for address in addresses], shape)


def _read_string(library, address):
    data, size = library.TF_StringGetDataPointer(address), library.TF_StringGetSize(address)
    return ctypes.string_at(data, size)


def _as_array(value):
    """Returns `value` as an array in C order, strings as `bytes` in an object array."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "OSU":
        return np.asarray(value, order="C")
    strings = np.asarray(value, dtype=object)
    return _object_array([_as_bytes(string) for string in strings.flat], strings.shape)


def _as_bytes(string):
    if not isinstance(string, (str, bytes)):
        raise TypeError(
            "An input must be a NumPy array of numbers, or hold nothing but `str` and `bytes`. "
            f"Received: {string!r}"
        )
    return string.encode() if isinstance(string, str) else string


def _object_array(items, shape):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


# The C library hands the signatures over as a serialized `MetaGraphDef`. Its Python class can't
# be had without importing `tensorflow`, so the few fields needed are read from the bytes: their
# numbers, once published, never change (meta_graph.proto, tensor_shape.proto).


def _read_signatures(meta_graph):
    return {
        name: Signature(_read_specs(signature, 1), _read_specs(signature, 2))
        for name, signature in _read_map(memoryview(meta_graph), 5).items()
        if name != "__saved_model_init_op"
    }


def _read_specs(signature, number):
    return {name: _read_spec(info) for name, info in _read_map(signature, number).items()}


def _read_spec(info):
    fields = dict(_read_fields(info))
    dimensions, unknown_rank = [], False
    for number, value in _read_fields(fields.get(3, b"")):
        if number == 2:
            size = dict(_read_fields(value)).get(1, 0)
            dimensions.append(size if size < 2**63 else None)  # -1 in two's complement
        else:
            unknown_rank = True
    return TensorSpec(
        tensor=bytes(fields.get(1, b"")).decode(),
        dtype=_DTYPES.get(fields.get(2)),
        shape=None if unknown_rank else tuple(dimensions),
    )


def _read_map(message, number):
    entries = [
        dict(_read_fields(value)) for field, value in _read_fields(message) if field == number
    ]
    return {bytes(entry[1]).decode(): entry.get(2, b"") for entry in entries}


def _read_fields(message):
    """Yields each field of a protocol-buffer message: its number, and an integer or its bytes."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        value, at = _read_varint(message, at)
        if key & 7 == 2:  # the integer was the length of what follows
            value, at = message[at : at + value], at + value
        yield key >> 3, value


def _read_varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _write(path, calls):
    """Saves `(signature, {name: array})` pairs without pickle: strings as bytes and lengths."""
    fields = {"signatures": np.array([signature for signature, _ in calls], dtype=str)}
    for index, (_, arrays) in enumerate(calls):
        for name, value in arrays.items():
            key, array = f"{index}:{name}", _as_array(value)
            if array.dtype.hasobject:
                lengths = [len(string) for string in array.flat]
                fields[f"lengths:{key}"] = np.array(lengths, np.int64).reshape(array.shape)
                array = np.frombuffer(b"".join(array.flat), np.uint8)
            fields[f"data:{key}"] = array
    np.savez(path, **fields)


def _read(path):
    with np.load(path) as fields:
        calls = [(str(signature), {}) for signature in fields["signatures"]]
        for field in fields:
            kind, _, key = field.partition(":")
            if kind == "data":
                index, _, name = key.partition(":")
                lengths = fields.get(f"lengths:{key}")
                calls[int(index)][1][name] = _split(fields[field], lengths)
    return calls


def _split(array, lengths):
    if lengths is None:
        return array
    data, ends = array.tobytes(), np.cumsum(lengths)
    strings = [data[end - size : end] for end, size in zip(ends, lengths.flat, strict=True)]
    return _object_array(strings, lengths.shape)


def main():
    """Answers a file of requests; one line on standard error and exit code 1 if that fails."""
    parser = argparse.ArgumentParser(description="Run requests in TensorFlow's C++ loader.")
    parser.add_argument("saved_model", help="directory that holds saved_model.pb")
    parser.add_argument("requests", help=".npz file to read, as run_in_clean_process writes it")
    parser.add_argument("answers", help=".npz file to write")
    options = parser.parse_args()
    try:
        with SavedModelSession(options.saved_model) as session:
            calls = _read(options.requests)
            answers = [(name, session.run(name, **inputs)) for name, inputs in calls]
        _write(options.answers, answers)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        sys.exit(" ".join(str(error).split()))


if __name__ == "__main__":
    main()
