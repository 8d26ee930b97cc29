"""The commands `keras-bahdanau translate`, `read` and `transcribe`."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import show_progress, warn
from keras_bahdanau.cli.model_file import load_models, open_models, search_of
from keras_bahdanau.cli.options import (
    BatchOption,
    ExploreOption,
    ImportanceOption,
    JsonOption,
    ModelsOption,
    PrecisionOption,
    PrefixOption,
    RejectOption,
    TagOption,
    command,
)
from keras_bahdanau.cli.output import LinePrinter, Rejection
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value

CHUNK = 256  # number of files to read before their lines are printed


@dataclasses.dataclass(kw_only=True)
class TranslateArguments:
    """Arguments for `translate`, `read` and `transcribe`."""

    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="File of sentences, one per line, or - for standard input. For a model that reads "
            "images or speech: PNG, JPEG, WAV or FLAC files, or manifests named .tsv or .tsv.gz.  "
            "[default: -]",
        ),
    ] = None
    model: ModelsOption
    names: Annotated[
        bool,
        typer.Option(
            "--names",
            help="For files, print 'path<TAB>text'. The output is a manifest for the current "
            "directory.",
        ),
    ] = False
    nbest: Annotated[
        int | None,
        typer.Option(
            help="Number of outputs to print for each input, best first, as 'number ||| text ||| "
            "score'. At most the beam width."
        ),
    ] = None
    alignment: Annotated[
        bool,
        typer.Option(
            "--alignment", help="Append the links between words to each line, as ' ||| 0-0 1-2'."
        ),
    ] = False
    columns: Annotated[
        str | None,
        typer.Option(
            help="Names of the columns of a TSV, in order, as in train: source and features; "
            "target, count or - for a column to ignore.  [default: inferred from the text of a "
            "file named .tsv or .tsv.gz, as in train; in other files each line is a sentence]",
            show_default=False,
        ),
    ] = None
    tag: TagOption = None
    write_pairs: Annotated[
        Path | None,
        typer.Option(
            help="TSV file of training pairs to write instead of standard output: each sentence "
            "with its translations. With --temperature 1, the translations are sampled. If the "
            "command is stopped, the pairs written so far are in .unfinished-NAME.",
            show_default=False,
            rich_help_panel="Pairs",
        ),
    ] = None
    reversed: Annotated[
        bool,
        typer.Option(
            "--reversed",
            help="Write the translation as the source of each pair, for back-translation.",
            rich_help_panel="Pairs",
        ),
    ] = False
    pair_tag: Annotated[
        str | None,
        typer.Option(
            help="Word to put before the source of each pair, such as <bt>.",
            show_default=False,
            rich_help_panel="Pairs",
        ),
    ] = None
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="Write the score as a third column.",
            rich_help_panel="Pairs",
        ),
    ] = False
    prefix: PrefixOption = None
    reject_below: RejectOption = None
    json: JsonOption = False
    explore: ExploreOption = None
    importance: ImportanceOption = False
    reference: Annotated[
        Path | None,
        typer.Option(
            help="File of reference targets, one per line, to show on the page of --explore for "
            "comparison.",
            show_default=False,
            rich_help_panel="Page",
        ),
    ] = None
    batch_size: BatchOption = 64
    precision: PrecisionOption = None


OF_SENTENCES = (
    *("alignment", "columns", "tag", "write_pairs", "reversed", "pair_tag", "scores", "explore"),
    *("reference", "importance"),
)


@command(TranslateArguments, (SearchOptions, None))
def translate(arguments, search):
    """Translate sentences, read images or transcribe recordings: one output line for each input.

    The type of input depends on the model. Text files must be UTF-8, plain or .gz. A blank line, an
    empty file and an unreadable file each give an empty line. Inputs longer than
    --max-source-length are truncated. Warnings on standard error name unreadable and truncated
    inputs.
    """
    models = open_models(arguments.model)
    kind = _kind_of_inputs(models[0], arguments)
    search = search_of(
        models, search, arguments.precision, explore=arguments.explore and str(arguments.explore)
    )
    nbest = arguments.nbest
    if nbest is not None and search is not None:
        search.check_nbest(nbest)
    check_value("batch_size", arguments.batch_size, BATCH_SIZE)
    rejection = Rejection(arguments.reject_below)
    inputs = kind(arguments, models[0])
    pipeline = load_models(models, arguments.precision)
    if nbest is not None and search is None:
        pipeline.check_nbest(nbest)
    inputs.check(pipeline, search)
    rejection.check_calibration(pipeline, search, len(models))
    if inputs.prefix is not None:
        from keras_bahdanau.cli.warnings import UnknownText

        UnknownText(pipeline.target).warn([inputs.prefix], ["the prefix"])
    count = 0
    with inputs.output:
        for chunk in inputs.chunks:
            prefixes = None if inputs.prefix is None else [inputs.prefix] * len(chunk)
            results = pipeline.decode_nbest(
                inputs.tagged(chunk), nbest or 1, arguments.batch_size, search, prefixes
            )
            inputs.warn(chunk, results)
            inputs.write(chunk, rejection(results))
            count += len(chunk)
            show_progress(inputs.progress(count), lines=arguments.write_pairs is None)
    show_progress("")
    rejection.report()
    inputs.conclude(search)


def _kind_of_inputs(model, arguments):
    if model.inputs == "files":
        for name in OF_SENTENCES:
            if value := getattr(arguments, name):
                value = str(value) if isinstance(value, Path) else value
                raise ValueError(
                    f"`{name}` is only for sentences. Received: {name}={value!r} with "
                    f"model={str(model.path)!r}, which reads files. Omit it."
                )
        return _Files
    model.require_inputs("lines")
    if arguments.names:
        raise ValueError(
            "`names` is only for files. Received: names=True with "
            f"model={str(model.path)!r}, which reads lines. Omit it."
        )
    from keras_bahdanau.cli.sentences import Sentences

    return Sentences


class _Files:
    """Image or audio files to read in chunks, with their warnings and output lines."""

    output = contextlib.nullcontext()

    def __init__(self, arguments, model):
        from keras_bahdanau.cli.inputs import decoded

        if not arguments.files:
            raise ValueError(
                "A model that reads files needs at least one file. Received: "
                f"model={str(model.path)!r} without files. Give files or a manifest (.tsv)."
            )
        self.prefix = decoded(arguments.prefix, "PREFIX")
        self.paths = [path for file in arguments.files for path in _paths(file)]
        self.chunks = [
            self.paths[first : first + CHUNK] for first in range(0, len(self.paths), CHUNK)
        ]
        self.printer = LinePrinter(arguments.nbest is not None, arguments.json, arguments.names)
        self.lengths = []

    def check(self, pipeline, search):
        self.limits = pipeline.source.limits(pipeline.longest(search))
        self.unit, self.source = pipeline.source.unit, pipeline.source

    def tagged(self, paths):
        return paths

    def warn(self, paths, results):
        from keras_bahdanau.cli.warnings import warn_of_cuts

        warn_of_cuts((best for best, *_ in results), self.limits, map(str, paths), self.unit)
        self.lengths += [len(best.source_tokens) for best, *_ in results]

    def write(self, paths, results):
        self.printer(paths, results)

    def progress(self, count):
        return f"{count:,} of {counted(len(self.paths), 'files')}"

    def conclude(self, search):
        from keras_bahdanau.data.readers.manifest import report_unreadable

        for line in report_unreadable(self.paths, self.lengths, self.source):
            warn(line)


def _paths(file):
    """List the files that an argument stands for: those in a manifest, or the file itself."""
    if file.name.endswith((".tsv", ".tsv.gz")):
        from keras_bahdanau.data.readers.manifest import read_manifest

        return [path for path, _ in read_manifest(file)]
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        raise FileNotFoundError(
            f"Input files must exist. Received: path={str(file)!r}, {kind}. "
            "Give the paths of existing files, or a manifest."
        )
    return [file]
