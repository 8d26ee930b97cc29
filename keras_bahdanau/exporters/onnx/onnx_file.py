"""The layout of an exported ONNX file: a model, followed by metadata with the card and files.

An ONNX file is a protocol buffer message, to which fields can be appended, such as the entries of
`metadata_props`. The entry `card.json` contains the text of the card, and `file:NAME` a file in
base64. The last entry, `seal`, contains the SHA-256 of all preceding bytes, and ends the file. This
module needs neither the package onnx nor a runtime.
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
MOST_BYTES = 2**31 - 1  # maximum size of a protocol buffer message
_FILE, _SEAL = "file:", "seal"  # prefix, or name, of an entry
_METADATA = 14  # number of the field in a model
_KEY, _VALUE = 1, 2  # field numbers in an entry
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_LONGEST_VARINT = 10


class OnnxContents(NamedTuple):
    """The parts of an .onnx file."""

    model: bytes  # the bytes before the first entry of the metadata
    files: dict  # name of a packed file -> its bytes
    is_sealed: bool = False  # True if there is an entry for the seal
    seal_fits: bool = False  # True if the last bytes are the seal of all preceding bytes

    @property
    def card(self):
        """The card. Raises `Damage` if it is missing or unreadable."""
        if CARD not in self.files:
            raise Damage(f"it has no {CARD} in its metadata")
        return read_card(self.files[CARD])


def pack(model, files, card):
    """Return the bytes of a file: model, card with all hashes, other files, and the seal."""
    hashes = {name: sha256(content) for name, content in {"model": model, **files}.items()}
    card = json.dumps({**card, "sha256": hashes, "sealed": True}, indent=1, ensure_ascii=False)
    parts = [model, _entry(CARD, card.encode())]
    parts += [_entry(_FILE + name, base64.b64encode(content)) for name, content in files.items()]
    sealed = b"".join(parts) + _entry(_SEAL, bytes(SEAL))[:-SEAL]
    return sealed + seal_of(sealed)


def repack(content, **fields):
    """Return the bytes of a file with some fields of its card changed."""
    contents = unpack(content)
    files = dict(contents.files)
    card = json.loads(files.pop(CARD))
    return pack(contents.model, files, {**card, **fields})


def unpack(content):
    """Return the `OnnxContents` of a file's bytes. Raises `Damage` if they are not valid."""
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
    """Return the bytes of a file of at most 2 GB.

    Raises `Damage` if it is longer, and OSError for a pipe or a device.
    """
    with open_regular(path) as file:
        if file.seek(0, io.SEEK_END) > MOST_BYTES:
            raise Damage(f"it has more than {MOST_BYTES:,} bytes, the limit for an ONNX file")
        file.seek(0)
        return file.read()


def open_sealed(path):
    """Return the bytes of an unmodified file, and its `OnnxContents`.

    Raises ValueError if a byte has changed since the export, or if there is no card.
    """
    try:
        content = read_onnx(path)
        contents = unpack(content)
        contents.card  # noqa: B018  raises `Damage` if it is missing
        if not contents.seal_fits:
            raise Damage("it is damaged or modified: its last 64 bytes are not its sha256")
    except Damage as error:
        raise ValueError(
            "An .onnx file must contain its card and vocabularies, and be unchanged since its "
            f"export. Received: path={str(path)!r} ({error}). Copy it again, or write it with "
            "export_onnx."
        ) from None
    return content, contents


def fields_of(content, first=0, last=None):
    """Yield (position, number, value) for each field of a message.

    The value of a varint is an integer. The value of bytes is a pair of positions (first, last).
    The value of a fixed-size number is None. Raises `Damage` if the message is invalid.
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
    """Return a string in a message, which may be invalid UTF-8."""
    if not isinstance(span, tuple):
        raise Damage("it is not a valid ONNX message")
    return content[slice(*span)].decode("utf-8", "replace")


def _read_entry(content, span):
    """Return (name, bytes) of an entry in the metadata."""
    values = {}
    if not isinstance(span, tuple):
        raise Damage("its metadata is invalid")
    for _, number, value in fields_of(content, *span):
        values[number] = value
    value = values.get(_VALUE, (0, 0))
    if not isinstance(value, tuple):
        raise Damage("its metadata is invalid")
    return text_in(content, values.get(_KEY, (0, 0))), content[slice(*value)]


def _decode(entry):
    """Return (name, bytes) of a packed file; leave entries of other tools unchanged."""
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
    """Read a varint, and return (value, position after it)."""
    value = 0
    for position in range(first, min(first + _LONGEST_VARINT, last)):
        value |= (content[position] & 127) << 7 * (position - first)
        if content[position] < 128:
            return value, position + 1
    raise Damage("it is not a valid ONNX message, or is cut off")
