"""LiteRT's model metadata: those tables of `metadata_schema.fbs` 1.1.0 that are used here."""

from typing import NamedTuple

import flatbuffers
from flatbuffers import number_types
from flatbuffers.table import Table

ENTRY = "TFLITE_METADATA"
IDENTIFIER = b"M001"
PARSER_VERSION = "1.0.1"  # the first version with all fields that are written: it added VOCABULARY
DESCRIPTIONS, AXIS_LABELS, VOCABULARY = 1, 2, 5  # values of AssociatedFileType
MOST_BYTES = 2**24  # limit for all strings and records together that a reader expands
_RECORD = 64  # bytes that an entry of a vector counts as


class AssociatedFile(NamedTuple):
    """A file in the zip archive after the model."""

    name: str = ""  # its name in the archive
    description: str = ""
    type: int = 0  # `DESCRIPTIONS`, `VOCABULARY`, or 0 for neither


class TensorMetadata(NamedTuple):
    """Metadata of an input or output."""

    name: str = ""  # its name in the signature
    description: str = ""
    dimension_names: tuple = ()  # one name per axis, or empty
    associated_files: tuple = ()  # of `AssociatedFile`: they explain its values


class SubGraphMetadata(NamedTuple):
    """Metadata of a signature's subgraph, with its inputs and outputs in order."""

    name: str = ""  # name of the signature
    description: str = ""
    input_tensor_metadata: tuple = ()  # of `TensorMetadata`
    output_tensor_metadata: tuple = ()  # of `TensorMetadata`


class ModelMetadata(NamedTuple):
    """The complete metadata, with subgraphs in the order of the model."""

    name: str = ""
    description: str = ""
    version: str = ""
    subgraph_metadata: tuple = ()  # of `SubGraphMetadata`
    associated_files: tuple = ()  # of `AssociatedFile`
    min_parser_version: str = PARSER_VERSION  # version of the schema that a reader must support


# name of each field -> (number in the schema, type)
_FIELDS = {
    AssociatedFile: {"name": (0, str), "description": (1, str), "type": (2, int)},
    TensorMetadata: {
        "name": (0, str),
        "description": (1, str),
        "dimension_names": (2, [str]),
        "associated_files": (6, [AssociatedFile]),
    },
    SubGraphMetadata: {
        "name": (0, str),
        "description": (1, str),
        "input_tensor_metadata": (2, [TensorMetadata]),
        "output_tensor_metadata": (3, [TensorMetadata]),
    },
    ModelMetadata: {
        "name": (0, str),
        "description": (1, str),
        "version": (2, str),
        "subgraph_metadata": (3, [SubGraphMetadata]),
        "associated_files": (6, [AssociatedFile]),
        "min_parser_version": (7, str),
    },
}


def encode_metadata(metadata):
    """Encode a `ModelMetadata` to a FlatBuffer."""
    writer = _Writer()
    writer.builder.Finish(writer.write(metadata), IDENTIFIER)
    return bytes(writer.builder.Output())


def decode_metadata(content):
    """Decode a `ModelMetadata` from a FlatBuffer.

    Raises ValueError if it is invalid, or larger than an export can write.
    """
    content = bytes(content)
    if len(content) < 8 or not flatbuffers.util.BufferHasIdentifier(content, 0, IDENTIFIER):
        raise ValueError(
            f"Model metadata must begin with the identifier {IDENTIFIER.decode()}. "
            f"Received: {content[4:8]!r}. Export the translator again."
        )
    root = flatbuffers.encode.Get(flatbuffers.packer.uoffset, content, 0)
    return _Reader().read(ModelMetadata, Table(content, root))


class _Writer:
    """Writes equal strings, vectors and tables only once: signatures share many of them."""

    def __init__(self):
        self.builder = flatbuffers.Builder()
        self._written = {}

    def write(self, value):
        """Write a string, tuple or table after everything it refers to; return its offset."""
        key = type(value), value  # tables of different kinds may have equal content
        if key not in self._written:
            self._written[key] = self._write(value)
        return self._written[key]

    def _write(self, value):
        if isinstance(value, str):
            return self.builder.CreateString(value)
        if type(value) is tuple:
            return self._vector([self.write(item) for item in value])
        return self._table(value)

    def _table(self, value):
        fields = _FIELDS[type(value)]
        values = {name: getattr(value, name) for name in fields}
        offsets = {
            name: self.write(field) if field and fields[name][1] is not int else 0  # 0: omitted
            for name, field in values.items()
        }
        self.builder.StartObject(1 + max(number for number, _ in fields.values()))
        for name, (number, kind) in fields.items():
            if kind is int:
                self.builder.PrependInt8Slot(number, values[name], 0)
            else:
                self.builder.PrependUOffsetTRelativeSlot(number, offsets[name], 0)
        return self.builder.EndObject()

    def _vector(self, offsets):
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return self.builder.EndVector()


class _Reader:
    """Reads records up to a limit, since a small file with shared tables can have very many."""

    def __init__(self):
        self._left = MOST_BYTES

    def read(self, kind, table):
        """Read a record from a table; missing fields get their defaults."""
        values = {}
        for name, (number, content) in _FIELDS[kind].items():
            offset = table.Offset(4 + 2 * number)  # a vtable begins with two numbers
            if offset:
                values[name] = self._field(content, table, offset)
        return kind(**values)

    def _field(self, content, table, offset):
        if content is int:
            return table.Get(number_types.Int8Flags, table.Pos + offset)
        if content is str:
            return self._string(table, table.Pos + offset)
        first, count = table.Vector(offset), table.VectorLen(offset)
        self._count(_RECORD * count)
        positions = [first + 4 * index for index in range(count)]
        (item,) = content
        if item is str:
            return tuple(self._string(table, position) for position in positions)
        return tuple(self.read(item, Table(table.Bytes, table.Indirect(at))) for at in positions)

    def _string(self, table, position):
        text = table.String(position)
        self._count(len(text))
        return text.decode()

    def _count(self, size):
        self._left -= size
        if self._left < 0:
            raise ValueError(
                f"Model metadata must expand to at most {MOST_BYTES:,} bytes. Received: more. "
                "Export the translator again."
            )
