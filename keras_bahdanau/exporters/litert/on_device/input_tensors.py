"""Inputs as the tensors of a file: the ids of a text, and arrays of a fixed shape."""

import numpy as np


def encoded(vocabulary, text):
    """The ids of a text: a string, or bytes that need not be valid UTF-8."""
    try:
        return vocabulary.encode(text.encode() if isinstance(text, str) else text)
    except UnicodeEncodeError:
        raise ValueError(
            "A text must be one that UTF-8 can encode, without surrogates. "
            f"Received: {text[:80]!r}. Decode its bytes anew."
        ) from None


def padded(name, array, shape, dtype):
    """An array with a batch of 1, padded with 0 to a shape `(1, [source_time, ...])`."""
    tensor, array = np.zeros(shape, dtype), np.asarray(array)
    if array.shape[1:] != tensor.shape[2:] or array.ndim != tensor.ndim - 1:
        demand = ", ".join(["positions", *map(str, shape[2:])][: len(shape) - 1])
        raise ValueError(
            f"`{name}` must have the shape ({demand}) in this file. "
            f"Received: {array.dtype} of the shape {array.shape}."
        )
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(
            f"`{name}` must hold numbers that fit {np.dtype(dtype)}. Received: {array.dtype}."
        )
    if not array.ndim:
        tensor[0] = array
        return tensor
    if len(array) > shape[1]:
        raise ValueError(
            f"A source may have {shape[1]} positions in this file. Received: {len(array)}. "
            "Split it, or export with a larger max_source_length."
        )
    tensor[0, : len(array)] = array
    return tensor
