"""Call TensorFlow's C library through `ctypes`, with XLA disabled as in the model server."""

import ctypes
import functools
import importlib.util
import os
import pathlib
import sys

import numpy as np


class Buffer(ctypes.Structure):
    """The first two fields of `TF_Buffer`, which has one more."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Output(ctypes.Structure):
    """`TF_Output`: one output of an operation in the graph."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


DTYPES = {  # values of TensorFlow's `DataType`
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    4: np.dtype(np.uint8),
    7: np.dtype(object),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    19: np.dtype(np.float16),
}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
_STRING_SIZE = 24  # size in bytes of a `TF_TString` on every 64-bit system
_DISABLE_XLA = "_ZN10tensorflow21DisableXlaCompilationEv"  # the model server calls it at startup
_C_TYPES = {
    "a": ctypes.c_void_p,  # any address
    "i": ctypes.c_int,
    "n": ctypes.c_int64,  # a size
    "s": ctypes.c_char_p,
    "v": None,  # void
}
_FUNCTIONS = {  # name: (result, arguments), from c_api.h, tf_tensor.h and tf_tstring.h
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
    """Return TensorFlow's C library, with XLA disabled."""
    if "tensorflow" in sys.modules:
        raise RuntimeError(
            "Python TensorFlow must not be imported in a process that runs a SavedModel as the "
            "model server does. Received: 'tensorflow' in sys.modules. Call "
            "`run_in_clean_process`."
        )
    path = find_library()
    framework = path.with_name(path.name.replace("_cc", "_framework"))
    ctypes.CDLL(os.fspath(framework), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(os.fspath(path), ctypes.RTLD_GLOBAL)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = _C_TYPES[result]
        function.argtypes = [_C_TYPES[argument] for argument in arguments]
    getattr(library, _DISABLE_XLA)()
    return library


@functools.cache
def load_text_operations():
    """Register the operations of tensorflow-text, if it is installed."""
    library, text = load_library(), _find_package("tensorflow_text")
    for operations in sorted(text.glob("python/*/_*.so")) if text else []:
        handle = call(library, "TF_LoadLibrary", os.fsencode(operations))
        library.TF_DeleteLibraryHandle(handle)  # the operations stay registered


def find_library():
    """Return the path of TensorFlow's C library. Raises RuntimeError if it is missing."""
    home = _find_package("tensorflow")
    name = "libtensorflow_cc.2.dylib" if sys.platform == "darwin" else "libtensorflow_cc.so.2"
    if home is None or not (home / name).exists():
        raise RuntimeError(
            f"The `tensorflow` package must be installed and contain `{name}`. "
            f"Received: package={home and str(home)!r}. Install its wheel on Linux."
        )
    return home / name


def _find_package(name):
    spec = importlib.util.find_spec(name)  # without importing it
    return spec and pathlib.Path(spec.submodule_search_locations[0])


def call(library, name, *arguments):
    """Call a C function whose last parameter is a status, and raise the error if there is one."""
    status = library.TF_NewStatus()
    try:
        result = getattr(library, name)(*arguments, status)
        if library.TF_GetCode(status):
            raise RuntimeError(library.TF_Message(status).decode(errors="replace"))
        return result
    finally:
        library.TF_DeleteStatus(status)


def new_tensor(library, array, owned):
    """Copy an array to a new C tensor, which `owned` frees."""
    size = array.size * _STRING_SIZE if array.dtype.hasobject else array.nbytes
    dimensions = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = library.TF_AllocateTensor(NUMBERS[array.dtype], dimensions, array.ndim, size)
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


def read_tensor(library, tensor):
    """Return the values of a C tensor as an array; strings become `bytes` in an object array."""
    dtype = DTYPES[library.TF_TensorType(tensor)]
    shape = [library.TF_Dim(tensor, axis) for axis in range(library.TF_NumDims(tensor))]
    data, size = library.TF_TensorData(tensor), library.TF_TensorByteSize(tensor)
    if not dtype.hasobject:
        array = np.empty(shape, dtype)
        ctypes.memmove(array.ctypes.data, data, size)
        return array
    addresses = range(data, data + size, _STRING_SIZE) if size else []
    return object_array([_read_string(library, address) for address in addresses], shape)


def _read_string(library, address):
    data, size = library.TF_StringGetDataPointer(address), library.TF_StringGetSize(address)
    return ctypes.string_at(data, size)


def to_numpy(value):
    """Return `value` as an array in C order; strings become `bytes` in an object array."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "OSU":
        return np.asarray(value, order="C")
    strings = np.asarray(value, dtype=object)
    return object_array([_encoded(string) for string in strings.flat], strings.shape)


def _encoded(string):
    if not isinstance(string, (str, bytes)):
        raise TypeError(
            "An input must be a numeric NumPy array, or contain only `str` and `bytes`. "
            f"Received: {string!r}"
        )
    return string.encode() if isinstance(string, str) else string


def object_array(items, shape):
    """Convert a flat list of any objects to an object array with a given shape."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)
