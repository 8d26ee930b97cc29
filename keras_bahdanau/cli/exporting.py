"""`keras-bahdanau export` and `check`."""

import enum
import functools
import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import ModelOption, check_absent
from keras_bahdanau.cli.console import ends_well, load_tensorflow
from keras_bahdanau.data.reading import read_lines, read_pairs
from keras_bahdanau.pipelines.file import find_translator


class Format(str, enum.Enum):
    """What `export` writes."""

    SAVED_MODEL = "saved-model"
    LITERT = "litert"
    ALL = "all"


class Quantization(str, enum.Enum):
    """How `export` makes a LiteRT file smaller."""

    FLOAT16 = "float16"
    INT8 = "int8"


@ends_well()
def export(
    *,
    model: ModelOption,
    format: Annotated[
        Format,
        typer.Option(help="For TensorFlow Serving (saved-model), phones (litert), or all."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="File of litert; or directory, in which saved-model is the next version."
        ),
    ],
    quantization: Annotated[
        Quantization | None, typer.Option(help="Weights of a LiteRT file in 16 or 8 bits.")
    ] = None,
    max_source_length: Annotated[
        int, typer.Option(min=1, help="Most tokens of a sentence for a LiteRT file.")
    ] = 64,
    max_target_length: Annotated[
        int, typer.Option(min=1, help="Most tokens of a translation by a LiteRT file.")
    ] = 64,
    sentences: Annotated[
        Path | None,
        typer.Option(help="File of sentences to compare on, beside the built-in edge cases."),
    ] = None,
    references: Annotated[
        Path | None, typer.Option(help="Their translations, line by line: adds BLEU and chrF.")
    ] = None,
    allow_differences: Annotated[
        bool, typer.Option(help="Write it even if it does not answer as Keras does.")
    ] = False,
):
    """Write a translator as a SavedModel, a LiteRT file, or all, once they answer as Keras does.

    'all' makes OUT/1 for TensorFlow Serving, OUT/model.float32.tflite, .float16. and .int8., and
    OUT/parity.json. How they compare with Keras, in size, agreement, speed and quality, is told on
    standard error; standard output gets the paths.
    """
    path = find_translator(model)
    lines, translations = _compared_on(sentences, references)
    _check_output(format, out, quantization)
    load_tensorflow(threads=1)  # for times that compare
    from keras_bahdanau import exporters
    from keras_bahdanau.pipelines.translator import Translator

    translator = Translator.load(path)
    compared = {
        "sentences": lines,
        "references": translations,
        "allow_differences": allow_differences,
        "say": functools.partial(print, file=sys.stderr, flush=True),
    }
    lengths = {"max_source_length": max_source_length, "max_target_length": max_target_length}
    if format is Format.ALL:
        print(*exporters.export_all(translator, out, **lengths, **compared), sep="\n")
    elif format is Format.SAVED_MODEL:
        print(exporters.export_saved_model(translator, out, **compared))
    else:
        precision = quantization and quantization.value
        print(exporters.export_litert(translator, out, precision, **lengths, **compared))


@ends_well()
def check(
    path: Annotated[Path, typer.Argument(help="SavedModel directory, or .tflite file.")],
):
    """Say what a server or a phone would refuse; exit code 1 if there is anything.

    If there is nothing, what the artefact says of itself is shown: versions, limits, sha256,
    signatures, and how it compared with Keras.
    """
    load_tensorflow()
    from keras_bahdanau.exporters.about import about
    from keras_bahdanau.exporters.check import check as findings_of

    findings = findings_of(path)
    for finding in findings:
        print(finding)
    if findings:
        raise typer.Exit(1)
    if said := about(path):
        print(said)


def _compared_on(sentences, references):
    """The lines of the two files; None for references that are not given."""
    if references is None:
        return [] if sentences is None else read_lines(sentences), None
    if sentences is None:
        raise ValueError(
            f"--references needs --sentences. Received: references={str(references)!r}. "
            "Give both, or neither."
        )
    pairs = read_pairs(sentences, references)
    return [source for source, _ in pairs], [target for _, target in pairs]


def _check_output(format, out, quantization):
    """Raises ValueError or FileExistsError if that can't be written there."""
    if format is Format.LITERT or out.is_file():
        check_absent(out, "out")
    if format is not Format.LITERT and quantization is not None:
        raise ValueError(
            "Only a LiteRT file can be quantized. "
            f"Received: quantization={quantization.value!r} with format={format.value!r}. "
            "Leave it out, or export with --format litert."
        )
