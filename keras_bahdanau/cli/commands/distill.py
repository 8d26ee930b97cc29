"""`keras-bahdanau distill`."""

import dataclasses
import functools
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import keras_verbosity
from keras_bahdanau.cli.imports import ImportOption, ModuleLoader
from keras_bahdanau.cli.model_file import open_model
from keras_bahdanau.cli.options import (
    AnswerSeparatorOption,
    CacheOption,
    ColumnsOption,
    TargetArgument,
    ValidSourceOption,
    ValidTargetOption,
    command,
)
from keras_bahdanau.distillation import Distillation
from keras_bahdanau.settings.limits import WORKERS
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.sources.named_source import NAMES
from keras_bahdanau.training.options import DEFAULTS, TrainingOptions


@dataclasses.dataclass(kw_only=True)
class DistillArguments:
    """Arguments of `distill`."""

    source: Annotated[
        Path,
        typer.Argument(
            help="Source sentences, one per line; or a TSV with both languages; or, for images and "
            "speech, a manifest: a TSV of path and text."
        ),
    ]
    target: TargetArgument = None
    teacher: Annotated[
        list[Path] | None,
        typer.Option(
            help="Model that writes the targets: directory of a training, or a .keras file; "
            "several form an ensemble.",
            show_default=False,
        ),
    ] = None
    hypotheses: Annotated[
        Path | None,
        typer.Option(
            help="File to use instead of a teacher: its texts, --n-best lines per source, or lines "
            "'number ||| text ||| score', numbered from 0.",
            show_default=False,
        ),
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--source",
            help=f"Source of the student: {', '.join(NAMES)}. Settings may follow, as in "
            "train.  [default: that of the teacher]",
            show_default=False,
        ),
    ] = None
    out: Annotated[Path, typer.Option(help="Directory of the student, new or unfinished.")]
    valid_source: ValidSourceOption = None
    valid_target: ValidTargetOption = None
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Model for the table: a student that was trained without a teacher.",
            show_default=False,
        ),
    ] = None
    symbol: Annotated[
        list[str] | None,
        typer.Option(
            help="Text that is one token of the source in the student's vocabulary; may be given "
            "several times.",
            show_default=False,
            rich_help_panel="Data",
        ),
    ] = None
    columns: ColumnsOption = None
    answer_separator: AnswerSeparatorOption = None
    cache: CacheOption = None
    workers: Annotated[
        int,
        typer.Option(
            help="Processes in which the teacher translates.",
            rich_help_panel="Run",
        ),
    ] = 1
    modules: ImportOption = None


@command(
    DistillArguments,
    (Distillation, Distillation()),
    (TrainingOptions, DEFAULTS),
    on_interrupt="The same command continues.",
    imports=False,
)
def distill(arguments, distillation, options):
    """Distill a teacher into a student: a small model that learns from the outputs of a large one.

    The teacher translates the sources; filters choose among its hypotheses; the student is
    trained on them, with the options of train. OUT/distilled contains sources, texts and
    scores in plain files, OUT/translator.keras is the student. A table compares both. The same
    command resumes a stopped or killed run. --guided-alignment uses the teacher's attention.
    """
    load = ModuleLoader(tuple(arguments.modules or ()))
    if arguments.modules:
        load()
    from keras_bahdanau.cli import training_files as files
    from keras_bahdanau.cli.inputs import check_cache
    from keras_bahdanau.files.ownership import check_unowned
    from keras_bahdanau.sources.named_source import source_by_name
    from keras_bahdanau.training.run import Run

    settings, kind = Distillation(**distillation), arguments.kind
    check_value("workers", arguments.workers, WORKERS)
    teachers = [open_model(path) for path in arguments.teacher or []]
    inputs, preset = _inputs(kind, teachers)
    options = TrainingOptions(**{"preset": preset, **options})
    check_cache(arguments.cache, inputs)
    _check_validation(arguments)
    run, say = Run(arguments.out), functools.partial(print, flush=True)
    run.check_free()
    check_unowned(run.translator, say)
    data, valid = files.read_data(
        inputs,
        files.Files.training(arguments),
        files.Files.validation(arguments),
        columns=arguments.columns,
        answer_separator=arguments.answer_separator,
        say=say,
    )
    if arguments.valid_source is None:
        files.report_held_out(valid.pairs, say)
    if inputs != "lines":
        load()
    from keras_bahdanau.distillation import student  # loads Keras

    path = student.distill(
        data.pairs,
        valid.pairs,
        arguments.out,
        [teacher.path for teacher in teachers],
        options,
        settings,
        arguments.hypotheses,
        arguments.baseline,
        arguments.workers,
        verbose=keras_verbosity(),
        say=say,
        source=kind and source_by_name(kind),
        symbols=[*dict.fromkeys([*data.symbols, *(arguments.symbol or [])])],
        cache=arguments.cache,
        load=load,
    )
    say(f"The student: {path}")


def _check_validation(arguments):
    if arguments.hypotheses is not None and arguments.valid_source is None:
        raise ValueError(
            "A file of hypotheses covers all sources, so none can be held out for validation. "
            f"Received: hypotheses={str(arguments.hypotheses)!r} without validation pairs. "
            "Give --valid-source."
        )


def _inputs(kind, teachers):
    """(form of the inputs, name of the preset, None for the one of the teacher's source)."""
    from keras_bahdanau.sources.named_source import inputs_by_name, preset_by_name

    if not teachers:
        kind = kind or "text"
        return inputs_by_name(kind), preset_by_name(kind)
    inputs = teachers[0].inputs
    if kind is not None and inputs_by_name(kind) != inputs:
        raise ValueError(
            "Teacher and student must have the same kind of source. Received: "
            f"source={kind!r} with teacher={str(teachers[0].path)!r}, which reads {inputs}. "
            "Leave --source out."
        )
    return inputs, None if kind is None else preset_by_name(kind)
