"""The layout of an exported .tflite file: a FlatBuffer, followed by an uncompressed zip archive.

The SHA-256 of the model in the card covers all bytes before the archive. The comment at the end of
the archive is the seal: the SHA-256 of all bytes before it.
"""

import io
import json
import zipfile
from typing import NamedTuple

import flatbuffers
from flatbuffers.table import Table

from keras_bahdanau.exporters.card import CARD, sha256
from keras_bahdanau.files.integrity import SEAL, opened, seal_of

# field numbers in the tables `Model`, `Buffer` and `Metadata` of LiteRT's schema
_VERSION, _BUFFERS, _METADATA, _FIELDS = 0, 4, 6, 10
_DATA = 0
_NAME, _BUFFER = 0, 1
ALIGNMENT = 16  # in bytes, for buffers
IDENTIFIER = b"TFL3"


def load_schema():
    """Return LiteRT's module for the tables of a .tflite file.

    Raises ImportError if `ai-edge-litert` is not installed.
    """
    try:
        from ai_edge_litert import schema_py_generated
    except ImportError:
        raise ImportError(
            "The package ai-edge-litert must be installed to write or check a .tflite file. "
            "Received: an environment without it. Install it: pip install 'keras-bahdanau[litert]'"
        ) from None
    return schema_py_generated


class Contents(NamedTuple):
    """The parts of a .tflite file."""

    model: bytes  # the bytes before the archive
    files: dict  # name of a packed file -> its bytes
    compressed: list  # names of the files that are compressed
    seal_fits: bool = False  # True if the last bytes are the seal of all preceding bytes


def pack(model, files, card):
    """Return the bytes of a file: model, card with all hashes, other files, and the seal."""
    hashes = {name: sha256(content) for name, content in {"model": model, **files}.items()}
    card = {**card, "sha256": hashes, "sealed": True}
    card = json.dumps(card, indent=1, ensure_ascii=False)
    buffer = io.BytesIO()
    buffer.write(model)
    with zipfile.ZipFile(buffer, "a") as archive:
        for name, content in {CARD: card.encode(), **files}.items():
            entry = zipfile.ZipInfo(name)  # dated 1980, so that equal translators give equal files
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
        archive.comment = bytes(SEAL)  # the sealed bytes include its length
    sealed = buffer.getvalue()[:-SEAL]
    return sealed + seal_of(sealed)


def unpack(content):
    """Return the `Contents` of a file's bytes. Raises `Damage` unless its archive is complete."""
    with opened(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        return Contents(
            model=content[: min((entry.header_offset for entry in entries), default=None)],
            files={entry.filename: archive.read(entry) for entry in entries},
            compressed=[
                entry.filename for entry in entries if entry.compress_type != zipfile.ZIP_STORED
            ],
            seal_fits=content[-SEAL:] == seal_of(content[:-SEAL]),
        )


def add_metadata(model, name, content):
    """Add an entry to a model's metadata. All bytes of the old model remain in the new one."""
    model += bytes(-len(model) % ALIGNMENT)
    old = _root(model)
    builder = flatbuffers.Builder(len(model) + 2**16)
    builder.CreateByteVector(model)
    builder.Prep(ALIGNMENT, 0)  # align the old model

    def offset_of(position):
        return len(model) - position  # builders count from the end

    data = builder.CreateByteVector(content)
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(_DATA, data, 0)
    buffers = [*map(offset_of, _tables(old, _BUFFERS)), builder.EndObject()]
    label = builder.CreateString(name)
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(_NAME, label, 0)
    builder.PrependUint32Slot(_BUFFER, len(buffers) - 1, 0)
    entries = [*map(offset_of, _tables(old, _METADATA)), builder.EndObject()]
    new = {_BUFFERS: _vector(builder, buffers), _METADATA: _vector(builder, entries)}
    for number in set(range(_VERSION + 1, _FIELDS)) - set(new):
        if offset := old.Offset(4 + 2 * number):
            new[number] = offset_of(old.Indirect(old.Pos + offset))
    builder.StartObject(_FIELDS)
    builder.PrependUint32Slot(_VERSION, _version(old), 0)
    for number, offset in new.items():
        builder.PrependUOffsetTRelativeSlot(number, offset, 0)
    builder.Finish(builder.EndObject(), IDENTIFIER)
    return bytes(builder.Output())


def read_metadata(model):
    """Return the metadata of a model: a dictionary from names of entries to their bytes."""
    root = _root(model)
    buffers = _tables(root, _BUFFERS)
    entries = {}
    for position in _tables(root, _METADATA):
        entry = Table(model, position)
        name = entry.String(position + entry.Offset(4 + 2 * _NAME)).decode()
        number = entry.GetSlot(4 + 2 * _BUFFER, 0, flatbuffers.number_types.Uint32Flags)
        buffer = Table(model, buffers[number])
        offset = buffer.Offset(4 + 2 * _DATA)
        first = buffer.Vector(offset) if offset else 0
        entries[name] = bytes(model[first : first + buffer.VectorLen(offset)]) if offset else b""
    return entries


def entries_of(table, field):
    """Return the entries of a vector in a FlatBuffers table, read with LiteRT's schema."""
    return [getattr(table, field)(index) for index in range(getattr(table, f"{field}Length")())]


def _root(model):
    return Table(model, flatbuffers.encode.Get(flatbuffers.packer.uoffset, model, 0))


def _version(root):
    return root.GetSlot(4 + 2 * _VERSION, 0, flatbuffers.number_types.Uint32Flags)


def _tables(table, number):
    """Return the positions of the tables in a vector."""
    offset = table.Offset(4 + 2 * number)
    if not offset:
        return []
    first, count = table.Vector(offset), table.VectorLen(offset)
    if count > len(table.Bytes) // 4:
        raise ValueError("a vector is longer than the file")
    return [table.Indirect(first + 4 * index) for index in range(count)]


def _vector(builder, offsets):
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()
