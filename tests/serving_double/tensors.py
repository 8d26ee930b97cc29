"""Convert between arrays and `TensorProto` without Python TensorFlow."""

import numpy as np

from serving_double.errors import Refused
from serving_double.messages import tensor_pb2, types_pb2

_KINDS = {  # dtype: (type number, field for the values)
    np.dtype(np.float32): (types_pb2.DT_FLOAT, "float_val"),
    np.dtype(np.float64): (types_pb2.DT_DOUBLE, "double_val"),
    np.dtype(np.int32): (types_pb2.DT_INT32, "int_val"),
    np.dtype(np.int64): (types_pb2.DT_INT64, "int64_val"),
    np.dtype(np.bool_): (types_pb2.DT_BOOL, "bool_val"),
    np.dtype(object): (types_pb2.DT_STRING, "string_val"),
}
_DTYPES = {number: (dtype, field) for dtype, (number, field) in _KINDS.items()}


def to_tensor(array):
    """Convert an array to a tensor as the server sends it: an entry for each value."""
    number, field = _KINDS[array.dtype]
    tensor = tensor_pb2.TensorProto(dtype=number)
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    getattr(tensor, field).extend(array.ravel().tolist())
    return tensor


def to_array(tensor):
    """Convert a tensor from a client: raw bytes, or values, of which the last may be repeated."""
    if tensor.dtype not in _DTYPES:
        raise Refused("INVALID_ARGUMENT", f"tensor parsing error: dtype {tensor.dtype}")
    dtype, field = _DTYPES[tensor.dtype]
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype).reshape(shape)
    array = np.empty(int(np.prod(shape)), dtype)
    values = list(getattr(tensor, field))
    if len(values) > array.size or (array.size and not values):
        raise Refused("INVALID_ARGUMENT", "tensor parsing error: its values do not fit its shape")
    array[: len(values)] = values
    array[len(values) :] = values[-1] if values else None
    return array.reshape(shape)
