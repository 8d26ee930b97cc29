"""NumPy arrays to the tensors of TensorFlow's C library, and back."""

import ctypes

import numpy as np

DTYPES = {  # the numbers of TensorFlow's `DataType`
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    7: np.dtype(object),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    19: np.dtype(np.float16),
}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
_STRING_SIZE = 24  # bytes of one `TF_TString`, the same on every 64-bit system


def new_tensor(library, array, owned):
    """Copies an array to a new C tensor, which `owned` frees."""
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
    """Returns a C tensor's values as an array, strings as `bytes` in an object array."""
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


def as_array(value):
    """Returns `value` as an array in C order, strings as `bytes` in an object array."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "OSU":
        return np.asarray(value, order="C")
    strings = np.asarray(value, dtype=object)
    return object_array([_as_bytes(string) for string in strings.flat], strings.shape)


def _as_bytes(string):
    if not isinstance(string, (str, bytes)):
        raise TypeError(
            "An input must be a NumPy array of numbers, or hold nothing but `str` and `bytes`. "
            f"Received: {string!r}"
        )
    return string.encode() if isinstance(string, str) else string


def object_array(items, shape):
    """Returns a flat list of anything as an object array of that shape."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)
