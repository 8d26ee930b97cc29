"""The command `keras-bahdanau calibrate`."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import load_tensorflow, show_progress
from keras_bahdanau.cli.model_file import load_models, open_model
from keras_bahdanau.cli.options import (
    AnswerSeparatorOption,
    BatchOption,
    CacheOption,
    ColumnsOption,
    DryRunOption,
    HeldOutSource,
    ModelOption,
    TagOption,
    TargetArgument,
    command,
)
from keras_bahdanau.cli.output import check_different, check_picture, check_writable
from keras_bahdanau.settings.limits import BATCH_SIZE, PERCENT
from keras_bahdanau.settings.option import check_value, one_of

METRIC = one_of("chrf", "exact")


@dataclasses.dataclass(kw_only=True)
class CalibrateArguments:
    """Arguments for `calibrate`."""

    source: HeldOutSource
    target: TargetArgument = None
    model: ModelOption
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric that decides whether an output is correct: chrf (a score of at least "
            "--threshold) or exact.  [default: chrf for translations, otherwise exact]",
            show_default=False,
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Lowest score of a correct output, in percent.  [default: 40 for chrf]",
            show_default=False,
        ),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(help="Image file for a reliability plot of the confidences: .png, ..."),
    ] = None
    columns: ColumnsOption = None
    answer_separator: AnswerSeparatorOption = None
    tag: TagOption = None
    dry_run: DryRunOption = False
    batch_size: BatchOption = 64
    cache: CacheOption = None


@command(CalibrateArguments, on_interrupt="The model is unchanged.")
def calibrate(arguments):
    """Calibrate confidences as probabilities, and store the calibration in the model file.

    Use validation pairs, never test pairs. The command decodes them with the model's saved search
    options, so run tune first. The table compares calibrated confidences, measured on pairs that
    were not used for the fit (5-fold cross-validation), with raw ones. A raw confidence is the exp
    of the mean log-probability per token.
    """
    check_value("batch_size", arguments.batch_size, BATCH_SIZE)
    if arguments.metric is not None:
        check_value("metric", arguments.metric, METRIC)
    if arguments.threshold is not None:
        check_value("threshold", arguments.threshold, PERCENT)
    check_writable(arguments.plot, "plot")
    check_different(plot=arguments.plot, cache=arguments.cache)
    check_picture(arguments.plot, "plot")
    model = open_model(arguments.model)
    from keras_bahdanau.cli.inputs import read_held_out
    from keras_bahdanau.files.ownership import owned

    pairs, _ = read_held_out(model, arguments)
    with contextlib.nullcontext() if arguments.dry_run else owned(model.path):
        _calibrate(model, pairs, arguments)


def _calibrate(model, pairs, arguments):
    load_tensorflow()
    from keras_bahdanau.cli.inputs import prepare_source
    from keras_bahdanau.evaluation import calibrate
    from keras_bahdanau.pipelines.archive import write_calibration

    pipeline = load_models([model])
    prepare_source(pipeline, arguments)
    settings = arguments.batch_size, arguments.metric, arguments.threshold
    fit = calibrate(pipeline, pairs, *settings, say=show_progress)
    show_progress("")
    _print_table(fit)
    if arguments.dry_run:
        print("the model is unchanged")
    else:
        write_calibration(model.path, fit.calibration)
        print(f"written into {model.path}")
    if arguments.plot is not None:
        _plot(fit, arguments.plot)


def _print_table(fit):
    """Print how often outputs and words are correct, and how well confidences predict that."""
    rule = f"{fit.calibration.metric} >= {fit.calibration.threshold:g}"
    for name, part in (("texts", fit.texts), ("words", fit.words)):
        condition = f" ({rule})" if name == "texts" else ""
        print(f"{len(part.labels):,} {name}, {part.labels.mean():.1%} of them right{condition}")
    print(f"{'':<17}  {'AUC':>6}  {'ECE':>6}  {'Brier':>6}")
    for name, part in (("texts", fit.texts), ("words", fit.words)):
        for kind in ("raw", "calibrated"):
            figures = part.figures(getattr(part, kind))
            cells = ("-" if figure is None else f"{figure:.3f}" for figure in figures)
            print(f"{f'{name} {kind}':<17}  {'  '.join(f'{cell:>6}' for cell in cells)}")


def _plot(fit, path):
    from keras_bahdanau.evaluation import reliability
    from keras_bahdanau.plotting import plot_reliability
    from keras_bahdanau.plotting.figures import save_picture

    curves = {
        f"{name}, {kind}": reliability(part.labels, getattr(part, kind))
        for name, part in (("texts", fit.texts), ("words", fit.words))
        for kind in ("raw", "calibrated")
    }
    save_picture(plot_reliability(curves), path)
