"""`keras-bahdanau translate`."""

import contextlib
import os
import sys
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
from keras_bahdanau.cli.confident_lines import Rejection, json_line
from keras_bahdanau.cli.console import ends_well, lines_from, show_progress, tell_cut, warn
from keras_bahdanau.cli.exploring import Exploration, ExploreOption
from keras_bahdanau.cli.inputs import decoded, feature_place_of, require_inputs
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.cli.unknown_text import FeaturesElsewhere, UnknownText
from keras_bahdanau.counted import counted
from keras_bahdanau.data.columns import (
    PAIRS,
    find_columns,
    parsed_columns,
    table_of_lines,
    tell_header,
)
from keras_bahdanau.data.pair_file import PairFile
from keras_bahdanau.data.reading import check_unfinished, decode_lines, read_lines
from keras_bahdanau.data.table_features import hold_features, tell_joined_features, text_words
from keras_bahdanau.data.tags import require_token, tagged
from keras_bahdanau.limits import BATCH_SIZE
from keras_bahdanau.option import check_value
from keras_bahdanau.text.feature_place import LAST

ARRIVING = 2**16  # bytes of standard input that are translated at once


@ends_well()
@with_search_options
@with_imports
def translate(
    file: Annotated[
        Path | None, typer.Argument(help="Sentences, one a line.  [default: standard input]")
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
    paths = find_models(model)
    require_inputs(paths[0], "lines")
    fixed = {"explore": explore and str(explore), **fixed_precision(precision)}
    search = search_of(paths[0], search, *paths[1:], **fixed)
    if nbest is not None and search is not None:
        search.check_nbest(nbest)
    check_value("batch_size", batch_size, BATCH_SIZE)
    _check_columns(file, columns)
    prefix, tag = decoded(prefix, "PREFIX"), decoded(tag, "TAG")
    _check_pairs(write_pairs, alignment, reversed=reversed, pair_tag=pair_tag, scores=scores)
    check_different(write_pairs=write_pairs, explore=explore)
    rejection = Rejection(reject_below)
    if json and (alignment or write_pairs is not None):
        raise ValueError(
            "JSON is printed on standard output, without links. Received: json=True with "
            f"alignment={alignment}, write_pairs={write_pairs and str(write_pairs)!r}. Leave one "
            "of them out."
        )
    exploration = _exploration(explore, reference, model)
    symbols, targets = (), ()
    pairs = write_pairs and PairFile(write_pairs, reversed, pair_tag, scores, say=warn)
    if file is None:
        chunks = _telling_tabs(_lines_arriving())
    else:
        sentences, symbols, targets = _sentences(file, columns, feature_place_of(paths[0]))
        chunks = _chunked(sentences)
        if exploration:
            exploration.check_lines(file, len(sentences))
    translator = load_translator(paths, precision)
    _tell_features(file, targets, subwords_of(translator))
    if tag is not None:
        require_token(tag, translator.source)
        symbols = [tag, *symbols]
    if nbest is not None and search is None:
        translator.check_nbest(nbest)
    rejection.check_calibration(translator, search, len(paths))
    unknown, elsewhere = UnknownText(subwords_of(translator)), FeaturesElsewhere(translator.source)
    if prefix is not None:
        UnknownText(translator.target).tell([prefix], ["the prefix"])
    longest, done = translator.longest(search), 0
    limits = translator.source.limits(longest)
    with pairs or contextlib.nullcontext():
        for lines in chunks:
            inputs = lines if tag is None else [tagged(tag, line) for line in lines]
            prefixes = None if prefix is None else [prefix] * len(lines)
            results = translator.translate_nbest(inputs, nbest or 1, batch_size, search, prefixes)
            tell_cut((best for best, *_ in results), limits, lines_from(done + 1))
            results = rejection(results)
            unknown.tell(lines, lines_from(done + 1))
            elsewhere.tell(lines)
            if pairs:
                for line, hypotheses in zip(lines, results, strict=True):
                    pairs.add(line, hypotheses)
            else:
                links = Links(translator, inputs, search, symbols) if alignment else None
                _print(results, done if nbest else None, links, json)
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


def subwords_of(translator):
    """The vocabulary of the source; None for a source of one's own that has none."""
    return getattr(translator.source, "subwords", None)


def _exploration(explore, reference, models):
    """The page to write, or None."""
    if explore is None and reference is not None:
        raise ValueError(
            "`reference` is for a page. Received: "
            f"reference={str(reference)!r} without one. Give --explore, or leave it out."
        )
    labels = ["output"] if len(models) == 1 else [str(one) for one in models]
    return explore and Exploration(explore, reference, labels)


def _check_columns(file, columns):
    if columns is not None and file is None:
        raise ValueError(
            "`columns` is for a TSV file. Received: "
            f"columns={columns!r} with standard input. Give the file."
        )
    if columns is not None:
        parsed_columns(columns, needed=("source",))


def _sentences(file, columns, feature_place=LAST):
    """(lines of a file, or sources of a table; symbols of its features; targets left out)."""
    if not os.path.exists(file):  # of Path it would raise for a sentence longer than a name
        raise FileNotFoundError(
            f"`translate` takes a file of sentences. Received: path={str(file)!r}, no such file. "
            "`align` takes one sentence, and without a file the lines of standard input are read."
        )
    lines, found = read_lines(file, may_be_empty=columns is None), columns is None
    if found:
        named = file.name.endswith((".tsv", ".tsv.gz"))
        columns = find_columns(lines, needed=("source",)) if named else None
        if columns is None:
            _tell_tabs(lines, repr(str(file)), "name them by --columns")
            return lines, (), ()
        warn(
            f"columns of {str(file)!r}, found from its text: {columns}; its sources are "
            "translated, not whole lines"
        )
    settings = {"needed": ("source",), "feature_place": feature_place}
    table = table_of_lines(file, lines, columns, **settings)
    tell_header(file, lines[0], warn)
    tell_joined_features(file, table.symbols, warn)
    targets = [target for _, target in table.pairs] if found and columns == PAIRS else ()
    return [source for source, _ in table.pairs], {*table.symbols}, targets


def _tell_tabs(lines, name, mend):
    """Say that lines with tabs are read as sentences, and return if there are any."""
    found = any("\t" in line for line in lines)
    if found:
        warn(
            f"lines of {name} are translated whole, with their tabs. If these part columns, {mend}."
        )
    return found


def _telling_tabs(chunks):
    """The lists of lines of standard input; the first one with tabs is told of."""
    told = False
    for lines in chunks:
        told = told or _tell_tabs(lines, "standard input", "give a file and --columns")
        yield lines


def _tell_features(file, targets, subwords):
    """Say that a second column is left out, where it holds features that the model reads."""
    symbols = {*subwords.tokens(subwords.symbol_ids)} if subwords else set()
    if hold_features(targets, symbols):
        warn(
            f"the second column of {str(file)!r} is left out as a target: `--columns "
            "source,features` reads it as features"
        )


def _chunked(lines, size=1024):
    for first in range(0, len(lines), size):
        yield lines[first : first + size]


def _lines_arriving():
    """Lists of lines of standard input, as many as have come."""
    number, parts, length = 1, [], 0  # of what has come since the last end of a line
    while data := sys.stdin.buffer.read1(ARRIVING):
        whole, newline, rest = data.rpartition(b"\n")
        if newline:
            lines = decode_lines(b"".join([*parts, whole, newline]), "standard input", number)
            number, parts, length = number + len(lines), [], 0
            yield lines
        parts.append(rest)
        length += len(rest)
        check_unfinished(rest, length, "standard input", number)
    if any(parts):
        yield decode_lines(b"".join(parts), "standard input", number)


def _check_pairs(write_pairs, alignment, **settings):
    """Check that a file of pairs can be made, and that nothing asks for another output."""
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


def _print(results, first, links, json):
    """Print the translations of some sentences, numbered from `first` if that is there."""
    for row, hypotheses in enumerate(results):
        for one in hypotheses:
            number = None if first is None else first + row
            linked = links and ("" if one.rejected else links(row, one))
            print(json_line(one, number) if json else _line(one, number, linked))
    sys.stdout.flush()


def _line(translation, number, links):
    """One line of output, in the form of Moses' n-best lists if it has a number."""
    fields = [translation.text]
    if number is not None:
        fields = [str(number), translation.text, f"{translation.score:.4f}"]
    if links is not None:
        fields.append(links)
    return " ||| ".join(fields)


class Links:
    """The links of translations of some sentences, in Pharaoh form.

    Args:
        translator: `Translator`.
        sentences: List of strings.
        search: `SearchOptions` of their search; None for that of a .tflite file.
        symbols: Words of a sentence that are not its own: a tag before it, features.
    """

    def __init__(self, translator, sentences, search, symbols=()):
        longest, self._source = translator.longest(search), translator.source
        self._source_words = translator.words(sentences, longest)
        self._own_words = [text_words(one, symbols) for one in sentences]
        self._copied_from = None  # sentences as far as they are read, if their words are copied
        if search is not None and search.replace_unknown:
            self._copied_from, *_ = self._source.cut(sentences, longest)
            self._characters = translator.copies_characters

    def __call__(self, row, translation):
        from keras_bahdanau.text.alignments import format_pharaoh, span_links, word_spans
        from keras_bahdanau.text.replace_unknown import copied_tokens

        tokens = translation.target_tokens
        if tokens and self._copied_from is not None:
            one, weights = self._copied_from[row], translation.alignment
            copies = self._source.attended_words(one, weights, self._characters)
            tokens = copied_tokens(tokens, copies, self._characters)
        words = self._source_words[row], word_spans(tokens)
        links = span_links(*words, translation.alignment)
        own = self._own_words[row]
        return format_pharaoh((source - own.start, word) for source, word in links if source in own)
