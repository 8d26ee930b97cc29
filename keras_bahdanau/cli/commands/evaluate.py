"""The command `keras-bahdanau evaluate`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import show_progress, warn
from keras_bahdanau.cli.model_file import load_models, open_models, search_of
from keras_bahdanau.cli.options import (
    AnswerSeparatorOption,
    BatchOption,
    CacheOption,
    ColumnsOption,
    LowercaseOption,
    ModelsOption,
    PrecisionOption,
    TagOption,
    TargetArgument,
    TokenizeOption,
    check_tokenization,
    command,
)
from keras_bahdanau.cli.output import check_different, check_picture, check_writable
from keras_bahdanau.evaluation.corpus_metrics import METRICS
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value


@dataclasses.dataclass(kw_only=True)
class EvaluateArguments:
    """Arguments for `evaluate`."""

    source: Annotated[
        Path,
        typer.Argument(
            help="Source sentences, one per line; a TSV with both languages; or, for a model that "
            "reads files, a manifest (a TSV of paths and texts)."
        ),
    ]
    target: TargetArgument = None
    model: ModelsOption
    json: Annotated[Path | None, typer.Option(help="JSON file for all results.")] = None
    hypotheses: Annotated[
        Path | None, typer.Option(help="File for the model's outputs, such as translations.")
    ] = None
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="File of reference links between the words of each pair, such as 0-0 1?2, one "
            "line per pair. A link with ? is possible but not sure. Adds the alignment error rate."
        ),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(help="Image file for a plot of scores by length: .png, .pdf, .svg, ..."),
    ] = None
    compare: Annotated[
        Path | None,
        typer.Option(
            help="System to compare with: another model, or a file of its outputs. A paired "
            "bootstrap test shows which system is better; metrics that count outputs as right or "
            "wrong use a sign test instead. --precision does not apply to the other model."
        ),
    ] = None
    metrics: Annotated[
        str | None,
        typer.Option(
            help=f"Metrics, separated by commas: {', '.join(METRICS)}. The first is used for the "
            "scores by length. per is the error rate of phonemes that are separated by spaces. ser "
            "is the percentage of outputs that are not exact, which papers on pronunciation call "
            "WER. top5 is the percentage of sources with a correct output among the best 5.  "
            "[default: bleu,chrf for translations; exact,wer for images; wer,cer for speech. A "
            "metric that --best-by set in training comes first]",
            show_default=False,
        ),
    ] = None
    columns: ColumnsOption = None
    answer_separator: AnswerSeparatorOption = None
    tokenize: TokenizeOption = None
    lowercase: LowercaseOption = False
    tag: TagOption = None
    batch_size: BatchOption = 64
    precision: PrecisionOption = None
    cache: CacheOption = None


@command(EvaluateArguments, (SearchOptions, None))
def evaluate(arguments, search_options):
    """Translate sentences, or read files, and compare the outputs with references.

    Prints metrics, perplexity, statistics of the attention, and speed. Perplexity and token
    accuracy are not available for a .tflite or .onnx file.
    """
    models = open_models(arguments.model)
    nbest = _nbest_of(arguments.metrics, arguments.compare)
    alignments = arguments.alignments
    links_file = alignments and str(alignments)
    search = search_of(models, search_options, arguments.precision, alignments=links_file)
    if search is not None:
        search.check_nbest(nbest)
    check_value("batch_size", arguments.batch_size, BATCH_SIZE)
    _check_outputs(arguments)
    check_tokenization(arguments.tokenize)
    from keras_bahdanau.cli.inputs import prepare_source, read_held_out

    pairs, symbols = read_held_out(models[0], arguments)
    links = alignments and _read_links(alignments, pairs, arguments.tag, symbols)
    compared = _compared_system(models[0], pairs, arguments, search_options)
    translator = load_models(models, arguments.precision)
    if compared is not None:
        compared.load(translator.plural)
    _warn_of_features(pairs, translator.source)
    if search is None:  # an export has a fixed search
        translator.check_nbest(nbest)
    prepare_source(translator, arguments)
    from keras_bahdanau import evaluation

    metrics = arguments.metrics
    settings = {
        "tokenize": arguments.tokenize,
        "lowercase": arguments.lowercase,
        "metrics": translator.metrics if metrics is None else metrics.split(","),
    }
    show_progress(f"{translator.verb} {counted(len(pairs), translator.plural)}")
    measured = evaluation.evaluate(
        translator,
        pairs,
        arguments.batch_size,
        search,
        links,
        tag=arguments.tag,
        say=show_progress,
        **settings,
    )
    show_progress("")
    _warn_of_inputs(measured, pairs, translator, search, arguments)
    for line in measured.remarks:
        warn(line)
    # printed first, in case writing the files fails
    print(dataclasses.replace(measured, remarks=[]), flush=True)
    _write(measured, arguments)
    if compared is not None:
        _compare(compared, measured, arguments, pairs, target=translator.target, **settings)


def _compare(compared, measured, arguments, pairs, **settings):
    """Compare with the other system, and add the comparison to the output."""
    texts = [result.text for result in measured.translations]
    comparisons = compared.compare(pairs, texts, arguments.batch_size, **settings)
    show_progress("")
    _write(measured, arguments, comparisons)
    print("", f"against {arguments.compare}", *comparisons, sep="\n")


def _check_outputs(arguments):
    for name in ("json", "hypotheses", "plot"):
        check_writable(getattr(arguments, name), name)
    check_different(
        json=arguments.json,
        hypotheses=arguments.hypotheses,
        plot=arguments.plot,
        cache=arguments.cache,
    )
    check_picture(arguments.plot, "plot")


def _compared_system(model, pairs, arguments, search_options):
    if arguments.compare is None:
        return None
    from keras_bahdanau.cli.compared_system import ComparedSystem

    return ComparedSystem(arguments.compare, model.inputs, pairs, search_options, arguments.tag)


def _write(measured, arguments, comparisons=None):
    from keras_bahdanau.files.whole_file import write_json, write_text

    if comparisons is not None:
        if arguments.json is not None:
            figures = {**measured.scores(), "compared": [vars(row) for row in comparisons]}
            write_json(arguments.json, figures)
        return
    if arguments.hypotheses is not None:
        lines = (f"{result.text}\n" for result in measured.translations)
        write_text(arguments.hypotheses, "".join(lines), new=True)
    if arguments.json is not None:
        write_json(arguments.json, measured.scores(), new=True)
    if arguments.plot is not None:
        _plot(measured, arguments.plot)


def _warn_of_features(pairs, source):
    from keras_bahdanau.cli.warnings import FeatureWarnings

    sources, features = [source for source, _ in pairs], FeatureWarnings(source)
    features.warn(sources)
    features.warn_missing(sources)


def _warn_of_inputs(measured, pairs, translator, search, arguments):
    """Warn of truncated or unreadable inputs, and of text that a vocabulary can't represent."""
    from keras_bahdanau.cli.inputs import names_of
    from keras_bahdanau.cli.warnings import warn_of_cuts
    from keras_bahdanau.data.readers.manifest import report_unreadable
    from keras_bahdanau.text.folding import report_pairs

    sources, results = [source for source, _ in pairs], measured.translations
    limits = translator.source.limits(translator.longest(search))
    names = names_of(sources, by_line=arguments.answer_separator is None)
    warn_of_cuts(results, limits, names, translator.source.unit)
    lengths = [len(result.source_tokens) for result in results]
    unreadable = report_unreadable(sources, lengths, translator.source)
    target = translator.target
    if not translator.reads_target:  # its vocabulary does not normalize spaces
        pairs = [(source, target.spaced(text)) for source, text in pairs]
    reports = report_pairs(pairs, translator.source, target, lowercase=arguments.lowercase)
    for line in [*unreadable, *reports]:
        warn(line)


def _plot(measured, path):
    from keras_bahdanau.plotting import plot_lengths
    from keras_bahdanau.plotting.figures import save_picture

    first_metric, *_ = measured.by_metric.values()
    names = {"counted_in": measured.counted_in, "inputs": measured.inputs}
    save_picture(plot_lengths(measured.by_length, metric=first_metric.label, **names), path)


def _nbest_of(metrics, compare):
    nbest = 1
    if metrics is not None:
        from keras_bahdanau.evaluation.corpus_metrics import metrics_of  # loads sacreBLEU

        nbest = max(metric.nbest for metric in metrics_of(metrics.split(",")))
    if compare is not None and nbest > 1:
        raise ValueError(
            "--compare uses only the best output for each source. "
            f"Received: metrics={metrics!r}, which need several outputs. "
            "Omit --compare, or these metrics."
        )
    return nbest


def _read_links(path, pairs, tag=None, symbols=()):
    """Read (sure links, possible links) from a file, between the words that the model reads."""
    from keras_bahdanau.cli.inputs import check_lines
    from keras_bahdanau.data.readers.parallel_files import read_alignments  # loads NumPy
    from keras_bahdanau.text.features import shift_links

    sure, possible = read_alignments(path)
    check_lines(len(sure), "alignments", path, pairs)
    # a tag is the first word of a source, before any features
    symbols = symbols if tag is None else [tag, *symbols]
    return [shift_links(links, pairs, symbols) for links in (sure, possible)]
