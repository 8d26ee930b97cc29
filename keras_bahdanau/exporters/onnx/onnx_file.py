"""An ONNX file as it is shipped: a model, and after it the card and files in its metadata.

ONNX's format is a protocol buffer message, to which fields may be appended, such as the entries
of `metadata_props`. `card.json` has the text of the card, `file:NAME` the base64 of a file. The
last entry, `seal`, has the sha256 of every byte before it, and ends the file. This module needs
neither the package onnx nor a runtime.
"""

import base64
import binascii
import io
import json
from typing import NamedTuple

from keras_bahdanau.exporters.card import CARD, read_card, sha256
from keras_bahdanau.files.integrity import SEAL, Damage, seal_of
from keras_bahdanau.files.whole_file import open_regular

SUFFIX = ".onnx"
MOST_BYTES = 2**31 - 1  # of a protocol buffer message
_FILE, _SEAL = "file:", "seal"  # names of entries
_METADATA = 14  # number of the field in a model
_KEY, _VALUE = 1, 2  # in an entry
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # types on the wire
_LONGEST_VARINT = 10


class OnnxContents(NamedTuple):
    """The parts of a file."""

    model: bytes  # before the first entry of the metadata
    files: dict  # from a packed file's name to its bytes
    is_sealed: bool = False  # True if there is an entry for the seal
    seal_fits: bool = False  # True if the last bytes are the seal of all others

    @property
    def card(self):
        """The card; `Damage` if there is none that can be read."""
        if CARD not in self.files:
            raise Damage(f"it has no {CARD} in its metadata")
        return read_card(self.files[CARD])


def pack(model, files, card):
    """The bytes of the file: the model, a card with everybody's sha256, other files, the seal."""
    hashes = {name: sha256(content) for name, content in {"model": model, **files}.items()}
    card = json.dumps({**card, "sha256": hashes, "sealed": True}, indent=1, ensure_ascii=False)
    parts = [model, _entry(CARD, card.encode())]
    parts += [_entry(_FILE + name, base64.b64encode(content)) for name, content in files.items()]
    sealed = b"".join(parts) + _entry(_SEAL, bytes(SEAL))[:-SEAL]
    return sealed + seal_of(sealed)


def repack(content, **fields):
    """The bytes of a file with changed fields of its card."""
    contents = unpack(content)
    files = dict(contents.files)
    card = json.loads(files.pop(CARD))
    return pack(contents.model, files, {**card, **fields})


def unpack(content):
    """The `OnnxContents` of a file's bytes; `Damage` if they are not a protocol buffer message."""
    files, end = {}, len(content)
    for start, number, value in fields_of(content):
        if number != _METADATA:
            continue
        end = min(end, start)
        name, entry = _read_entry(content, value)
        if name in files:
            raise Damage(f"it has two entries {name!r} in its metadata")
        files[name] = entry
    seal = files.pop(_SEAL, None)
    seal_fits = seal is not None and content.endswith(seal) and seal == seal_of(content[:-SEAL])
    files = dict(map(_decode, files.items()))
    return OnnxContents(content[:end], files, seal is not None, seal_fits)


def read_onnx(path):
    """The bytes of a file of at most 2 GB; OSError for a pipe or a device, `Damage` if longer."""
    with open_regular(path) as file:
        if file.seek(0, io.SEEK_END) > MOST_BYTES:
            raise Damage(f"it has more than {MOST_BYTES:,} bytes, the most of an ONNX file")
        file.seek(0)
        return file.read()


def open_sealed(path):
    """The bytes of an unchanged file and its `OnnxContents`.

    Raises ValueError, with the path, if a byte has changed, or if it has no card.
    """
    try:
        content = read_onnx(path)
        contents = unpack(content)
        contents.card  # noqa: B018  or say that it has none
        if not contents.seal_fits:
            raise Damage("it is damaged or changed: its last 64 bytes are not its sha256")
    except Damage as error:
        raise ValueError(
            "An .onnx file to run must have its card and vocabularies in its metadata, and be as "
            f"it was exported. Received: path={str(path)!r} ({error}). Copy it again, or write it "
            "with export_onnx."
        ) from None
    return content, contents


def fields_of(content, first=0, last=None):
    """Yield (position, number, value) of each field of a message; `Damage` if it is invalid.

    The value of a varint is an integer, that of bytes a pair (first, last) of positions, and that
    of a number of a fixed size None.
    """
    last = len(content) if last is None else last
    while first < last:
        start = first
        tag, first = _varint(content, first, last)
        number, kind = tag >> 3, tag & 7
        value = None
        if kind == _VARINT:
            value, first = _varint(content, first, last)
        elif kind == _BYTES:
            size, first = _varint(content, first, last)
            value = first, first + size
            first += size
        elif kind in (_FIXED32, _FIXED64):
            first += 4 if kind == _FIXED32 else 8
        else:
            raise Damage("it is not a valid ONNX message")
        if not number or first > last:
            raise Damage("it is not a valid ONNX message, or is cut off")
        yield start, number, value


def text_in(content, span):
    """A string of a message, which may be invalid UTF-8."""
    if not isinstance(span, tuple):
        raise Damage("it is not a valid ONNX message")
    return content[slice(*span)].decode("utf-8", "replace")


def _read_entry(content, span):
    """(name, bytes) of an entry of the metadata."""
    values = {}
    if not isinstance(span, tuple):
        raise Damage("its metadata has another form than it must have")
    for _, number, value in fields_of(content, *span):
        values[number] = value
    value = values.get(_VALUE, (0, 0))
    if not isinstance(value, tuple):
        raise Damage("its metadata has another form than it must have")
    return text_in(content, values.get(_KEY, (0, 0))), content[slice(*value)]


def _decode(entry):
    """(name, bytes) of a packed file; entries of other tools are unchanged."""
    name, content = entry
    if not name.startswith(_FILE):
        return entry
    try:
        return name.removeprefix(_FILE), base64.b64decode(content, validate=True)
    except binascii.Error:
        raise Damage(f"{name!r} in its metadata is not base64") from None


def _entry(name, content):
    pair = _field(_KEY, name.encode()) + _field(_VALUE, content)
    return _field(_METADATA, pair)


def _field(number, content):
    return _digits(number << 3 | _BYTES) + _digits(len(content)) + content


def _digits(value):
    digits = b""
    while value > 127:
        digits += bytes([value & 127 | 128])
        value >>= 7
    return digits + bytes([value])


def _varint(content, first, last):
    """(value, position after it)."""
    value = 0
    for position in range(first, min(first + _LONGEST_VARINT, last)):
        value |= (content[position] & 127) << 7 * (position - first)
        if content[position] < 128:
            return value, position + 1
    raise Damage("it is not a valid ONNX message, or is cut off")
