"""`keras-bahdanau export` and `check`."""

import dataclasses
import enum
import functools
import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau import exporters
from keras_bahdanau.cli.arguments import (
    ModelOption,
    Precision,
    PrecisionOption,
    check_absent,
)
from keras_bahdanau.cli.console import (
    ends_well,
    interrupted_by_sigterm,
    load_tensorflow,
)
from keras_bahdanau.cli.inputs import inputs_of, read_examples
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.exporters.all_formats import exporter_of
from keras_bahdanau.exporters.litert import litert_exporter
from keras_bahdanau.exporters.publishing import next_version
from keras_bahdanau.exporters.saved_model import saved_model_exporter
from keras_bahdanau.files.ownership import check_unowned
from keras_bahdanau.pipelines.file import find_translator
from keras_bahdanau.settings.greetings import without_greetings

ALL = "all"
IN_BFLOAT16 = "saved-model", "saved-model-ids"  # formats
TARGET_LENGTH = 64  # tokens, of a LiteRT file
THREADS = 1  # for times that compare
Format = enum.Enum("Format", {name: name for name in (*exporters.FORMATS, ALL)}, type=str)
_SIGNATURES = *litert_exporter.SIGNATURES, *saved_model_exporter.SIGNATURES
Signature = enum.Enum("Signature", {name: name for name in _SIGNATURES}, type=str)


class Quantization(str, enum.Enum):
    """Precisions that make a LiteRT file smaller."""

    FLOAT16 = "float16"
    INT8 = "int8"
    INT4 = "int4"


@ends_well()
@with_imports(threads=THREADS)
def export(
    *,
    model: ModelOption,
    format: Annotated[
        Format,
        typer.Option(
            help="For TensorFlow Serving (saved-model), clients that split text themselves "
            "(saved-model-ids), phones (litert), a page (browser), or all."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="File of litert; directory of browser; or one in which a SavedModel is the next "
            "version."
        ),
    ],
    quantization: Annotated[
        Quantization | None, typer.Option(help="Weights of a LiteRT file in 16, 8 or 4 bits.")
    ] = None,
    max_source_length: Annotated[
        int | None,
        typer.Option(
            help="Most tokens of a sentence: a SavedModel cuts a longer one, a LiteRT file "
            "or a page refuses it.  [default: 512, or what the translator says; 64 for litert and "
            "browser]",
            show_default=False,
        ),
    ] = None,
    max_target_length: Annotated[
        int | None,
        typer.Option(
            help="Most tokens of a translation by a LiteRT file or a page; a SavedModel has the "
            f"max_length of its search.  [default: {TARGET_LENGTH}]",
            show_default=False,
        ),
    ] = None,
    signatures: Annotated[
        list[Signature] | None,
        typer.Option(
            help="Signatures of a LiteRT file beside its main one, given once for each: greedy "
            "(no beam), nbest (the best few texts), prefix (those that begin with a given text), "
            "steps (for programs that choose each token). Of a SavedModel prefix, and alignments "
            "(of the texts of lists), beside those that all have.  [default: greedy, steps of "
            "litert; nbest, prefix of browser]",
            show_default=False,
        ),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="File of sentences, TSV of both sides, or manifest of files and their texts, to "
            "compare on, beside the built-in edge cases; texts of a TSV or a manifest add scores."
        ),
    ] = None,
    references: Annotated[
        Path | None, typer.Option(help="Their translations, line by line: adds BLEU and chrF.")
    ] = None,
    allow_differences: Annotated[
        bool, typer.Option(help="Write it even if it does not answer as Keras does.")
    ] = False,
    litert_js: Annotated[
        Path | None,
        typer.Option(
            help="Directory in which npm install @litertjs/core was run, for a page.  [default: .]",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(help="Heading of a page.  [default: Translate]", show_default=False),
    ] = None,
    precision: PrecisionOption = None,
):
    """Write a translator as a SavedModel, a LiteRT file or a page, once it answers as Keras does.

    'all' makes OUT/1 for TensorFlow Serving, OUT/model.float32.tflite, .float16. and .int8., and
    OUT/parity.json. How they compare with Keras, in size, agreement, speed and quality, goes to
    standard error; standard output gets the paths.
    """
    path = find_translator(model)
    lines, translations = _compared_on(inputs_of(path), sentences, references)
    _check_output(format.value, out)
    own = {
        "quantization": quantization and quantization.value,
        "litert_js": litert_js,
        "title": title,
    }
    _check_own(format.value, own)
    _check_precision(format.value, precision)
    if format.value != ALL:
        _check_own(format.value, {"max_target_length": max_target_length})
    settings = {
        "max_source_length": max_source_length,
        "max_target_length": TARGET_LENGTH if max_target_length is None else max_target_length,
        "signatures": tuple(one.value for one in signatures) if signatures else None,
    }
    exporter = _new_exporter(format.value, own, **settings)
    load_tensorflow(THREADS)
    translator = _loaded(path, precision)
    compared = {
        "sentences": lines,
        "references": translations,
        "allow_differences": allow_differences,
        "say": functools.partial(print, file=sys.stderr, flush=True),
    }
    with interrupted_by_sigterm():  # a draft is removed
        if exporter is None:
            print(*exporters.export_all(translator, out, **settings, **compared), sep="\n")
        else:
            print(exporters.export(exporter, translator, out, **compared))


@ends_well()
def check(
    path: Annotated[Path, typer.Argument(help="SavedModel or page directory, or .tflite file.")],
):
    """Print damage, and what a server or a phone would refuse; exit code 1 if there is anything.

    If there is nothing, the card of the artefact is printed: versions, limits, sha256,
    signatures, and the comparison with Keras.
    """
    exporter = exporter_of(path)()
    findings = exporter.damage(path)
    if not findings:
        if exporter.check_loads_tensorflow:
            load_tensorflow()
        findings = exporter.check(path)
    for finding in findings:
        print(finding)
    if findings:
        raise typer.Exit(1)
    print(exporters.describe(path))


def _check_precision(format, precision):
    """Raise ValueError if a format can't have a precision."""
    if precision is Precision.bfloat16 and format not in IN_BFLOAT16:
        raise ValueError(
            f"Only a SavedModel multiplies in bfloat16. Received: precision={precision.value!r}, "
            f"format={format!r}. Leave the precision out, or give one of {', '.join(IN_BFLOAT16)}."
        )


def _loaded(path, precision):
    """The pipeline of a file."""
    from keras_bahdanau.pipelines.by_source import load_pipeline

    with without_greetings():
        return load_pipeline(path, precision and precision.value)


def _compared_on(inputs, sentences, references):
    """(inputs to compare on, their texts or None), of the two files."""
    if references is None and sentences is None:
        return [], None
    if sentences is None:
        raise ValueError(
            f"--references needs --sentences. Received: references={str(references)!r}. "
            "Give both, or neither."
        )
    is_table = sentences.name.endswith((".tsv", ".tsv.gz"))  # which has references, too
    if references is None and inputs == "lines" and not is_table:
        return read_lines(sentences), None
    pairs = read_examples(inputs, sentences, references).pairs
    return [source for source, _ in pairs], [target for _, target in pairs]


def _new_exporter(format, own, **settings):
    """The `Exporter` of a format, with the settings that it has; None for all formats."""
    if format == ALL:
        for kind in exporters.FORMATS.values():
            kind.variants(**settings)  # which checks them
        return None
    kind, settings = exporters.FORMATS[format], {**settings, **own}
    given = {name: value for name, value in settings.items() if value is not None}
    return kind(**{name: value for name, value in given.items() if _has(kind, name)})


def _has(kind, setting):
    """Return True if the exporters of a class have a setting."""
    return dataclasses.is_dataclass(kind) and any(
        field.name == setting for field in dataclasses.fields(kind)
    )


def _check_own(format, settings):
    """Raise ValueError if a setting is given that exporters of other formats alone have."""
    for name, value in settings.items():
        having = [one for one, kind in exporters.FORMATS.items() if _has(kind, name)]
        if value is not None and format not in having:
            raise ValueError(
                f"--{name.replace('_', '-')} must go with --format {' or '.join(having)}. "
                f"Received: {name}={str(value)!r} with format={format!r}. Leave it out, or choose "
                "another format."
            )


def _check_output(format, out):
    """Raise ValueError or FileExistsError if that can't be written there."""
    kind = exporters.FORMATS.get(format)
    if out.is_file() or (kind and kind.writes_file):
        check_absent(out, "out")
        check_unowned(out)
        kind and kind.check_name(out, "out")
    else:
        next_version(out)  # or say now what else stands there
