"""`keras-bahdanau translate`, `read` and `transcribe`: a text for each sentence or file."""

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

CHUNK = 256  # files that are read before their lines are printed


@dataclasses.dataclass(kw_only=True)
class TranslateArguments:
    """Arguments of `translate`, `read` and `transcribe`."""

    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A file of sentences, one per line; - is standard input. For a model that reads "
            "images or speech: PNG, JPEG, WAV or FLAC files, or manifests, named .tsv or .tsv.gz.  "
            "[default: -]",
        ),
    ] = None
    model: ModelsOption
    names: Annotated[
        bool,
        typer.Option(
            "--names", help="For files: print 'path<TAB>text', a manifest of this directory."
        ),
    ] = False
    nbest: Annotated[
        int | None,
        typer.Option(
            help="Number of texts to print for each input, best first, as 'number ||| text ||| "
            "score'; at most the beam width."
        ),
    ] = None
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Append ' ||| 0-0 1-2', the linked words.")
    ] = False
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of a TSV in order, as in train: source, features, and target, count or - "
            "for those to ignore.  [default: found from the text of a file named .tsv "
            "or .tsv.gz, as in train; else a line is a sentence]",
            show_default=False,
        ),
    ] = None
    tag: TagOption = None
    write_pairs: Annotated[
        Path | None,
        typer.Option(
            help="TSV to write instead of standard output, for training: each sentence and its "
            "translations. With --temperature 1 they are drawn at random. A run that is stopped "
            "leaves its pairs in .unfinished-NAME.",
            show_default=False,
            rich_help_panel="Pairs",
        ),
    ] = None
    reversed: Annotated[
        bool,
        typer.Option(
            "--reversed",
            help="Write the translation as the source of a pair: back-translation.",
            rich_help_panel="Pairs",
        ),
    ] = False
    pair_tag: Annotated[
        str | None,
        typer.Option(
            help="Word before the source of each pair, such as <bt>.",
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
            help="Reference targets, one per line, to compare with on the page of --explore.",
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
    """Translate sentences, read images or transcribe recordings: one line out for each input.

    The model determines which. Texts are UTF-8, plain or .gz. A blank line, an empty file and an
    unreadable file give an empty line. An input that is longer than --max-source-length is cut.
    Standard error names such inputs.
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
                    f"`{name}` is for sentences. Received: {name}={value!r} with "
                    f"model={str(model.path)!r}, which reads files. Leave it out."
                )
        return _Files
    model.require_inputs("lines")
    if arguments.names:
        raise ValueError(
            "`names` is for files. Received: names=True with "
            f"model={str(model.path)!r}, which reads lines. Leave it out."
        )
    from keras_bahdanau.cli.sentences import Sentences

    return Sentences


class _Files:
    """Files to read: their lists, warnings and lines of output."""

    output = contextlib.nullcontext()

    def __init__(self, arguments, model):
        from keras_bahdanau.cli.inputs import decoded

        if not arguments.files:
            raise ValueError(
                "This model reads files, and none was given. Received: "
                f"model={str(model.path)!r} without files. Pass files or a manifest (.tsv)."
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
    """The files that an argument names: those of a manifest, or the file itself."""
    if file.name.endswith((".tsv", ".tsv.gz")):
        from keras_bahdanau.data.readers.manifest import read_manifest

        return [path for path, _ in read_manifest(file)]
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        raise FileNotFoundError(
            f"Files to read must exist. Received: path={str(file)!r}, {kind}. "
            "Give files, or a manifest."
        )
    return [file]
