"""Read the signatures of a SavedModel from the bytes of its `MetaGraphDef`, without TensorFlow."""

from typing import NamedTuple

import numpy as np

from keras_bahdanau.exporters.cpp_loader.c_library import DTYPES


class TensorSpec(NamedTuple):
    """An argument or result of a signature."""

    tensor: str  # name in the graph, such as "serving_default_text:0"
    dtype: np.dtype | None  # object for strings; None for unsupported types
    shape: tuple[int | None, ...] | None  # None for an unknown size, or for an unknown rank


class Signature(NamedTuple):
    """The arguments and the results of a signature, by name."""

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]


def read_signatures(meta_graph):
    """Return a dictionary of the `Signature`s in a serialized `MetaGraphDef`."""
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
        dtype=DTYPES.get(fields.get(2)),
        shape=None if unknown_rank else tuple(dimensions),
    )


def _read_map(message, number):
    entries = [
        dict(_read_fields(value)) for field, value in _read_fields(message) if field == number
    ]
    return {bytes(entry[1]).decode(): entry.get(2, b"") for entry in entries}


def _read_fields(message):
    """Yield (number, value) for each field of a protocol buffer message.

    A value is an integer or bytes.
    """
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        value, at = _read_varint(message, at)
        if key & 7 == 2:  # the integer is the length of the bytes that follow
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
