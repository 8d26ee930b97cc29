"""The format `onnx`: files that map features to hypotheses with alignments."""

import dataclasses

from keras_bahdanau.exporters.card import (
    describe_parity,
    describe_search,
    describe_source,
    table_of,
)
from keras_bahdanau.exporters.exporter import FileExporter, require_plain_copies
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.settings.guesses import nearest

QUANTIZATIONS = (None, "int8")
SIGNATURES = ("prefix",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnnxFormat(FileExporter):
    """Base of the ONNX exporters for pipelines and for Keras models."""

    quantization: str | None = None

    purpose = "ONNX Runtime, OpenVINO and Triton"
    suffix = ".onnx"
    check_loads_tensorflow = False

    def __post_init__(self):
        if self.quantization not in QUANTIZATIONS:
            raise ValueError(
                f"`quantization` of an ONNX file must be None or 'int8'. Received: "
                f"quantization={self.quantization!r}{nearest(self.quantization, QUANTIZATIONS)}"
            )

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

    @staticmethod
    def recognizes(path):
        return path.suffix == ".onnx" and not path.is_dir()

    def require(self, model):
        from keras_bahdanau.exporters.onnx.onnx_conversion import load_tf2onnx

        load_tf2onnx()  # fails now if the package is not installed
        super().require(model)

    def damage(self, path):
        from keras_bahdanau.exporters.onnx.onnx_check import find_onnx_damage

        return find_onnx_damage(path)

    def check(self, path):
        from keras_bahdanau.exporters.onnx.onnx_check import check_onnx

        return check_onnx(path)

    def add_parity(self, path, rows):
        from keras_bahdanau.exporters.onnx.onnx_file import repack

        path.write_bytes(repack(path.read_bytes(), parity=table_of(rows)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnnxExporter(OnnxFormat):
    """The format `onnx` for pipelines; its fields are settings of `export_onnx`."""

    max_source_length: int | None = None
    signatures: tuple = ()
    greedy: bool = False

    def __post_init__(self):
        super().__post_init__()
        if not set(self.signatures) <= set(SIGNATURES):
            raise ValueError(
                "`signatures` of an ONNX file may only be ('prefix',), since it has one graph. "
                f"Received: signatures={self.signatures!r}"
            )
        if not isinstance(self.greedy, bool):
            raise TypeError(f"`greedy` must be True or False. Received: greedy={self.greedy!r}")
        SearchOptions(max_source_length=self.max_source_length)  # checks the value

    @classmethod
    def variants(cls, **settings):
        return []  # `export_all` must not need tf2onnx

    def require(self, pipeline):
        from keras_bahdanau.models.precision import precision_of

        super().require(pipeline)
        precision = precision_of(pipeline.model)
        if precision != "float32":
            raise ValueError(
                "An ONNX file computes in float32, or with 8-bit weights. "
                f'Received: a model in {precision}. Load it with precision="float32".'
            )
        require_plain_copies(pipeline, "An ONNX file")

    def searching(self, pipeline):
        """Return the pipeline with the search that the file contains."""
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

    def answers(self, path, pipeline, inputs):
        from keras_bahdanau.exporters.onnx.onnx_answers import onnx_answers

        return onnx_answers(path, pipeline, inputs)

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
                f"limits: a source is truncated after {card['max_source_length']:,} positions, a "
                f"text after {card['max_target_length']:,} tokens",
                *(f"{name}, sha256 {digest}" for name, digest in hashes),
                describe_parity(card),
            ]
        )
