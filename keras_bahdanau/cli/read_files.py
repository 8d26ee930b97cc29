"""`keras-bahdanau read` and `transcribe`: files in, a line of text each out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    BatchOption,
    JsonOption,
    ModelsOption,
    PrecisionOption,
    PrefixOption,
    RejectOption,
    find_models,
    fixed_precision,
    load_translator,
    search_of,
    with_search_options,
)
from keras_bahdanau.cli.confident_lines import Rejection, json_line
from keras_bahdanau.cli.console import ends_well, show_progress, tell_cut, warn
from keras_bahdanau.cli.inputs import decoded, require_inputs
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.cli.unknown_text import UnknownText
from keras_bahdanau.data.readers.manifest import read_manifest, report_unreadable
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value

CHUNK = 256  # files that are read before their lines are printed


@ends_well()
@with_search_options
@with_imports
def read(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files: PNG, JPEG, WAV or FLAC; or manifests, named .tsv or .tsv.gz."),
    ],
    *,
    model: ModelsOption,
    names: Annotated[
        bool, typer.Option("--names", help="Print 'path<TAB>text', a manifest of this directory.")
    ] = False,
    nbest: Annotated[
        int | None,
        typer.Option(
            help="Print so many texts of each file, best first, as 'number ||| text ||| score'; "
            "at most the beam width."
        ),
    ] = None,
    prefix: PrefixOption = None,
    reject_below: RejectOption = None,
    json: JsonOption = False,
    batch_size: BatchOption = 64,
    precision: PrecisionOption = None,
    **search,
):
    """Read images, or transcribe recordings: one line out for each file.

    A file that can't be read, or holds nothing, gives an empty line, and is named on standard
    error.
    """
    paths = find_models(model)
    require_inputs(paths[0], "files")
    search = search_of(paths[0], search, *paths[1:], **fixed_precision(precision))
    if nbest is not None and search is not None:
        search.check_nbest(nbest)
    check_value("batch_size", batch_size, BATCH_SIZE)
    rejection = Rejection(reject_below)
    prefix = decoded(prefix, "PREFIX")
    inputs = [one for file in files for one in _inputs(file)]
    pipeline = load_translator(paths, precision)
    if nbest is not None and search is None:
        pipeline.check_nbest(nbest)
    if prefix is not None:
        UnknownText(pipeline.target).tell([prefix], ["the prefix"])
    rejection.check_calibration(pipeline, search, len(paths))
    limits, lengths = pipeline.source.limits(pipeline.longest(search)), []
    for first in range(0, len(inputs), CHUNK):
        chunk = inputs[first : first + CHUNK]
        prefixes = None if prefix is None else [prefix] * len(chunk)
        results = pipeline.decode_nbest(chunk, nbest or 1, batch_size, search, prefixes)
        best = [best for best, *_ in results]
        tell_cut(best, limits, map(str, chunk), pipeline.source.unit)
        for row, hypotheses in enumerate(rejection(results)):
            lengths.append(len(hypotheses[0].source_tokens))
            for hypothesis in hypotheses:
                number = first + row if nbest else None
                if json:
                    print(json_line(hypothesis, number, str(chunk[row]) if names else None))
                else:
                    print(_line(hypothesis, number, chunk[row], names))
        sys.stdout.flush()
        done = f"{first + len(chunk):,} of {counted(len(inputs), 'files')}"
        show_progress(done, lines=True)
    show_progress("")
    rejection.tell()
    unreadable = report_unreadable(inputs, lengths)
    if unreadable:
        warn(unreadable)


def _inputs(file):
    """The files that an argument stands for."""
    if file.name.endswith((".tsv", ".tsv.gz")):
        return [one for one, _ in read_manifest(file)]
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        raise FileNotFoundError(
            f"Files to read must exist. Received: path={str(file)!r}, {kind}. "
            "Give files, or a manifest."
        )
    return [file]


def _line(result, number, path, names):
    """One line of output, in the form of Moses' n-best lists if it has a number."""
    text = result.text
    if number is not None:
        text = f"{number} ||| {text} ||| {result.score:.4f}"
    return f"{path}\t{text}" if names else text
