"""The command `keras-bahdanau prepare`."""

import dataclasses
import functools
import shutil
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import load_tensorflow
from keras_bahdanau.cli.model_file import open_model
from keras_bahdanau.cli.options import TargetArgument, command
from keras_bahdanau.cli.output import check_absent, check_different, check_writable
from keras_bahdanau.data.shards.preparation import WORKERS, Preparation
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.sources.named_source import NAMES


@dataclasses.dataclass(kw_only=True)
class PrepareArguments:
    """Arguments for `prepare`."""

    source: Annotated[
        Path,
        typer.Argument(
            help="Source sentences, one per line; a .tsv, .jsonl or .tmx file with both languages; "
            "the directory of a Hugging Face dataset; or, for images and speech, a manifest (a TSV "
            "of paths and texts)."
        ),
    ]
    target: TargetArgument = None
    kind: Annotated[
        str,
        typer.Option(
            "--source",
            help=f"Source type: {', '.join(NAMES)}. Settings may follow it, as in train.",
        ),
    ] = "text"
    out: Annotated[
        Path | None, typer.Option(help="New directory for the shards.", show_default=False)
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what the filters drop, but write no shards.")
    ] = False
    report: Annotated[
        Path | None,
        typer.Option(help="JSON file for the report. [default: OUT/report.json]"),
    ] = None
    sides: Annotated[
        str | None,
        typer.Option(
            help="Source and target, separated by a comma: two keys of JSON lines or columns of a "
            "dataset, such as translation.en,translation.de; or two languages of a TMX file, such "
            "as en,de.  [default: source,target; for a TMX file with two languages, srclang and "
            "the other one]",
            show_default=False,
            rich_help_panel="Data",
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            help="Names of the columns of the TSV, in order and separated by commas: source and "
            "target; count or - for a column to ignore.  [default: source,target]",
            show_default=False,
            rich_help_panel="Data",
        ),
    ] = None
    vocabulary: Annotated[
        list[Path] | None,
        typer.Option(
            help="Existing vocabularies to use: a training run, a .keras file or shards that "
            "contain them, or a SentencePiece file for both sides, or one for each side.",
            show_default=False,
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of processes.  [default: one per core]",
            show_default=False,
            rich_help_panel="Run",
        ),
    ] = None


@command(
    PrepareArguments,
    (Preparation, Preparation()),
    on_interrupt="Run the same command to resume.",
    imports=False,
)
def prepare(arguments, options):
    """Prepare a corpus of any size for training: filter it, and write it as shards.

    Shards contain text as token ids, and images or recordings unchanged. Text files must be UTF-8,
    plain or .gz, and are read as streams. If several filters would drop a pair, the report counts
    it for the first one only. OUT is created when all shards are complete. To resume a run that was
    stopped or killed, run the same command again.
    """
    settings, out = Preparation(**options), arguments.out
    report, vocabulary, workers = arguments.report, arguments.vocabulary, arguments.workers
    check_value("workers", workers, WORKERS)
    if (out is None) != arguments.dry_run:
        raise ValueError(
            "Shards need an output directory, and a dry run writes no shards. "
            f"Received: out={out and str(out)!r}, dry_run={arguments.dry_run}. "
            "Give either --out or --dry-run."
        )
    if vocabulary:
        _check_learnt(options, vocabulary)
    if out is not None:
        check_absent(out, "out")
    check_writable(report, "report")
    check_different(out=out, report=report)
    from keras_bahdanau.data.shards import preparing  # loads NumPy
    from keras_bahdanau.sources.named_source import inputs_by_name

    say = functools.partial(print, flush=True)
    sides = {"target": arguments.target, "sides": arguments.sides, "columns": arguments.columns}
    corpus = _corpus(arguments.kind, arguments.source, say, **sides)
    if arguments.dry_run:
        survey = preparing.survey(corpus, settings, workers, say)
        say(survey.text())
        if report is not None:
            from keras_bahdanau.files.whole_file import write_json

            write_json(report, survey.record())
        return
    sides = _vocabularies(vocabulary, inputs_by_name(arguments.kind))
    shards = preparing.prepare(corpus, out, settings, sides, workers, say, load_tensorflow)
    if report is not None:
        shutil.copyfile(out / preparing.REPORT, report)
    pairs, files = counted(len(shards), "pairs"), counted(len(shards.entries), "shards")
    say(f"The corpus: {out}, {pairs} in {files}")


def _corpus(kind, path, say, **settings):
    """Open the corpus: text or a manifest, depending on the type of the source."""
    from keras_bahdanau.sources.named_source import inputs_by_name, source_by_name

    if inputs_by_name(kind) == "lines":
        from keras_bahdanau.data.readers import open_corpus

        return open_corpus(path, **settings, say=say)
    for name, value in settings.items():
        if value is not None:
            raise ValueError(
                "A manifest has a path and its text on each line. "
                f"Received: {name}={str(value)!r} with source={kind!r}. Omit it."
            )
    load_tensorflow()
    from keras_bahdanau.data.shards.file_rows import ManifestCorpus

    return ManifestCorpus(path, source_by_name(kind))


def _check_learnt(options, vocabulary):
    for name in ("vocabulary_size", "model_type", "normalization", "joint", "symbols", "sample"):
        if name in options:
            raise ValueError(
                f"`{name}` is only for vocabularies that are learned from the corpus. Received: "
                f"{name}={options[name]!r} with vocabulary={str(vocabulary[0])!r}. Omit one."
            )


def _vocabularies(paths, inputs):
    if not paths:
        return None
    if len(paths) > 2:
        raise ValueError(
            "`vocabulary` must be one file, or one file for each side. "
            f"Received: {len(paths)} files, vocabulary={str(paths[-1])!r}. Give at most two."
        )
    sides = [_sides(path, inputs) for path in paths]
    return sides[0][0], sides[-1][1]


def _sides(path, inputs):
    """Read (source, target) from a training run, a `.keras` file, shards or a SentencePiece file.

    A SentencePiece file is used for both sides.
    """
    from keras_bahdanau.data.shards.shards import CARD, Shards
    from keras_bahdanau.sources.named_source import read_sides
    from keras_bahdanau.text.subwords import Subwords

    if path.is_file() and path.suffix != ".keras":
        try:
            both = Subwords(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"vocabulary={str(path)!r}: {error}") from None
        return both, both
    if (path / CARD).is_file():
        load_tensorflow()
        shards = Shards(path)
        source, target = shards.source, shards.target
    else:
        card = open_model(path).card
        load_tensorflow()
        source, target = read_sides(card)
    subwords = getattr(source, "subwords", None)
    if inputs == "lines" and not isinstance(subwords, Subwords):
        raise ValueError(
            "`vocabulary` must contain text vocabularies for both sides. "
            f"Received: vocabulary={str(path)!r}, whose source is a {type(source).__name__}. "
            "Give the vocabularies of a text model."
        )
    return source, target
