"""`keras-bahdanau distill`."""

import dataclasses
import functools
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    AnswerSeparatorOption,
    CacheOption,
    ColumnsOption,
    asked,
    options_of,
)
from keras_bahdanau.cli.console import ends_well, keras_verbosity
from keras_bahdanau.cli.inputs import check_cache, inputs_of
from keras_bahdanau.cli.own_modules import ImportOption, LoadWith
from keras_bahdanau.cli.training_files import (
    HELD_OUT,
    MOST_HELD_OUT,
    Files,
    read_data,
    tell_held_out,
)
from keras_bahdanau.distillation import Distillation
from keras_bahdanau.files.ownership import check_unowned
from keras_bahdanau.pipelines.file import find_translator
from keras_bahdanau.settings.limits import WORKERS
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.sources.named_source import inputs_by_name, preset_by_name, source_by_name
from keras_bahdanau.training import Run, TrainingOptions
from keras_bahdanau.training.options import DEFAULTS


@ends_well("The same command goes on.")
@options_of(Distillation, Distillation())
@options_of(TrainingOptions, DEFAULTS)
def distill(
    source: Annotated[
        Path,
        typer.Argument(
            help="Source sentences, one a line; or a TSV with both languages; or, of images and "
            "speech, a manifest: a TSV of path and text."
        ),
    ],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    teacher: Annotated[
        list[Path] | None,
        typer.Option(
            help="Model that writes the targets: directory of a training, or a .keras file; given "
            "several times, the ensemble.",
            show_default=False,
        ),
    ] = None,
    hypotheses: Annotated[
        Path | None,
        typer.Option(
            help="File in place of a teacher: its texts, --n-best lines a source, or lines "
            "'number ||| text ||| score', numbers from 0.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--source",
            help="Source of the student: text, image or speech. Settings may follow, as in "
            "train.  [default: that of the teacher]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory of the student: new, or left unfinished.")],
    valid_source: Annotated[
        Path | None,
        typer.Option(
            help="Source sentences, or a TSV, for the choice of the best epoch, and for the "
            f"table. [default: every {HELD_OUT}th pair, at most {MOST_HELD_OUT:,}, held out]"
        ),
    ] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Model for the table: a student that was trained without a teacher.",
            show_default=False,
        ),
    ] = None,
    symbol: Annotated[
        list[str] | None,
        typer.Option(
            help="Text that is one token of the source in the student's vocabulary; may be given "
            "several times.",
            show_default=False,
        ),
    ] = None,
    columns: ColumnsOption = None,
    answer_separator: AnswerSeparatorOption = None,
    cache: CacheOption = None,
    workers: Annotated[int, typer.Option(help="Processes in which the teacher translates.")] = 1,
    modules: ImportOption = None,
    **options,
):
    """Distill a teacher into a student: a small model that learns what a large one writes.

    The teacher translates the sources; filters choose among its hypotheses; the student is
    trained on them, with the options of train. OUT/distilled has sources, texts and scores in
    plain files, OUT/translator.keras is the student. A table compares both. The same command
    resumes what was stopped or killed. --guided-alignment takes the teacher's attention.
    """
    load = LoadWith(tuple(modules or ()))
    if modules:
        load()
    options = asked(options)
    of_settings = {field.name for field in dataclasses.fields(Distillation)} & {*options}
    settings = Distillation(**{name: options.pop(name) for name in of_settings})
    check_value("workers", workers, WORKERS)
    paths = [find_translator(path) for path in teacher or []]
    inputs, preset = _inputs(kind, paths)
    options = TrainingOptions(**{"preset": preset, **options})
    check_cache(cache, inputs)
    if hypotheses is not None and valid_source is None:
        raise ValueError(
            "A file of hypotheses covers all sources, so none can be held out for validation. "
            f"Received: hypotheses={str(hypotheses)!r} without validation pairs. "
            "Give --valid-source."
        )
    run, say = Run(out), functools.partial(print, flush=True)
    run.check_free()
    check_unowned(run.translator, say)
    table = {"columns": columns, "answer_separator": answer_separator, "say": say}
    files = Files(source, target, None, None), Files(valid_source, valid_target, None, None)
    data, valid = read_data(inputs, *files, **table)
    if valid_source is None:
        tell_held_out(valid.pairs, say)

    if inputs != "lines":
        load()
    from keras_bahdanau.distillation import student  # which loads Keras

    path = student.distill(
        data.pairs,
        valid.pairs,
        out,
        paths,
        options,
        settings,
        hypotheses,
        baseline,
        workers,
        verbose=keras_verbosity(),
        say=say,
        source=kind and source_by_name(kind),
        symbols=[*dict.fromkeys([*data.symbols, *(symbol or [])])],
        cache=cache,
        load=load,
    )
    say(f"The student: {path}")


def _inputs(kind, paths):
    """(form of the inputs, name of the preset; None for that of the teacher's source)."""
    if not paths:
        kind = kind or "text"
        return inputs_by_name(kind), preset_by_name(kind)
    inputs = inputs_of(paths[0])
    if kind is not None and inputs_by_name(kind) != inputs:
        raise ValueError(
            "Teacher and student must have the same kind of source. Received: "
            f"source={kind!r} with teacher={str(paths[0])!r}, which reads {inputs}. "
            "Leave --source out."
        )
    if kind is None:
        return inputs, None
    return inputs, preset_by_name(kind)
