"""`keras-bahdanau translate`."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    BatchOption,
    JsonOption,
    ModelsOption,
    PrecisionOption,
    PrefixOption,
    RejectOption,
    TagOption,
    check_different,
    check_writable,
    find_models,
    fixed_precision,
    load_translator,
    search_of,
    with_search_options,
)
from keras_bahdanau.cli.confident_lines import Rejection
from keras_bahdanau.cli.console import ends_well, lines_from, show_progress, tell_cut, warn
from keras_bahdanau.cli.exploring import Exploration, ExploreOption
from keras_bahdanau.cli.inputs import decoded, require_inputs
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.cli.sentences import STANDARD_INPUT, check_columns, chunks_of, tell_left_out
from keras_bahdanau.cli.translated_lines import Links, print_lines
from keras_bahdanau.cli.unknown_text import FeaturesElsewhere, UnknownText, subwords_of
from keras_bahdanau.data.pair_file import PairFile
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.text.features import require_token, tagged


@ends_well()
@with_search_options
@with_imports
def translate(
    file: Annotated[
        Path | None,
        typer.Argument(help="Sentences, one a line; - is the standard input.  [default: -]"),
    ] = None,
    *,
    model: ModelsOption,
    nbest: Annotated[
        int | None,
        typer.Option(
            help="Print so many translations of each sentence, best first, as "
            "'number ||| text ||| score'; at most the beam width.",
        ),
    ] = None,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Append ' ||| 0-0 1-2', the linked words.")
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of a TSV in their order, as in train: source, features, and target, "
            "count or - for those to ignore.  [default: found from the text of a file named .tsv "
            "or .tsv.gz, as in train; else a line is a sentence]",
            show_default=False,
        ),
    ] = None,
    tag: TagOption = None,
    write_pairs: Annotated[
        Path | None,
        typer.Option(
            help="TSV to write in place of standard output, for training: each sentence and its "
            "translations. With --temperature 1 they are drawn at random. A run that is stopped "
            "leaves what it has as .unfinished-NAME.",
            show_default=False,
        ),
    ] = None,
    reversed: Annotated[
        bool,
        typer.Option(
            "--reversed", help="Write the translation as the source of a pair: back-translation."
        ),
    ] = False,
    pair_tag: Annotated[
        str | None,
        typer.Option(help="Word before the source of each pair, such as <bt>.", show_default=False),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write the score as a third column.")
    ] = False,
    prefix: PrefixOption = None,
    reject_below: RejectOption = None,
    json: JsonOption = False,
    explore: ExploreOption = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Right targets, one a line, that the page of --explore compares with.",
            show_default=False,
        ),
    ] = None,
    batch_size: BatchOption = 64,
    precision: PrecisionOption = None,
    **search,
):
    """Translate sentences: one line out for each line in.

    Files are UTF-8, plain or .gz. No lines give no lines, and an empty line stays empty; one that
    is longer than --max-source-length is cut, and named on standard error.
    """
    file = None if file == STANDARD_INPUT else file
    paths = find_models(model)
    require_inputs(paths[0], "lines")
    fixed = {"explore": explore and str(explore), **fixed_precision(precision)}
    search = search_of(paths[0], search, *paths[1:], **fixed)
    if nbest is not None and search is not None:
        search.check_nbest(nbest)
    check_value("batch_size", batch_size, BATCH_SIZE)
    check_columns(file, columns)
    prefix, tag = decoded(prefix, "PREFIX"), decoded(tag, "TAG")
    of_pairs = {"reversed": reversed, "pair_tag": pair_tag, "scores": scores}
    _check_outputs(write_pairs, alignment, json, **of_pairs)
    check_different(write_pairs=write_pairs, explore=explore)
    rejection = Rejection(reject_below)
    exploration = _exploration(explore, reference, model, prefix)
    pairs = write_pairs and PairFile(write_pairs, reversed, pair_tag, scores, say=warn)
    chunks, symbols, targets = chunks_of(file, columns)
    if exploration and file is not None:
        exploration.check_lines(file, sum(map(len, chunks)))
    translator = load_translator(paths, precision)
    are_features = tell_left_out(file, targets, subwords_of(translator))
    if tag is not None:
        require_token(tag, translator.source)
        symbols = [tag, *symbols]
    elif targets and not are_features:  # of a table, which may lack them
        sources = [line for lines in chunks for line in lines]
        FeaturesElsewhere(translator.source).tell_missing(sources)
    if nbest is not None and search is None:
        translator.check_nbest(nbest)
    rejection.check_calibration(translator, search, len(paths))
    if prefix is not None:
        UnknownText(translator.target).tell([prefix], ["the prefix"])
    unknown, done = UnknownText(subwords_of(translator)), 0
    settings = {"nbest": nbest or 1, "tag": tag, "prefix": prefix, "batch_size": batch_size}
    with pairs or contextlib.nullcontext():
        for lines, inputs, found in _translated(chunks, translator, search, unknown, **settings):
            results = rejection(found)
            if pairs:
                for line, hypotheses in zip(lines, results, strict=True):
                    pairs.add(line, hypotheses)
            else:
                links = Links(translator, inputs, search, symbols) if alignment else None
                print_lines(results, done if nbest else None, links, json)
            if exploration:
                exploration.add(inputs, [best for best, *_ in results])
            done += len(lines)
            show_progress(counted(done, "sentences"), lines=not pairs)
    show_progress("")
    rejection.tell()
    unknown.tell_count()
    if exploration:
        exploration.write(translator.searching(search))
    if pairs:
        print(pairs.report())


def _translated(chunks, translator, search, unknown, nbest, tag, prefix, batch_size):
    """Yield (lines, inputs, hypotheses of each) of lists of lines, and warn of some lines.

    These are cut, have parts that the model does not know, or features in another place.
    """
    elsewhere = FeaturesElsewhere(translator.source)
    limits, done = translator.source.limits(translator.longest(search)), 0
    for lines in chunks:
        inputs = lines if tag is None else [tagged(tag, line) for line in lines]
        prefixes = None if prefix is None else [prefix] * len(lines)
        results = translator.translate_nbest(inputs, nbest, batch_size, search, prefixes)
        tell_cut((best for best, *_ in results), limits, lines_from(done + 1))
        unknown.tell(lines, lines_from(done + 1))
        elsewhere.tell(lines)
        yield lines, inputs, results
        done += len(lines)


def _exploration(explore, reference, models, prefix):
    """The page to write, or None."""
    if explore is None and reference is not None:
        raise ValueError(
            "`reference` is for a page. Received: "
            f"reference={str(reference)!r} without one. Give --explore, or leave it out."
        )
    labels = ["output"] if len(models) == 1 else [str(one) for one in models]
    return explore and Exploration(explore, reference, labels, prefix)


def _check_outputs(write_pairs, alignment, json, **settings):
    """Check that a file of pairs can be made, and that outputs go together."""
    check_writable(write_pairs, "write_pairs")
    for name, value in settings.items():
        if value and write_pairs is None:
            raise ValueError(
                f"`{name}` is for a file of pairs. Received: {name}={value!r} without one. Give "
                "--write-pairs, or leave it out."
            )
    if alignment and write_pairs is not None:
        raise ValueError(
            "A file of pairs has no alignments. Received: alignment=True with "
            f"write_pairs={str(write_pairs)!r}. Leave one of them out."
        )
    if json and (alignment or write_pairs is not None):
        raise ValueError(
            "JSON is printed on standard output, without links. Received: json=True with "
            f"alignment={alignment}, write_pairs={write_pairs and str(write_pairs)!r}. Leave one "
            "of them out."
        )
