"""ONNX files as a format: features in, hypotheses with alignments out, the vocabulary inside."""

import dataclasses

from keras_bahdanau.exporters.card import (
    describe_parity,
    describe_search,
    describe_source,
    table_of,
)
from keras_bahdanau.exporters.exporter import FileExporter, require_plain_copies
from keras_bahdanau.exporters.publishing import export
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.settings.guesses import check_keywords, nearest

QUANTIZATIONS = (None, "int8")
SIGNATURES = ("prefix",)


@check_keywords()
def export_onnx(
    model,
    path,
    quantization=None,
    max_source_length=None,
    sentences=None,
    references=None,
    allow_differences=False,
    say=None,
    signatures=(),
    greedy=False,
):
    """Write an ONNX file with the whole search inside, in ONNX's standard operations alone.

    It has one graph, for any number of rows and any length: `pipeline_graph` lists its inputs and
    outputs. It gives the best few texts with their scores, confidences and alignments; the first is
    the answer. The SentencePiece models and a card are in its metadata.

    Args:
        model: A `Pipeline`; its search options are frozen in the graph.
        path: Path of the file, which must not exist.
        quantization: None for float32, or "int8" for the weights of matrix products in 8 bits, by
            ONNX Runtime's dynamic quantizer: a product rounds its input to 8 bits, too. Its
            differences from Keras are reported, and do not stop the export.
        max_source_length: Integer from 1 to 100,000. Most source positions, beyond which the graph
            cuts a row; by default that of the pipeline's search.
        sentences: As in `export_litert`.
        references: As in `export_litert`.
        allow_differences: As in `export_litert`.
        say: As in `export_litert`.
        signatures: ("prefix",) for a graph with two more inputs: the ids that each text begins
            with, and how many of them count, 0 for a free text.
        greedy: True for the best token at each step in place of the pipeline's beam.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ImportError: If `tf2onnx`, `onnx` or `onnxruntime` is not installed.
        ValueError: If the path does not end in .onnx; if a setting is not one of these; if an
            operation can't be converted; if the file answers differently and `allow_differences` is
            False.
    """
    exporter = OnnxExporter(
        quantization=quantization,
        max_source_length=max_source_length,
        signatures=signatures,
        greedy=greedy,
    )
    return export(exporter, model, path, sentences, references, allow_differences, say)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnnxExporter(FileExporter):
    """The format of `export_onnx`, whose settings are its arguments."""

    quantization: str | None = None
    max_source_length: int | None = None
    signatures: tuple = ()
    greedy: bool = False

    purpose = "ONNX Runtime, OpenVINO and Triton"
    suffix = ".onnx"
    check_loads_tensorflow = False

    def __post_init__(self):
        if self.quantization not in QUANTIZATIONS:
            raise ValueError(
                f"`quantization` of an ONNX file must be None or 'int8'. Received: "
                f"quantization={self.quantization!r}{nearest(self.quantization, QUANTIZATIONS)}"
            )
        if not set(self.signatures) <= set(SIGNATURES):
            raise ValueError(
                "`signatures` of an ONNX file, which has one graph, may only be ('prefix',). "
                f"Received: signatures={self.signatures!r}"
            )
        if not isinstance(self.greedy, bool):
            raise TypeError(f"`greedy` must be True or False. Received: greedy={self.greedy!r}")
        SearchOptions(max_source_length=self.max_source_length)  # which checks it

    @property
    def precision(self):
        """String, the name of the dtype of the weights."""
        return self.quantization or "float32"

    @property
    def artefact(self):
        return f"ONNX {self.precision}"

    @property
    def exact(self):
        return self.quantization is None

    @property
    def file_name(self):
        return f"model.{self.precision}.onnx"

    @classmethod
    def variants(cls, **settings):
        return []  # `export_all` needs no tf2onnx

    @staticmethod
    def recognizes(path):
        return path.suffix == ".onnx" and not path.is_dir()

    def require(self, pipeline):
        from keras_bahdanau.exporters.onnx.onnx_conversion import load_tf2onnx
        from keras_bahdanau.models.precision import precision_of

        load_tf2onnx()  # or say now that it is not installed
        super().require(pipeline)
        precision = precision_of(pipeline.model)
        if precision != "float32":
            raise ValueError(
                "An ONNX file multiplies in float32, or in 8 bits. "
                f'Received: a model in {precision}. Load it with precision="float32".'
            )
        require_plain_copies(pipeline, "An ONNX file")

    def searching(self, pipeline):
        """The pipeline with the search of the file."""
        changes = {"beam_width": 1} if self.greedy else {}
        if self.max_source_length is not None:
            changes["max_source_length"] = self.max_source_length
        return pipeline.searching(dataclasses.replace(pipeline.search, **changes))

    def compared(self, pipeline):
        greedy = dataclasses.replace(pipeline.search, beam_width=1)
        return pipeline.searching(greedy) if self.greedy else pipeline

    def write(self, pipeline, path):
        from keras_bahdanau.exporters.onnx.pipeline_graph import onnx_bytes

        path.write_bytes(onnx_bytes(self, pipeline, path.parent))

    def damage(self, path):
        from keras_bahdanau.exporters.onnx.onnx_check import find_onnx_damage

        return find_onnx_damage(path)

    def check(self, path):
        from keras_bahdanau.exporters.onnx.onnx_check import check_onnx

        return check_onnx(path)

    def answers(self, path, pipeline, inputs):
        from keras_bahdanau.exporters.onnx.onnx_answers import onnx_answers

        return onnx_answers(path, pipeline, inputs)

    def add_parity(self, path, rows):
        from keras_bahdanau.exporters.onnx.onnx_file import repack

        path.write_bytes(repack(path.read_bytes(), parity=table_of(rows)))

    def describe(self, path):
        from keras_bahdanau.exporters.onnx.onnx_check import describe_onnx

        card, graph = describe_onnx(path)
        hashes = card["sha256"].items()
        return "\n".join(
            [
                f"{card['format']}, {card['quantization']}, by keras_bahdanau "
                f"{card['keras_bahdanau']}",
                f"TensorFlow {card['tensorflow']}, Keras {card['keras']}",
                *graph,
                *describe_source(card),
                describe_search(card),
                f"limits: a source is cut at {card['max_source_length']:,} positions, a text ends "
                f"at {card['max_target_length']:,} tokens",
                *(f"{name}, sha256 {digest}" for name, digest in hashes),
                describe_parity(card),
            ]
        )
