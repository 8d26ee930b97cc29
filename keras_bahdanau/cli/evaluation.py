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
    is_litert,
    load_translator,
    search_of,
    with_search_options,
)
from keras_bahdanau.cli.console import ends_well, show_progress, tell_cut, warn
from keras_bahdanau.cli.inputs import (
    check_cache,
    feature_place_of,
    inputs_of,
    names_of,
    read_examples,
)
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.cli.unknown_text import FeaturesElsewhere
from keras_bahdanau.counted import counted
from keras_bahdanau.data.manifest import report_unreadable
from keras_bahdanau.data.reading import read_lines
from keras_bahdanau.data.table_features import links_behind, with_features_at
from keras_bahdanau.data.tags import is_token, require_token, tagged, untagged
from keras_bahdanau.limits import BATCH_SIZE
from keras_bahdanau.option import check_value
from keras_bahdanau.text.unknown_parts import report_unknown_pairs
from keras_bahdanau.whole_file import write_json, write_text


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
            help="Metrics with commas between: bleu, chrf, ter, wer, per, cer, ser, exact, top2, "
            "top3, top5, top10, exprate, exprate1, exprate2, exprate3. The first is that of the "
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
    for path, name in ((json, "json"), (hypotheses, "hypotheses"), (plot, "plot")):
        check_writable(path, name)
    check_different(json=json, hypotheses=hypotheses, plot=plot, cache=cache)
    check_picture(plot, "plot")
    check_tokenization(tokenize)
    inputs = inputs_of(paths[0])
    check_cache(cache, inputs)
    texts = inputs, source, target, columns, answer_separator
    place = feature_place_of(paths[0])
    pairs, symbols = read_examples(*texts, tag=tag, feature_place=place)
    links = None if alignments is None else _read_links(alignments, pairs, tag, symbols)
    other = None if compare is None else _Other(compare, inputs, pairs, asked, tag)
    if other is not None and other.feature_place not in (None, place):
        other.move_features(symbols)
    translator = load_translator(paths, precision)
    if other is not None:
        other.load(translator.plural)
    if tag is not None:
        require_token(tag, translator.source)
    sources = [one for one, _ in pairs]
    features = FeaturesElsewhere(translator.source)
    features.tell(sources)
    features.tell_missing(sources)
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
    limits = translator.source.limits(translator.longest(search))
    names = names_of(sources, by_line=answer_separator is None)
    tell_cut(measured.translations, limits, names, translator.source.unit)
    lengths = [len(translation.source_tokens) for translation in measured.translations]
    unreadable = report_unreadable(sources, lengths)
    lines = [translation.text for translation in measured.translations]
    if hypotheses is not None:
        write_text(hypotheses, "".join(f"{line}\n" for line in lines))
    scores = measured.scores()
    show_progress("")
    unknown = report_unknown_pairs(pairs, translator.source, translator.target)
    for line in filter(None, [unreadable, *unknown]):
        warn(line)
    if json is not None:
        write_json(json, scores)
    if plot is not None:
        from keras_bahdanau.plotting import plot_lengths

        first, *_ = measured.by_metric.values()
        names = {"counted_in": measured.counted_in, "inputs": measured.inputs}
        plot_lengths(measured.by_length, metric=first.label, **names).savefig(plot)
    print(measured, flush=True)  # which stays, whatever becomes of the other system
    if other is not None:
        compared = _compared(pairs, lines, other.lines(batch_size), **settings)
        show_progress("")
        if json is not None:
            write_json(json, {**scores, "compared": [vars(one) for one in compared]})
        print("", f"against {compare}", *compared, sep="\n")


def _nbest_of(metrics, compare):
    """The number of texts of a source that the metrics need; one for a comparison."""
    nbest = 1 if metrics is None else max(metric.nbest for metric in _metrics_of(metrics))
    if compare is not None and nbest > 1:
        raise ValueError(
            "--compare takes the best text of each source alone. "
            f"Received: metrics={metrics!r}, which need several texts. "
            "Leave out --compare, or these metrics."
        )
    return nbest


class _Other:
    """Another system: lines of a file, or a model that is yet to decode the sources.

    Attributes:
        feature_place: String, where a model reads features; None for lines.
    """

    def __init__(self, path, inputs, pairs, asked, tag):
        self._lines, self._model, self._search, self._tag = None, None, None, tag
        self._sources, self.feature_place = [source for source, _ in pairs], None
        if path.is_dir() or path.suffix == ".keras" or is_litert(path):
            (self._model,) = find_models([path])
            _check_inputs(inputs_of(self._model), path, inputs)
            self._search = search_of(self._model, asked)
            self.feature_place = feature_place_of(self._model)
        else:
            self._lines = read_lines(path)
            _check_lines(len(self._lines), "compare", path, pairs)
        from keras_bahdanau.evaluation.significance import samples_for  # which loads sacreBLEU

        samples_for(len(pairs))  # or an error, before anything is decoded

    def move_features(self, symbols):
        """Put the features of all sources where this model has learnt them: see `Table`.

        The sources may have come from a pipe, which is read but once.
        """
        for row, source in enumerate(self._sources if symbols else ()):
            own = source if self._tag is None else untagged(self._tag, source)
            moved = with_features_at(own, symbols, self.feature_place)
            self._sources[row] = moved if self._tag is None else tagged(self._tag, moved)

    def load(self, plural):
        """Load the model, or say why that can't be, before the first one decodes for long.

        Args:
            plural: String, what the first one reads: both images and recordings are files.
        """
        if self._model is not None:
            self._translator = load_translator([self._model])
            _check_inputs(self._translator.plural, self._model, plural)
            if self._search is not None:
                self._translator.check_options(self._search)

    def lines(self, batch_size):
        """Its texts."""
        if self._lines is None:
            translator, sources = self._translator, self._sources
            if self._tag is not None and not is_token(self._tag, translator.source):
                sources = [untagged(self._tag, source) for source in sources]
            found = translator.decode(sources, batch_size, self._search, say=show_progress)
            self._lines = [translation.text for translation in found]
        return self._lines


def _check_inputs(found, path, inputs):
    if found != inputs:
        raise ValueError(
            "Two models are compared on the same inputs. "
            f"Received: compare={str(path)!r}, which reads {found}, beside a model that reads "
            f"{inputs}. Give another model, or a file of its texts."
        )


def _compared(pairs, lines, others, metrics, **settings):
    """A `Comparison` by each metric, which counts pairs or sources."""
    from keras_bahdanau import evaluation
    from keras_bahdanau.data.answers import answers_by_source

    answers = answers_by_source(pairs)
    order = [*enumerate(answers.numbers)]
    firsts = {number: pair for pair, number in reversed(order)}  # the first pair of each source
    firsts = [firsts[number] for number in range(len(answers.sources))]
    systems = {
        False: (lines, others, [text for _, text in pairs]),
        True: ([lines[i] for i in firsts], [others[i] for i in firsts], answers.references),
    }
    chosen, compared = _metrics_of(",".join(metrics)), {}
    for by_source, arguments in systems.items():
        names = [one.name for one in chosen if one.by_source == by_source]
        if names:
            found = evaluation.compare(*arguments, metrics=names, **settings)
            compared.update(zip(names, found, strict=True))
    return [compared[name] for name in metrics]


def _metrics_of(names):
    """The metrics of a text, with commas between."""
    from keras_bahdanau.text.corpus_metrics import metrics_of  # which loads sacreBLEU

    return metrics_of(names.split(","))


def _read_links(path, pairs, tag=None, symbols=()):
    """(sure, possible) links of a file, between the words that the model reads."""
    from keras_bahdanau.data.reading import read_alignments  # which loads NumPy

    sure, possible = read_alignments(path)
    _check_lines(len(sure), "alignments", path, pairs)
    # a tag is the first word of all sources that have one; features follow it
    first = symbols if tag is None else [tag, *symbols]
    return [links_behind(each, pairs, first) for each in (sure, possible)]


def _check_lines(count, name, path, pairs):
    if count != len(pairs):
        raise ValueError(
            f"`{name}` must have one line for each pair. "
            f"Received: {name}={str(path)!r} with {count} lines for {len(pairs)} pairs."
        )
