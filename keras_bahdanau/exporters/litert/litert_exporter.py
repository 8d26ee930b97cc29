"""The format `litert`: LiteRT (TFLite) files that map ids to ids and contain the vocabulary."""

import dataclasses
import json

from keras_bahdanau.exporters.card import (
    CARD,
    describe_parity,
    describe_search,
    describe_source,
    read_card,
    table_of,
)
from keras_bahdanau.exporters.exporter import FileExporter, require_plain_copies
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import FIXED_LENGTH
from keras_bahdanau.settings.option import check_value, optional

QUANTIZATIONS = (None, "float16", "int8", "int4")
OF_ALL_FORMATS = QUANTIZATIONS[:3]  # "int4" must be requested, since it changes some answers
SIGNATURES = ("greedy", "nbest", "prefix", "steps")  # in addition to the main one


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiteRTFormat(FileExporter):
    """Base of the LiteRT exporters for pipelines and for Keras models."""

    quantization: str | None = None

    purpose = "phones"
    suffix = ".tflite"
    check_loads_tensorflow = False

    def __post_init__(self):
        if self.quantization not in QUANTIZATIONS:
            raise ValueError(
                f"`quantization` must be one of {', '.join(map(repr, QUANTIZATIONS))}. "
                f"Received: quantization={self.quantization!r}"
                f"{nearest(self.quantization, QUANTIZATIONS)}"
            )

    @property
    def precision(self):
        """String, the name of the dtype of the weights."""
        return self.quantization or "float32"

    @property
    def artefact(self):
        return f"LiteRT {self.precision}"

    @property
    def exact(self):
        return self.quantization is None

    @property
    def file_name(self):
        return f"model.{self.precision}.tflite"

    def require(self, model):
        from keras_bahdanau.exporters.litert.tflite_file import load_schema

        super().require(model)
        load_schema()  # fails now if the package is not installed

    def damage(self, path):
        from keras_bahdanau.exporters.litert.file_check import find_damage

        return find_damage(path)

    def add_parity(self, path, rows):
        from keras_bahdanau.exporters.litert.tflite_file import pack, unpack

        contents = unpack(path.read_bytes())
        files = dict(contents.files)
        card = json.loads(files.pop(CARD))
        path.write_bytes(pack(contents.model, files, {**card, "parity": table_of(rows)}))


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiteRTExporter(LiteRTFormat):
    """The format `litert` for pipelines; its fields are settings of `export_litert`."""

    max_source_length: int | None = None
    max_target_length: int = 64
    signatures: tuple = ("greedy", "steps")

    def __post_init__(self):
        super().__post_init__()
        if not set(self.signatures) <= set(SIGNATURES):
            raise ValueError(
                f"`signatures` must be among {', '.join(map(repr, SIGNATURES))}. "
                f"Received: signatures={self.signatures!r}"
            )
        check_value("max_source_length", self.max_source_length, optional(FIXED_LENGTH))
        check_value("max_target_length", self.max_target_length, FIXED_LENGTH)

    @classmethod
    def variants(cls, **settings):
        """Return one exporter for each precision."""
        fields = {name: value for name, value in settings.items() if value is not None}
        if "signatures" in fields:  # lists from a file always have alignments
            fields["signatures"] = tuple(
                name for name in fields["signatures"] if name != "alignments"
            )
        return [cls(quantization=quantization, **fields) for quantization in OF_ALL_FORMATS]

    @staticmethod
    def recognizes(path):
        return path.is_file()

    def require(self, pipeline):
        from keras_bahdanau.models.precision import precision_of

        super().require(pipeline)
        precision = precision_of(pipeline.model)
        if precision != "float32":
            raise ValueError(
                "A LiteRT file computes in float32, or with 8-bit or 4-bit weights. "
                f'Received: a model in {precision}. Load it with precision="float32".'
            )
        require_plain_copies(pipeline, "A LiteRT file")
        if pipeline.search.min_length > self.max_target_length:
            raise ValueError(
                "A LiteRT file must allow for the shortest text that its search finds. Received: "
                f"min_length={pipeline.search.min_length}, max_target_length="
                f"{self.max_target_length}. Raise max_target_length, or lower min_length."
            )

    def write(self, pipeline, path):
        from keras_bahdanau.exporters.litert import conversion

        limits = (self.longest(pipeline), self.max_target_length)
        signatures = tuple(self.signatures)
        model = conversion.convert(pipeline, self.quantization, signatures, *limits, path.parent)
        path.write_bytes(conversion.packed(pipeline, model, self.precision, signatures, *limits))

    def longest(self, pipeline):
        """Return the maximum number of source positions, which fill whole columns of a grid."""
        source = pipeline.source
        return source.whole_columns(self.max_source_length or source.fixed_length)

    def check(self, path):
        from keras_bahdanau.exporters.litert.file_check import check_litert

        return check_litert(path)

    def answers(self, path, pipeline, inputs):
        from keras_bahdanau.exporters.litert.file_answers import answers_of

        return answers_of(path, pipeline, inputs)

    def describe(self, path):
        from keras_bahdanau.exporters.litert import metadata
        from keras_bahdanau.exporters.litert.tflite_file import read_metadata, unpack

        contents = unpack(path.read_bytes())
        card = read_card(contents.files[CARD])
        record = metadata.decode_metadata(read_metadata(contents.model)[metadata.ENTRY])
        parts = {"model": contents.model, **contents.files}
        return "\n".join(
            [
                f"{record.name}, by version {record.version}",
                record.description,
                f"operations of TensorFlow Lite {card['min_runtime_version']}",
                *describe_source(card),
                describe_search(card),
                *(
                    f"{name}, {len(parts[name]):,} bytes, sha256 {digest}"
                    for name, digest in card["sha256"].items()
                ),
                *(_signature(graph) for graph in record.subgraph_metadata if graph.name),
                describe_parity(card),
            ]
        )


def _signature(graph):
    inputs, outputs = (
        ", ".join(sorted(tensor.name for tensor in tensors))
        for tensors in (graph.input_tensor_metadata, graph.output_tensor_metadata)
    )
    return f"{graph.name}: {inputs} -> {outputs}"
