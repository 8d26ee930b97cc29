"""Run the signatures of a SavedModel in TensorFlow's C++ loader."""

import contextlib
import ctypes
import os

from keras_bahdanau.exporters.cpp_loader.c_library import (
    NUMBERS,
    Buffer,
    Output,
    call,
    load_library,
    load_text_operations,
    new_tensor,
    read_tensor,
    to_numpy,
)
from keras_bahdanau.exporters.cpp_loader.meta_graph import read_signatures


class SavedModelSession:
    """A SavedModel in TensorFlow's C++ loader, with XLA disabled as in the model server.

    The process must not have imported `tensorflow`, since XLA is disabled for the whole process; if
    it has, call `run_in_clean_process`. `signatures` is a dictionary from names to `Signature`. If
    `text_operations` is False, the operations of tensorflow-text are not registered. Any number of
    threads may run signatures concurrently; call `close` when all are done.

    Raises RuntimeError if Python TensorFlow has been imported, if TensorFlow's C++ library is
    missing, or if the SavedModel can't be loaded.

    Example:
        with SavedModelSession("models/en-de/1") as session:
            session.run("serving_default", text=np.array([b"A man."], dtype=object))
    """

    def __init__(self, directory, tags=("serve",), text_operations=True):
        self._library = load_library()
        if text_operations:
            load_text_operations()
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
            self._session = call(library, "TF_LoadSessionFromSavedModel", *arguments)
            self._owned.callback(call, library, "TF_DeleteSession", self._session)
            self._owned.callback(call, library, "TF_CloseSession", self._session)
            meta_graph = Buffer.from_address(buffer)
            return read_signatures(ctypes.string_at(meta_graph.data, meta_graph.length))
        finally:
            library.TF_DeleteBuffer(buffer)

    def run(self, signature, /, **inputs):
        """Run a signature, and return a dictionary from names of results to arrays.

        Each input is an array of any rank, with exactly the dtype in the signature. A string input
        is an array or list of `str` or `bytes`; a string result is an array of `bytes`.

        Raises ValueError if the model does not have this signature or these arguments, TypeError if
        an argument has the wrong dtype, and RuntimeError with TensorFlow's message if the graph
        fails.
        """
        arrays = self._check(signature, inputs)
        arguments, results = self.signatures[signature]
        with contextlib.ExitStack() as owned:
            fed = [new_tensor(self._library, array, owned) for array in arrays]
            feeds = (self._find(arguments), (ctypes.c_void_p * len(fed))(*fed), len(fed))
            fetched = (ctypes.c_void_p * len(results))()
            fetches = (self._find(results), fetched, len(results))
            call(
                self._library, "TF_SessionRun", self._session, None, *feeds, *fetches, None, 0, None
            )
            for tensor in fetched:
                owned.callback(self._library.TF_DeleteTensor, tensor)
            tensors = zip(results, fetched, strict=True)
            return {name: read_tensor(self._library, tensor) for name, tensor in tensors}

    def _check(self, signature, inputs):
        """Return the inputs as arrays, in the order of the signature."""
        if self._session is None:
            raise RuntimeError("The session must be open. Received: a closed one. Open it again.")
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
        arrays = {name: to_numpy(inputs[name]) for name in arguments}
        for name, array in arrays.items():
            if array.dtype != arguments[name].dtype:
                raise TypeError(
                    f"`{name}` of signature {signature!r} must have dtype "
                    f"{arguments[name].dtype}. Received: {name}.dtype={array.dtype}"
                )
        return arrays.values()

    def _find(self, specs):
        """Return the `Output` in the graph for each argument or result."""
        outputs = (Output * len(specs))()
        for output, (name, spec) in zip(outputs, specs.items(), strict=True):
            operation, _, index = spec.tensor.rpartition(":")
            output.operation = self._library.TF_GraphOperationByName(
                self._graph, operation.encode()
            )
            if spec.dtype is None or not output.operation:
                raise RuntimeError(
                    "Each argument and result must be a dense tensor with one of the dtypes "
                    f"{sorted(map(str, NUMBERS))}. Received: {name}={spec}"
                )
            output.index = int(index)
        return outputs

    def close(self):
        """Close the session and free its memory; calling it again does nothing."""
        self._session = None
        self._owned.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
