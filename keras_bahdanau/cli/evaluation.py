"""`keras-bahdanau evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    AnswerSeparatorOption,
    BatchOption,
    CacheOption,
    ColumnsOption,
    LowercaseOption,
    ModelsOption,
    PrecisionOption,
    TagOption,
    TokenizeOption,
    check_different,
    check_picture,
    check_tokenization,
    check_writable,
    find_models,
    fixed_precision,
    load_translator,
    search_of,
    with_search_options,
)
from keras_bahdanau.cli.console import ends_well, show_progress, tell_cut, warn
from keras_bahdanau.cli.inputs import (
    check_cache,
    check_lines,
    inputs_of,
    names_of,
    read_examples,
)
from keras_bahdanau.cli.other_system import OtherSystem
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.cli.unknown_text import FeaturesElsewhere
from keras_bahdanau.data.readers.manifest import report_unreadable
from keras_bahdanau.evaluation.corpus_metrics import METRICS
from keras_bahdanau.files.whole_file import write_json, write_text
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.text.features import require_token, shift_links
from keras_bahdanau.text.unknown_parts import report_unknown_pairs


@ends_well()
@with_search_options
@with_imports
def evaluate(
    source: Annotated[
        Path,
        typer.Argument(
            help="Source sentences, one a line; or a TSV with both languages; or, for a model that "
            "reads files, a manifest: a TSV of path and text."
        ),
    ],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    model: ModelsOption,
    json: Annotated[Path | None, typer.Option(help="JSON file that receives it all.")] = None,
    hypotheses: Annotated[
        Path | None, typer.Option(help="File that receives the translations, or other texts.")
    ] = None,
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="Known links between the words of each pair, such as 0-0 1?2 (1?2: possible, not "
            "sure), one line a pair: adds the alignment error rate."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Picture to write of scores by length: .png, .pdf, .svg, ..."),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(
            help="File of another system's translations, or another model, in its own precision: "
            "which one is better, by paired bootstrap, or the sign test where each text is right "
            "or wrong."
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help=f"Metrics with commas between: {', '.join(METRICS)}. The first is that of the "
            "scores by length. per: of phonemes with spaces between. ser: texts that are not "
            "exact, which is the WER of papers on words to phonemes. top5: sources with a right "
            "one among the best 5 texts.  [default: bleu,chrf of translations, exact,wer of "
            "images, wer,cer of speech; --best-by of the training first, if it had one]",
            show_default=False,
        ),
    ] = None,
    columns: ColumnsOption = None,
    answer_separator: AnswerSeparatorOption = None,
    tokenize: TokenizeOption = None,
    lowercase: LowercaseOption = False,
    tag: TagOption = None,
    batch_size: BatchOption = 64,
    precision: PrecisionOption = None,
    cache: CacheOption = None,
    **search,
):
    """Translate sentences, or read files, and compare: metrics, perplexity, attention, speed.

    A .tflite file gives no perplexity and no accuracy of tokens.
    """
    paths = find_models(model)
    nbest = _nbest_of(metrics, compare)
    fixed = {"alignments": alignments and str(alignments), **fixed_precision(precision)}
    asked, search = search, search_of(paths[0], search, *paths[1:], **fixed)
    if search is not None:
        search.check_nbest(nbest)
    check_value("batch_size", batch_size, BATCH_SIZE)
    _check_outputs(json, hypotheses, plot, cache)
    check_tokenization(tokenize)
    inputs = inputs_of(paths[0])
    check_cache(cache, inputs)
    texts = inputs, source, target, columns, answer_separator
    pairs, symbols = read_examples(*texts, tag=tag)
    links = None if alignments is None else _read_links(alignments, pairs, tag, symbols)
    other = None if compare is None else OtherSystem(compare, inputs, pairs, asked, tag)
    translator = load_translator(paths, precision)
    if other is not None:
        other.load(translator.plural)
    if tag is not None:
        require_token(tag, translator.source)
    _tell_features(pairs, translator.source)
    if search is None:  # a .tflite file has its own
        translator.check_nbest(nbest)
    if cache is not None:
        translator.source = translator.source.cached(cache, say=warn)
    from keras_bahdanau import evaluation

    names = translator.metrics if metrics is None else metrics.split(",")
    settings = {"tokenize": tokenize, "lowercase": lowercase, "metrics": names}
    show_progress(f"{translator.verb} {counted(len(pairs), translator.plural)}")
    measured = evaluation.evaluate(
        translator, pairs, batch_size, search, links, **settings, tag=tag, say=show_progress
    )
    lines = [translation.text for translation in measured.translations]
    scores = measured.scores()
    show_progress("")
    _tell_inputs(measured, pairs, translator, search, by_line=answer_separator is None)
    print(measured, flush=True)  # which stays, whatever becomes of the files and the other system
    if hypotheses is not None:
        write_text(hypotheses, "".join(f"{line}\n" for line in lines), new=True)
    if json is not None:
        write_json(json, scores, new=True)
    if plot is not None:
        _plot(measured, plot)
    if other is not None:
        compared = other.compared(pairs, lines, batch_size, **settings)
        show_progress("")
        if json is not None:
            write_json(json, {**scores, "compared": [vars(one) for one in compared]})
        print("", f"against {compare}", *compared, sep="\n")


def _check_outputs(json, hypotheses, plot, cache):
    """Raise an error unless all outputs can be written."""
    for path, name in ((json, "json"), (hypotheses, "hypotheses"), (plot, "plot")):
        check_writable(path, name)
    check_different(json=json, hypotheses=hypotheses, plot=plot, cache=cache)
    check_picture(plot, "plot")


def _tell_features(pairs, source):
    """Warn of sources whose features stand in another place than the model's, or are missing."""
    sources, features = [one for one, _ in pairs], FeaturesElsewhere(source)
    features.tell(sources)
    features.tell_missing(sources)


def _tell_inputs(measured, pairs, translator, search, by_line):
    """Warn of inputs that were cut, could not be read, or have parts that are not known."""
    sources, translations = [one for one, _ in pairs], measured.translations
    limits = translator.source.limits(translator.longest(search))
    tell_cut(translations, limits, names_of(sources, by_line), translator.source.unit)
    unreadable = report_unreadable(sources, [len(one.source_tokens) for one in translations])
    target = translator.target if translator.reads_target else None
    unknown = report_unknown_pairs(pairs, translator.source, target)
    for line in filter(None, [unreadable, *unknown]):
        warn(line)


def _plot(measured, path):
    """Draw the scores by length."""
    from keras_bahdanau.plotting import plot_lengths
    from keras_bahdanau.plotting.figures import save_picture

    first, *_ = measured.by_metric.values()
    names = {"counted_in": measured.counted_in, "inputs": measured.inputs}
    save_picture(plot_lengths(measured.by_length, metric=first.label, **names), path)


def _nbest_of(metrics, compare):
    """The number of texts of a source that the metrics need; one for a comparison."""
    nbest = 1
    if metrics is not None:
        from keras_bahdanau.evaluation.corpus_metrics import metrics_of  # which loads sacreBLEU

        nbest = max(metric.nbest for metric in metrics_of(metrics.split(",")))
    if compare is not None and nbest > 1:
        raise ValueError(
            "--compare takes the best text of each source alone. "
            f"Received: metrics={metrics!r}, which need several texts. "
            "Leave out --compare, or these metrics."
        )
    return nbest


def _read_links(path, pairs, tag=None, symbols=()):
    """(sure, possible) links of a file, between the words that the model reads."""
    from keras_bahdanau.data.readers.parallel_files import read_alignments  # which loads NumPy

    sure, possible = read_alignments(path)
    check_lines(len(sure), "alignments", path, pairs)
    # a tag is the first word of all sources that have one; features follow it
    first = symbols if tag is None else [tag, *symbols]
    return [shift_links(each, pairs, first) for each in (sure, possible)]
