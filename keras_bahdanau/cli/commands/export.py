"""`keras-bahdanau export`."""

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
TARGET_LENGTH = 64  # tokens, of a LiteRT file
THREADS = 1  # for comparable times
_FORMATS = exporters.FORMATS.items()
Format = enum.Enum("Format", {name: name for name in (*exporters.FORMATS, ALL)}, type=str)
_SIGNATURES = (
    *litert_exporter.SIGNATURES,
    *saved_model_exporter.SIGNATURES,
    *model_exporter.SIGNATURES,
)
Signature = enum.Enum("Signature", {name: name for name in _SIGNATURES}, type=str)


class Quantization(str, enum.Enum):
    """Precisions that make a file smaller."""

    FLOAT16 = "float16"
    INT8 = "int8"
    INT4 = "int4"


@dataclasses.dataclass(kw_only=True)
class ExportArguments:
    """Arguments of `export`."""

    model: ModelOption
    format: Annotated[
        Format,
        typer.Option(
            help=f"For {', '.join(f'{kind.purpose} ({key})' for key, kind in _FORMATS)}, or all."
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(
            help="File for litert or onnx; directory for browser; or directory in which a "
            "SavedModel becomes the next version."
        ),
    ]
    quantization: Annotated[
        Quantization | None,
        typer.Option(help="Weights of a LiteRT file in 16, 8 or 4 bits, of an ONNX file in 8."),
    ] = None
    greedy: Annotated[
        bool,
        typer.Option(
            "--greedy", help="Choose the best token at each step, in an ONNX file, without a beam."
        ),
    ] = False
    max_source_length: Annotated[
        int | None,
        typer.Option(
            help="Most tokens of a sentence: a SavedModel or ONNX file cuts a longer one, a LiteRT "
            "file or a page refuses it.  [default: 512, or the translator's own limit; 64 for "
            "litert and browser]",
            show_default=False,
            rich_help_panel="Limits and signatures",
        ),
    ] = None
    max_target_length: Annotated[
        int | None,
        typer.Option(
            help="Most tokens of a translation by a LiteRT file or a page; a SavedModel uses "
            f"the max_length of its search.  [default: {TARGET_LENGTH}; max_length if the training "
            "pairs raised max_length_ratio or max_length_offset]",
            show_default=False,
            rich_help_panel="Limits and signatures",
        ),
    ] = None
    signatures: Annotated[
        list[Signature] | None,
        typer.Option(
            help="Signatures in addition to the main ones, one per option. LiteRT file: greedy "
            "(no beam), nbest (the best few texts), prefix (texts that begin with a given text), "
            "steps (for programs that choose each token). SavedModel: prefix, alignments (of the "
            "texts of lists). ONNX file: prefix. Keras model: serving_default (the model), step "
            "(one time step, with states), weights (of its attention), one of them in an ONNX "
            "file.  [default: greedy, steps for litert; nbest, prefix for browser; serving_default "
            "for a Keras model]",
            show_default=False,
            rich_help_panel="Limits and signatures",
        ),
    ] = None
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="File of sentences, TSV of both sides, or manifest of files and their texts, to "
            "compare on, along with the built-in edge cases; texts of a TSV or a manifest add "
            "scores.",
            rich_help_panel="Comparison with Keras",
        ),
    ] = None
    references: Annotated[
        Path | None,
        typer.Option(
            help="Their translations, line by line: adds BLEU and chrF.",
            rich_help_panel="Comparison with Keras",
        ),
    ] = None
    allow_differences: Annotated[
        bool,
        typer.Option(
            help="Write the export even if its answers differ from those of Keras.",
            rich_help_panel="Comparison with Keras",
        ),
    ] = False
    litert_js: Annotated[
        Path | None,
        typer.Option(
            help="Directory in which npm install @litertjs/core was run, for a page.  [default: .]",
            show_default=False,
            rich_help_panel="Page",
        ),
    ] = None
    title: Annotated[
        str | None,
        typer.Option(
            help="Heading of a page.  [default: Translate]",
            show_default=False,
            rich_help_panel="Page",
        ),
    ] = None
    precision: PrecisionOption = None
    batch_size: Annotated[
        int | None,
        typer.Option(
            help="Rows per request to a LiteRT or ONNX file.  [default: 1 for litert, else any]",
            show_default=False,
            rich_help_panel="Keras models",
        ),
    ] = None
    length: Annotated[
        str | None,
        typer.Option(
            help="Size of each axis that the model leaves open; dynamic for any length of a "
            "subclassed model, which else keeps that of its first call.  [default: any]",
            show_default=False,
            rich_help_panel="Keras models",
        ),
    ] = None
    real_length: Annotated[
        bool,
        typer.Option(
            help="Add an input with the real length of each padded sequence.",
            rich_help_panel="Keras models",
        ),
    ] = False
    labels: Annotated[
        Path | None,
        typer.Option(
            help="File with the name of each class, line by line.", rich_help_panel="Keras models"
        ),
    ] = None
    examples: Annotated[
        Path | None,
        typer.Option(
            help="An .npz file with an array for each input, to compare on.",
            rich_help_panel="Keras models",
        ),
    ] = None


@command(ExportArguments, threads=THREADS)
def export(arguments):
    """Write a translator as SavedModel, LiteRT or ONNX file or page, if it answers as Keras does.

    A .keras file of any other Keras model becomes a SavedModel, or a LiteRT or ONNX file, with its
    own inputs and outputs.

    'all' writes OUT/1 for TensorFlow Serving, OUT/model.float32.tflite, .float16. and .int8., and
    OUT/parity.json. The comparison with Keras, in size, agreement, speed and quality, is printed
    on standard error, the paths on standard output.
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
    with interrupted_by_sigterm():  # which removes the draft
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
                f"--{name.replace('_', '-')} must go with a Keras model that is not a translator. "
                f"Received: {name}={str(value)!r}. Leave it out."
            )


def _target_length(search):
    """Most tokens of a text of a LiteRT file: more if its training texts are longer."""
    plain = SearchOptions()
    is_longer = (
        search.max_length_ratio > plain.max_length_ratio
        or search.max_length_offset > plain.max_length_offset
    )
    return min(search.max_length, MOST_FIXED) if is_longer else TARGET_LENGTH


def _check_precision(format, precision):
    if precision is Precision.bfloat16 and format not in IN_BFLOAT16:
        raise ValueError(
            f"Only a SavedModel multiplies in bfloat16. Received: precision={precision.value!r}, "
            f"format={format!r}. Leave the precision out, or give one of {', '.join(IN_BFLOAT16)}."
        )


def _comparison_inputs(model, sentences, references):
    """(inputs to compare on, their texts or None), from the two files."""
    if references is None and sentences is None:
        return [], None
    if sentences is None:
        raise ValueError(
            f"--references needs --sentences. Received: references={str(references)!r}. "
            "Give both, or neither."
        )
    is_table = sentences.name.endswith((".tsv", ".tsv.gz"))  # it contains references, too
    if references is None and model.inputs == "lines" and not is_table:
        from keras_bahdanau.data.readers.lines import read_lines

        return read_lines(sentences), None
    from keras_bahdanau.cli.inputs import read_examples

    pairs, _ = read_examples(model.inputs, sentences, references)
    return [source for source, _ in pairs], [target for _, target in pairs]


def _new_exporter(format, specific, **settings):
    """The `Exporter` of a format, with the settings that it accepts; None for all formats."""
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
                f"--{name.replace('_', '-')} must go with --format {' or '.join(having)}. "
                f"Received: {name}={str(value)!r} with format={format!r}. Leave it out, or choose "
                "another format."
            )


def _check_output(format, out):
    kind = exporters.FORMATS.get(format)
    if out.is_file() or (kind and kind.writes_file):
        check_absent(out, "out")
        check_unowned(out)
        kind and kind.check_name(out, "out")
    else:
        next_version(out)  # raises an error if something else is there
