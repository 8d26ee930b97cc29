"""LiteRT (TFLite) files as a format: ids in, ids out, the vocabulary inside."""

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
from keras_bahdanau.exporters.exporter import Exporter, require_plain_copies
from keras_bahdanau.exporters.publishing import export, require_absent
from keras_bahdanau.settings.guesses import check_keywords, nearest
from keras_bahdanau.settings.limits import FIXED_LENGTH
from keras_bahdanau.settings.option import check_value, optional

QUANTIZATIONS = (None, "float16", "int8", "int4")
OF_ALL_FORMATS = QUANTIZATIONS[:3]  # int4 must be asked for, as it costs some answers
SIGNATURES = ("greedy", "nbest", "prefix", "steps")  # beside the main one


@check_keywords()
def export_litert(
    pipeline,
    path,
    quantization=None,
    max_source_length=None,
    max_target_length=64,
    sentences=None,
    references=None,
    allow_differences=False,
    say=None,
    signatures=("greedy", "steps"),
):
    """Write a file that phones run, with built-in operations only.

    Its main signature `decode`, of a `Translator` `translate`, takes the features of one input,
    for text `source` int32 `(1, max_source_length)`, right-padded with 0, and gives the outputs
    of `device_signatures.decode_on_device`. All shapes are fixed, and every tensor is float32 or
    int32: `finished` and masks are 0 or 1. The file has LiteRT's standard metadata; the
    SentencePiece models and a card (`card.json`) are packed behind the model, as a zip archive that
    `zipfile` and the LiteRT metadata libraries read.

    Args:
        pipeline: A `Pipeline`.
        path: Path of the file, which must not exist.
        quantization: None for float32, "float16" for weights of 16 bits, or
            "int8" for weights of 8 bits and activations in float32 (dynamic range): a matrix
            product rounds each row of its input to 8 bits, a convolution none. "int4" is the same
            with matrices of 4 bits and a scale for each output: see `four_bits`. It costs some
            answers, fewer of a model trained with `quantization_aware` and
            `quantization="int4"`, and needs TensorFlow Lite 2.17 or LiteRT.
        max_source_length: Positive integer. Most positions of a source, the end token of a text
            included; by default the source's own, 64 tokens of a text.
        max_target_length: Positive integer. Most target tokens, the end token included.
        sentences: List of inputs of the source to compare on, after its edge cases.
        references: List of their translations, or texts, for the pipeline's metrics.
        allow_differences: True to write a float32 file that does not answer as Keras does; a
            quantized one may always differ.
        say: Function of one string, which reports the comparison; None for none.
        signatures: Tuple of the further signatures: "greedy" for `translate_greedy`, a beam of 1;
            "nbest" for `translate_nbest` and "prefix" for `translate_prefix`, the best few texts,
            and those that begin with a prefix, by `device_signatures.decode_nbest_on_device`;
            "steps" for `encode` and `decode_step`, of hosts that drive the loop themselves. Each
            adds some 20 kB, since all share the weights, and one to two seconds of conversion.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the path does not end in .tflite; if `quantization` or a signature is
            unknown, a length is not positive or `references` are not as many as `sentences`; if
            the file would be refused by a phone, or answers differently and `allow_differences`
            is False.
    """
    exporter = LiteRTExporter(
        quantization=quantization,
        max_source_length=max_source_length,
        max_target_length=max_target_length,
        signatures=signatures,
    )
    return export(exporter, pipeline, path, sentences, references, allow_differences, say)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiteRTExporter(Exporter):
    """The format of `export_litert`, whose settings are its arguments."""

    quantization: str | None = None
    max_source_length: int | None = None
    max_target_length: int = 64
    signatures: tuple = ("greedy", "steps")

    purpose = "phones"
    writes_file = True
    suffix = ".tflite"
    check_loads_tensorflow = False

    def __post_init__(self):
        if self.quantization not in QUANTIZATIONS:
            raise ValueError(
                f"`quantization` must be one of {', '.join(map(repr, QUANTIZATIONS))}. "
                f"Received: quantization={self.quantization!r}"
                f"{nearest(self.quantization, QUANTIZATIONS)}"
            )
        if not set(self.signatures) <= set(SIGNATURES):
            raise ValueError(
                f"`signatures` must be some of {', '.join(map(repr, SIGNATURES))}. "
                f"Received: signatures={self.signatures!r}"
            )
        check_value("max_source_length", self.max_source_length, optional(FIXED_LENGTH))
        check_value("max_target_length", self.max_target_length, FIXED_LENGTH)

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

    @classmethod
    def variants(cls, **settings):
        """One file for each precision."""
        fields = {name: value for name, value in settings.items() if value is not None}
        if "signatures" in fields:  # a list of a file has alignments, whatever is asked for
            fields["signatures"] = tuple(
                name for name in fields["signatures"] if name != "alignments"
            )
        return [cls(quantization=quantization, **fields) for quantization in OF_ALL_FORMATS]

    @staticmethod
    def recognizes(path):
        return path.is_file()

    def require(self, pipeline):
        from keras_bahdanau.exporters.litert.tflite_file import load_schema
        from keras_bahdanau.models.precision import precision_of

        load_schema()  # or say now that it is not installed
        super().require(pipeline)
        precision = precision_of(pipeline.model)
        if precision != "float32":
            raise ValueError(
                "A LiteRT file multiplies in float32, or in 8 or 4 bits. "
                f'Received: a model in {precision}. Load it with precision="float32".'
            )
        require_plain_copies(pipeline, "A LiteRT file")
        if pipeline.search.min_length > self.max_target_length:
            raise ValueError(
                "A LiteRT file must have room for the shortest text of its search. Received: "
                f"min_length={pipeline.search.min_length}, max_target_length="
                f"{self.max_target_length}. Raise max_target_length, or lower min_length."
            )

    def destination(self, path):
        self.check_name(path)
        require_absent(path)
        return path

    def publish(self, written, path):
        require_absent(path)  # still
        return super().publish(written, path)

    def write(self, pipeline, path):
        from keras_bahdanau.exporters.litert import conversion

        limits = (self.longest(pipeline), self.max_target_length)
        signatures = tuple(self.signatures)
        model = conversion.convert(pipeline, self.quantization, signatures, *limits, path.parent)
        path.write_bytes(conversion.packed(pipeline, model, self.precision, signatures, *limits))

    def longest(self, pipeline):
        """Most positions of a source in a file for a pipeline, in whole columns of a grid."""
        source = pipeline.source
        return source.whole_columns(self.max_source_length or source.fixed_length)

    def damage(self, path):
        from keras_bahdanau.exporters.litert.file_check import find_damage

        return find_damage(path)

    def check(self, path):
        from keras_bahdanau.exporters.litert.file_check import check_litert

        return check_litert(path)

    def answers(self, path, pipeline, inputs):
        from keras_bahdanau.exporters.litert.file_answers import answers_of

        return answers_of(path, pipeline, inputs)

    def add_parity(self, path, rows):
        from keras_bahdanau.exporters.litert.tflite_file import pack, unpack

        contents = unpack(path.read_bytes())
        files = dict(contents.files)
        card = json.loads(files.pop(CARD))
        path.write_bytes(pack(contents.model, files, {**card, "parity": table_of(rows)}))

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
