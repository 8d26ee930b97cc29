"""TensorFlow's C library through `ctypes`, with XLA disabled as in the model server.

This module and the other `cpp_` ones need nothing but the standard library and NumPy.
"""

import ctypes
import functools
import importlib.util
import os
import pathlib
import sys


class Buffer(ctypes.Structure):
    """`TF_Buffer`, as far as it is read: another field follows these."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Output(ctypes.Structure):
    """`TF_Output`: one output of an operation of the graph."""

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
def load_library():
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
        handle = call(library, "TF_LoadLibrary", os.fsencode(operations))
        library.TF_DeleteLibraryHandle(handle)  # the operations stay registered
    return library


def _find_package(name):
    spec = importlib.util.find_spec(name)  # which does not import it
    return spec and pathlib.Path(spec.submodule_search_locations[0])


def call(library, name, *arguments):
    """Calls a C function whose last parameter is a status, and raises what that says."""
    status = library.TF_NewStatus()
    try:
        result = getattr(library, name)(*arguments, status)
        if library.TF_GetCode(status):
            raise RuntimeError(library.TF_Message(status).decode(errors="replace"))
        return result
    finally:
        library.TF_DeleteStatus(status)
