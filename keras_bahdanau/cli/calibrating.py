"""`keras-bahdanau calibrate`."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    AnswerSeparatorOption,
    BatchOption,
    CacheOption,
    ColumnsOption,
    HeldOutSource,
    HeldOutTarget,
    ModelOption,
    TagOption,
    check_different,
    check_picture,
    check_writable,
)
from keras_bahdanau.cli.console import ends_well, load_tensorflow, show_progress, warn
from keras_bahdanau.cli.inputs import check_cache, inputs_of, read_examples
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.files.ownership import owned
from keras_bahdanau.pipelines.file import find_translator, write_calibration
from keras_bahdanau.settings.limits import BATCH_SIZE, PERCENT
from keras_bahdanau.settings.option import check_value, one_of
from keras_bahdanau.text.features import require_token

METRIC = one_of("chrf", "exact")


@ends_well("The model is as it was.")
@with_imports
def calibrate(
    source: HeldOutSource,
    target: HeldOutTarget = None,
    *,
    model: ModelOption,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric that says if a text is right: chrf, from the threshold on, or exact.  "
            "[default: chrf of translations, else exact]",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Least score, in percent, of a right text.  [default: 40 of chrf]",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Picture to write of how reliable the confidences are: .png, ..."),
    ] = None,
    columns: ColumnsOption = None,
    answer_separator: AnswerSeparatorOption = None,
    tag: TagOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Leave the model as it is.")] = False,
    batch_size: BatchOption = 64,
    cache: CacheOption = None,
):
    """Make confidences probabilities, and write that into the model's file.

    Give validation pairs, never those of the test. They are decoded by the model's own search, so
    tune first. The table is of pairs that a fit has not seen (cross-validation in 5 parts), beside
    the raw confidence, exp of the mean log-probability of a token.
    """
    check_value("batch_size", batch_size, BATCH_SIZE)
    if metric is not None:
        check_value("metric", metric, METRIC)
    if threshold is not None:
        check_value("threshold", threshold, PERCENT)
    check_writable(plot, "plot")
    check_different(plot=plot, cache=cache)
    check_picture(plot, "plot")
    path = find_translator(model)
    inputs = inputs_of(path)
    check_cache(cache, inputs)
    pairs = read_examples(inputs, source, target, columns, answer_separator, tag=tag).pairs
    with contextlib.nullcontext() if dry_run else owned(path):
        _calibrate(path, pairs, metric, threshold, plot, tag, dry_run, batch_size, cache)


def _calibrate(path, pairs, metric, threshold, plot, tag, dry_run, batch_size, cache):
    """Fit, tell how good it is, and write it."""
    load_tensorflow()
    from keras_bahdanau.evaluation import calibrate
    from keras_bahdanau.pipelines.by_source import load_pipeline

    pipeline = load_pipeline(path)
    if tag is not None:
        require_token(tag, pipeline.source)
    if cache is not None:
        pipeline.source = pipeline.source.cached(cache, say=warn)
    found = calibrate(pipeline, pairs, batch_size, metric, threshold, say=show_progress)
    show_progress("")
    _tell(found)
    if dry_run:
        print("the model is as it was")
    else:
        write_calibration(path, found.calibration)
        print(f"written into {path}")
    if plot is not None:
        _plot(found, plot)


def _tell(found):
    """Print the table."""
    rule = f"{found.calibration.metric} >= {found.calibration.threshold:g}"
    for name, part in (("texts", found.texts), ("words", found.words)):
        told = f" ({rule})" if name == "texts" else ""
        print(f"{len(part.labels):,} {name}, {part.labels.mean():.1%} of them right{told}")
    print(f"{'':<17}  {'AUC':>6}  {'ECE':>6}  {'Brier':>6}")
    for name, part in (("texts", found.texts), ("words", found.words)):
        for kind in ("raw", "calibrated"):
            figures = part.figures(getattr(part, kind))
            cells = ("-" if one is None else f"{one:.3f}" for one in figures)
            print(f"{f'{name} {kind}':<17}  {'  '.join(f'{cell:>6}' for cell in cells)}")


def _plot(found, path):
    from keras_bahdanau.evaluation import reliability
    from keras_bahdanau.plotting import plot_reliability
    from keras_bahdanau.plotting.figures import save_picture

    curves = {
        f"{name}, {kind}": reliability(part.labels, getattr(part, kind))
        for name, part in (("texts", found.texts), ("words", found.words))
        for kind in ("raw", "calibrated")
    }
    save_picture(plot_reliability(curves), path)
