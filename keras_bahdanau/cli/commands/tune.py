"""The command `keras-bahdanau tune`."""

import contextlib
import dataclasses
from typing import Annotated

import typer

from keras_bahdanau.cli.console import load_tensorflow, say, show_progress, warn
from keras_bahdanau.cli.model_file import load_models, open_model
from keras_bahdanau.cli.options import (
    AnswerSeparatorOption,
    BatchOption,
    CacheOption,
    ColumnsOption,
    DryRunOption,
    HeldOutSource,
    LowercaseOption,
    ModelOption,
    TagOption,
    TargetArgument,
    TokenizeOption,
    check_tokenization,
    command,
)
from keras_bahdanau.search.search_options import LENGTH_PENALTIES, SearchOptions
from keras_bahdanau.settings.limits import BATCH_SIZE, PERCENT
from keras_bahdanau.settings.option import check_value


@dataclasses.dataclass(kw_only=True)
class TuneArguments:
    """Arguments for `tune`."""

    source: HeldOutSource
    target: TargetArgument = None
    model: ModelOption
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric to optimize, one of evaluate --metrics.  "
            "[default: --best-by of the training run, if it was set; otherwise bleu for "
            "translations, exact for images, wer for speech]",
            show_default=False,
        ),
    ] = None
    beam_widths: Annotated[
        str,
        typer.Option(
            help="Beam widths to try, separated by commas. 1 is greedy search.",
            rich_help_panel="Candidates",
        ),
    ] = "5,10"
    length_normalizations: Annotated[
        str | None,
        typer.Option(
            help="Exponents of the length penalty to try.  "
            "[default: 0.5,1,1.5,2 for a model with a CTC layer, otherwise 0.6,0.8,1,1.2,1.4]",
            show_default=False,
            rich_help_panel="Candidates",
        ),
    ] = None
    length_penalties: Annotated[
        str,
        typer.Option(
            help="Types of length penalty to try.",
            rich_help_panel="Candidates",
        ),
    ] = ",".join(LENGTH_PENALTIES)
    ctc_weights: Annotated[
        str | None,
        typer.Option(
            help="Weights of the CTC score to try.  "
            "[default: 0.3,0.4,0.5 for a model with a CTC layer, otherwise 0]",
            show_default=False,
            rich_help_panel="Candidates",
        ),
    ] = None
    tolerance: Annotated[
        float,
        typer.Option(
            help="Points by which the score may be worse than the best, in favor of a narrower "
            "beam, no CTC and shorter outputs.",
            rich_help_panel="Candidates",
        ),
    ] = 0.1
    columns: ColumnsOption = None
    answer_separator: AnswerSeparatorOption = None
    tokenize: TokenizeOption = None
    lowercase: LowercaseOption = False
    tag: TagOption = None
    dry_run: DryRunOption = False
    batch_size: BatchOption = 64
    cache: CacheOption = None


@command(TuneArguments, on_interrupt="The model is unchanged.")
def tune(arguments):
    """Choose search options by a metric, such as BLEU, and save them in the model file.

    Use validation pairs, never test pairs. Among the options whose score is within --tolerance of
    the best, the command prefers the narrowest beam, then search without CTC, then the shortest
    outputs. In the table, "length" is the total output length divided by the total reference
    length.
    """
    check_value("batch_size", arguments.batch_size, BATCH_SIZE)
    check_value("tolerance", arguments.tolerance, PERCENT)
    model = open_model(arguments.model)
    values = {
        "beam_widths": _numbers("beam_widths", arguments.beam_widths, int),
        "length_penalties": arguments.length_penalties.split(","),
    }
    for name in ("length_normalizations", "ctc_weights"):
        if (text := getattr(arguments, name)) is not None:
            values[name] = _numbers(name, text, float)
    _check_values(**values)
    check_tokenization(arguments.tokenize)
    _check_metric(arguments.metric)
    from keras_bahdanau.cli.inputs import read_held_out
    from keras_bahdanau.files.ownership import owned

    pairs, _ = read_held_out(model, arguments)
    with contextlib.nullcontext() if arguments.dry_run else owned(model.path):
        _tune(model, pairs, values, arguments)


def _tune(model, pairs, values, arguments):
    load_tensorflow()
    from keras_bahdanau import evaluation
    from keras_bahdanau.cli.inputs import prepare_source

    pipeline, current = load_models([model]), model.search
    prepare_source(pipeline, arguments)
    values = {**evaluation.tuned_options(pipeline.model), **values}
    searches = evaluation.candidates(current, **values)
    (metric,) = evaluation.metrics_of([arguments.metric or pipeline.metrics[0]])
    table = _Table(metric, any(search.ctc_weight for search in searches))
    print(table.heading(), flush=True)

    def show(line):
        show_progress(f"search {table.rows + 1} of {len(searches)}: {line}")

    trials = evaluation.tune(
        pipeline,
        pairs,
        searches,
        arguments.batch_size,
        tokenize=arguments.tokenize,
        lowercase=arguments.lowercase,
        metric=arguments.metric,
        tell=lambda trial: say(table.row(trial) + " (now)" * (trial.search == current)),
        say=show,
    )
    chosen = evaluation.simplest(trials, arguments.tolerance)
    _conclude(model.path, current, trials, chosen, metric, arguments.dry_run)
    if pipeline.calibration is not None and chosen.search != current and not arguments.dry_run:
        warn("confidences were calibrated with other search options: `calibrate` the model again")


def _conclude(path, current, trials, chosen, metric, dry_run):
    """Write the chosen options into the file, and print them."""
    now = next(trial for trial in trials if trial.search == current)
    if len(trials) > 1 and len({trial.score for trial in trials}) == 1:
        warn(f"all searches have the same {metric.label}, {now.score:.2f}, which can't rank them")
    best = f"the {'highest' if metric.higher_is_better else 'lowest'} is {trials[0].score:.2f}"
    if chosen.search == current:
        print(f"the model keeps its own options: {metric.label} {now.score:.2f}, {best}")
        return
    options = (
        f"beam_width={chosen.search.beam_width}, length_penalty={chosen.search.length_penalty}, "
        f"length_normalization={chosen.search.length_normalization:g}"
    )
    if chosen.search.ctc_weight or current.ctc_weight:
        options += f", ctc_weight={chosen.search.ctc_weight:g}"
    print(f"chosen: {options}: {metric.label} {chosen.score:.2f}, now {now.score:.2f}, {best}")
    if dry_run:
        print("the model is unchanged")
    else:
        from keras_bahdanau.pipelines.archive import write_search

        write_search(path, dataclasses.asdict(chosen.search))
        print(f"written into {path}")


class _Table:
    """Lines of a table of trials, with a column for the CTC weight if some trials use CTC."""

    def __init__(self, metric, ctc):
        self.rows = 0
        self.columns = [
            ("beam", 4, lambda trial: trial.search.beam_width),
            ("penalty", 8, lambda trial: trial.search.length_penalty),
            ("exponent", 8, lambda trial: f"{trial.search.length_normalization:g}"),
            *([("CTC", 4, lambda trial: f"{trial.search.ctc_weight:g}")] if ctc else []),
            (metric.label, max(6, len(metric.label)), lambda trial: f"{trial.score:.2f}"),
            ("length", 6, lambda trial: f"{trial.length_ratio:.3f}"),
            ("seconds", 7, lambda trial: f"{trial.seconds:.1f}"),
        ]

    def heading(self):
        return "  ".join(f"{name:>{width}}" for name, width, _ in self.columns)

    def row(self, trial):
        self.rows += 1
        return "  ".join(f"{cell(trial):>{width}}" for _, width, cell in self.columns)


def _numbers(name, text, kind):
    try:
        return [kind(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(
            f"`{name}` must consist of numbers separated by commas. Received: {name}={text!r}"
        ) from None


def _check_metric(name):
    if name is not None:
        from keras_bahdanau.evaluation.corpus_metrics import metrics_of  # loads sacreBLEU

        metrics_of([name])


def _check_values(beam_widths, length_penalties, length_normalizations=(), ctc_weights=()):
    for width in beam_widths:
        SearchOptions(beam_width=width)
    for exponent in length_normalizations:
        SearchOptions(length_normalization=exponent)
    for penalty in length_penalties:
        SearchOptions(length_penalty=penalty)
    for share in ctc_weights:
        SearchOptions(ctc_weight=share)
