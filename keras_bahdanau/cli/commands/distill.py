"""The command `keras-bahdanau distill`."""

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
    """Arguments for `distill`."""

    source: Annotated[
        Path,
        typer.Argument(
            help="Source sentences, one per line; a TSV with both languages; or, for images and "
            "speech, a manifest (a TSV of paths and texts)."
        ),
    ]
    target: TargetArgument = None
    teacher: Annotated[
        list[Path] | None,
        typer.Option(
            help="Model that generates the targets: the output directory of a training run, or a "
            ".keras file. Give the option several times to use an ensemble.",
            show_default=False,
        ),
    ] = None
    hypotheses: Annotated[
        Path | None,
        typer.Option(
            help="File of hypotheses to use instead of a teacher: either --n-best lines for each "
            "source, or lines of the form 'number ||| text ||| score', where number is that of the "
            "source, counted from 0.",
            show_default=False,
        ),
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--source",
            help=f"Source type of the student: {', '.join(NAMES)}. Settings may follow it, as in "
            "train.  [default: the teacher's]",
            show_default=False,
        ),
    ] = None
    out: Annotated[
        Path,
        typer.Option(help="Output directory: a new one, or that of an unfinished distillation."),
    ]
    valid_source: ValidSourceOption = None
    valid_target: ValidTargetOption = None
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Student that was trained without a teacher, to add to the comparison table.",
            show_default=False,
        ),
    ] = None
    symbol: Annotated[
        list[str] | None,
        typer.Option(
            help="Text that the student's source vocabulary keeps as a single token. May be given "
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
            help="Number of processes in which the teacher translates.",
            rich_help_panel="Run",
        ),
    ] = 1
    modules: ImportOption = None


@command(
    DistillArguments,
    (Distillation, Distillation()),
    (TrainingOptions, DEFAULTS),
    on_interrupt="Run the same command to continue.",
    imports=False,
)
def distill(arguments, distillation, options):
    """Distill a large model, the teacher, into a small one, the student.

    The teacher translates the sources, filters select some of its hypotheses, and the student is
    trained on them. The options are those of train. OUT/distilled contains the sources, hypotheses
    and scores as plain text, and OUT/translator.keras is the student. A table compares the student
    with the teacher. To resume a run that was stopped or killed, run the same command again.
    --guided-alignment trains the student's attention with the teacher's.
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
            "Add --valid-source."
        )


def _inputs(kind, teachers):
    """Return (form of the inputs, preset); the preset is None to use that of the teacher."""
    from keras_bahdanau.sources.named_source import inputs_by_name, preset_by_name

    if not teachers:
        kind = kind or "text"
        return inputs_by_name(kind), preset_by_name(kind)
    inputs = teachers[0].inputs
    if kind is not None and inputs_by_name(kind) != inputs:
        raise ValueError(
            "Teacher and student must have the same type of source. Received: "
            f"source={kind!r} with teacher={str(teachers[0].path)!r}, which reads {inputs}. "
            "Omit --source."
        )
    return inputs, None if kind is None else preset_by_name(kind)
