"""The command `keras-bahdanau export`."""

import dataclasses
import enum
import functools
import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau import exporters
from keras_bahdanau.cli.console import interrupted_by_sigterm, load_tensorflow
from keras_bahdanau.cli.keras_models import is_keras_model, load_keras_model, model_settings
from keras_bahdanau.cli.model_file import load_models, open_model
from keras_bahdanau.cli.options import ModelOption, Precision, PrecisionOption, command
from keras_bahdanau.cli.output import check_absent
from keras_bahdanau.exporters.all_formats import MODEL_FORMATS
from keras_bahdanau.exporters.keras_models import model_exporter
from keras_bahdanau.exporters.litert import litert_exporter
from keras_bahdanau.exporters.publishing import next_version
from keras_bahdanau.exporters.saved_model import saved_model_exporter
from keras_bahdanau.files.ownership import check_unowned
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.greetings import without_greetings
from keras_bahdanau.settings.limits import MOST_FIXED

ALL = "all"
IN_BFLOAT16 = "saved-model", "saved-model-ids"  # formats
TARGET_LENGTH = 64  # default for a LiteRT file, in tokens
THREADS = 1  # so that times are comparable
_FORMATS = exporters.FORMATS.items()
Format = enum.Enum("Format", {name: name for name in (*exporters.FORMATS, ALL)}, type=str)
_SIGNATURES = (
    *litert_exporter.SIGNATURES,
    *saved_model_exporter.SIGNATURES,
    *model_exporter.SIGNATURES,
)
Signature = enum.Enum("Signature", {name: name for name in _SIGNATURES}, type=str)


class Quantization(str, enum.Enum):
    """Precisions of the weights that make a file smaller."""

    FLOAT16 = "float16"
    INT8 = "int8"
    INT4 = "int4"


@dataclasses.dataclass(kw_only=True)
class ExportArguments:
    """Arguments for `export`."""

    model: ModelOption
    format: Annotated[
        Format,
        typer.Option(
            help="Format to export: "
            f"{', '.join(f'{key} for {kind.purpose}' for key, kind in _FORMATS)}, or all."
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(
            help="File for litert or onnx; directory for browser; or, for a SavedModel, directory "
            "to which it is added as the next version."
        ),
    ]
    quantization: Annotated[
        Quantization | None,
        typer.Option(
            help="Store the weights of a LiteRT file in 16, 8 or 4 bits, or those of an ONNX file "
            "in 8 bits."
        ),
    ] = None
    greedy: Annotated[
        bool,
        typer.Option(
            "--greedy",
            help="Use greedy search instead of a beam in an ONNX file: the best token at each "
            "step.",
        ),
    ] = False
    max_source_length: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of tokens in a sentence. A SavedModel or an ONNX file truncates a "
            "longer sentence; a LiteRT file or a page rejects it.  [default: 512, or the "
            "translator's own limit; 64 for litert and browser]",
            show_default=False,
            rich_help_panel="Limits and signatures",
        ),
    ] = None
    max_target_length: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of tokens in a translation by a LiteRT file or a page. A "
            "SavedModel uses the max_length of its search instead.  [default: "
            f"{TARGET_LENGTH}, or max_length if training raised max_length_ratio or "
            "max_length_offset]",
            show_default=False,
            rich_help_panel="Limits and signatures",
        ),
    ] = None
    signatures: Annotated[
        list[Signature] | None,
        typer.Option(
            help="Signature in addition to the main ones. May be given several times. LiteRT file: "
            "greedy (no beam), nbest (the best few outputs), prefix (outputs that begin with a "
            "given text), steps (for programs that choose each token). SavedModel: prefix, "
            "alignments (n-best outputs with alignments). ONNX file: prefix. Keras model: "
            "serving_default (the model), step (one time step, with states), weights (attention "
            "weights); an ONNX file has only one of these.  [default: greedy, steps for litert; "
            "nbest, prefix for browser; serving_default for a Keras model]",
            show_default=False,
            rich_help_panel="Limits and signatures",
        ),
    ] = None
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="Inputs on which to compare the export with Keras, in addition to the built-in "
            "edge cases: a file of sentences, a TSV of both languages, or a manifest. With a TSV "
            "or a manifest, the table also has scores.",
            rich_help_panel="Comparison with Keras",
        ),
    ] = None
    references: Annotated[
        Path | None,
        typer.Option(
            help="Translations of --sentences, line by line. Adds BLEU and chrF to the table.",
            rich_help_panel="Comparison with Keras",
        ),
    ] = None
    allow_differences: Annotated[
        bool,
        typer.Option(
            help="Write the export even if its outputs differ from those of Keras.",
            rich_help_panel="Comparison with Keras",
        ),
    ] = False
    litert_js: Annotated[
        Path | None,
        typer.Option(
            help="Directory in which you ran npm install @litertjs/core, which a page needs.  "
            "[default: .]",
            show_default=False,
            rich_help_panel="Page",
        ),
    ] = None
    title: Annotated[
        str | None,
        typer.Option(
            help="Heading of the page.  [default: Translate]",
            show_default=False,
            rich_help_panel="Page",
        ),
    ] = None
    precision: PrecisionOption = None
    batch_size: Annotated[
        int | None,
        typer.Option(
            help="Fixed batch size of a LiteRT or ONNX file.  [default: 1 for litert, otherwise "
            "any]",
            show_default=False,
            rich_help_panel="Keras models",
        ),
    ] = None
    length: Annotated[
        str | None,
        typer.Option(
            help="Size of each axis whose size the model leaves open. A subclassed model keeps the "
            "size of its first call, unless you give dynamic, which means any size.  "
            "[default: any]",
            show_default=False,
            rich_help_panel="Keras models",
        ),
    ] = None
    real_length: Annotated[
        bool,
        typer.Option(
            help="Add an input for the length of each sequence without its padding.",
            rich_help_panel="Keras models",
        ),
    ] = False
    labels: Annotated[
        Path | None,
        typer.Option(help="File of class names, one per line.", rich_help_panel="Keras models"),
    ] = None
    examples: Annotated[
        Path | None,
        typer.Option(
            help="An .npz file with an array for each input, on which to compare the export with "
            "Keras.",
            rich_help_panel="Keras models",
        ),
    ] = None


@command(ExportArguments, threads=THREADS)
def export(arguments):
    """Export a translator as a SavedModel, a LiteRT or ONNX file, or a web page.

    The export is written only if its outputs agree with those of Keras. A .keras file of any other
    Keras model can be exported as a SavedModel, or as a LiteRT or ONNX file, with the model's own
    inputs and outputs.

    'all' writes OUT/1 for TensorFlow Serving, OUT/model.float32.tflite, its .float16. and .int8.
    versions, and OUT/parity.json. A comparison with Keras (size, agreement, speed and quality) is
    printed on standard error, and the paths on standard output.
    """
    if is_keras_model(arguments.model):
        return _export_keras_model(arguments)
    _refuse_model_settings(arguments)
    model, format, out = open_model(arguments.model), arguments.format.value, arguments.out
    lines, references = _comparison_inputs(model, arguments.sentences, arguments.references)
    _check_output(format, out)
    specific = {
        "quantization": arguments.quantization and arguments.quantization.value,
        "greedy": arguments.greedy or None,
        "litert_js": arguments.litert_js,
        "title": arguments.title,
    }
    _check_settings(format, specific)
    _check_precision(format, arguments.precision)
    longest, signatures = arguments.max_target_length, arguments.signatures
    if format != ALL:
        _check_settings(format, {"max_target_length": longest})
    settings = {
        "max_source_length": arguments.max_source_length,
        "max_target_length": _target_length(model.search) if longest is None else longest,
        "signatures": tuple(name.value for name in signatures) if signatures else None,
    }
    exporter = _new_exporter(format, specific, **settings)
    load_tensorflow(THREADS)
    with without_greetings():
        translator = load_models([model], arguments.precision)
    comparison = {
        "sentences": lines,
        "references": references,
        "allow_differences": arguments.allow_differences,
        "say": functools.partial(print, file=sys.stderr, flush=True),
    }
    with interrupted_by_sigterm():  # so that the draft is removed
        if exporter is None:
            print(*exporters.export_all(translator, out, **settings, **comparison), sep="\n")
        else:
            print(exporters.export(exporter, translator, out, **comparison))


def _export_keras_model(arguments):
    format, out = arguments.format.value, arguments.out
    if format not in MODEL_FORMATS:
        raise ValueError(
            f"--format for a Keras model must be {' or '.join(MODEL_FORMATS)}. Received: "
            f"format={format!r}, model={str(arguments.model)!r}."
        )
    kind = MODEL_FORMATS[format]
    _check_output(format, out)
    exporter = kind(**model_settings(arguments, kind))
    load_tensorflow(THREADS)
    with without_greetings():
        model = load_keras_model(arguments.model)
    say = functools.partial(print, file=sys.stderr, flush=True)
    with interrupted_by_sigterm():
        export_model = model_exporter.export_keras_model
        print(export_model(exporter, model, out, arguments.allow_differences, say))


def _refuse_model_settings(arguments):
    for name in ("batch_size", "length", "real_length", "labels", "examples"):
        if value := getattr(arguments, name):
            raise ValueError(
                f"--{name.replace('_', '-')} is only for a Keras model that is not a translator. "
                f"Received: {name}={str(value)!r}. Omit it."
            )


def _target_length(search):
    """Default for the longest output of a LiteRT file, longer if the training pairs need it."""
    plain = SearchOptions()
    is_longer = (
        search.max_length_ratio > plain.max_length_ratio
        or search.max_length_offset > plain.max_length_offset
    )
    return min(search.max_length, MOST_FIXED) if is_longer else TARGET_LENGTH


def _check_precision(format, precision):
    if precision is Precision.bfloat16 and format not in IN_BFLOAT16:
        raise ValueError(
            f"Only a SavedModel supports bfloat16. Received: precision={precision.value!r}, "
            f"format={format!r}. Omit the precision, or use --format {' or '.join(IN_BFLOAT16)}."
        )


def _comparison_inputs(model, sentences, references):
    """Return (inputs to compare on, their references or None) from the two files."""
    if references is None and sentences is None:
        return [], None
    if sentences is None:
        raise ValueError(
            f"--references needs --sentences. Received: references={str(references)!r} without "
            "--sentences. Give both, or neither."
        )
    is_table = sentences.name.endswith((".tsv", ".tsv.gz"))  # which also contains references
    if references is None and model.inputs == "lines" and not is_table:
        from keras_bahdanau.data.readers.lines import read_lines

        return read_lines(sentences), None
    from keras_bahdanau.cli.inputs import read_examples

    pairs, _ = read_examples(model.inputs, sentences, references)
    return [source for source, _ in pairs], [target for _, target in pairs]


def _new_exporter(format, specific, **settings):
    """Create the `Exporter` for a format, with the settings it accepts; None for "all"."""
    if format == ALL:
        for kind in exporters.FORMATS.values():
            kind.variants(**settings)  # checks them
        return None
    kind, settings = exporters.FORMATS[format], {**settings, **specific}
    return kind(
        **{
            name: value
            for name, value in settings.items()
            if value is not None and _has(kind, name)
        }
    )


def _has(kind, setting):
    return dataclasses.is_dataclass(kind) and any(
        field.name == setting for field in dataclasses.fields(kind)
    )


def _check_settings(format, settings):
    for name, value in settings.items():
        having = [key for key, kind in exporters.FORMATS.items() if _has(kind, name)]
        if value is not None and format not in having:
            raise ValueError(
                f"--{name.replace('_', '-')} is only for --format {' or '.join(having)}. "
                f"Received: {name}={str(value)!r} with format={format!r}. Omit it, or choose "
                "another format."
            )


def _check_output(format, out):
    kind = exporters.FORMATS.get(format)
    if out.is_file() or (kind and kind.writes_file):
        check_absent(out, "out")
        check_unowned(out)
        kind and kind.check_name(out, "out")
    else:
        next_version(out)  # raises an error if `out` contains anything but versions
