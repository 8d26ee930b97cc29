"""Sentences to translate: the lines of a file or of standard input, or the sources of a table."""

import contextlib
import os
import sys
from pathlib import Path

from keras_bahdanau.cli.console import warn
from keras_bahdanau.cli.inputs import decoded
from keras_bahdanau.cli.output import (
    LinePrinter,
    Links,
    check_different,
    check_page_options,
    check_writable,
)
from keras_bahdanau.cli.warnings import (
    FeatureWarnings,
    UnknownText,
    lines_from,
    subwords_of,
    warn_of_cuts,
)
from keras_bahdanau.data.readers import check_no_records
from keras_bahdanau.data.readers.conventions import (
    check_separated,
    read_dictionary,
    report_conventions,
)
from keras_bahdanau.data.readers.lines import check_unfinished, decode_lines, read_lines
from keras_bahdanau.data.readers.table import (
    PAIRS,
    find_columns,
    hold_features,
    parse_columns,
    parse_table,
    report_table,
)
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.text.features import is_blank, require_token, tagged

ARRIVING = 2**16  # bytes of standard input to read at a time


class Sentences:
    """Sentences to translate in chunks, with their warnings, output lines, pairs and page."""

    def __init__(self, arguments, model):
        self.arguments = arguments
        self.file = _sentence_file(arguments.files)
        check_columns(self.file, arguments.columns)
        self.prefix = decoded(arguments.prefix, "PREFIX")
        self.tag = decoded(arguments.tag, "TAG")
        _check_outputs(arguments)
        self.exploration = _exploration(arguments, self.prefix)
        self.pairs = _pair_file(arguments)
        self.output = self.pairs or contextlib.nullcontext()
        self.chunks, self.symbols, self.targets = chunks_of(self.file, arguments.columns)
        if self.exploration and self.file is not None:
            self.exploration.check_lines(self.file, sum(map(len, self.chunks)))
        self.printer = LinePrinter(arguments.nbest is not None, arguments.json)
        self.count = self.blank = 0

    def check(self, translator, search):
        self.translator, self.search = translator, search
        self.limits = translator.source.limits(translator.longest(search))
        subwords, self.features = subwords_of(translator.source), FeatureWarnings(translator.source)
        self.unknown = UnknownText(subwords)
        are_features = warn_of_features(self.file, self.targets, subwords)
        if self.tag is not None:
            require_token(self.tag, translator.source)
            self.symbols = [self.tag, *self.symbols]
        elif self.targets and not are_features:  # a table that may lack features
            self.features.warn_missing([line for lines in self.chunks for line in lines])

    def tagged(self, lines):
        return lines if self.tag is None else [tagged(self.tag, line) for line in lines]

    def warn(self, lines, results):
        best, names = (best for best, *_ in results), lines_from(self.count + 1)
        warn_of_cuts(best, self.limits, names)
        self.unknown.warn(lines, lines_from(self.count + 1))
        self.features.warn(lines)
        self.count += len(lines)
        self.blank += sum(bool(line) and is_blank(line) for line in lines)

    def write(self, lines, results):
        inputs = self.tagged(lines)
        if self.pairs:
            for line, hypotheses in zip(lines, results, strict=True):
                self.pairs.add(line, hypotheses)
        else:
            links = None
            if self.arguments.alignment:
                links = Links(self.translator, inputs, self.search, self.symbols)
            self.printer(inputs, results, links)
        if self.exploration:
            self.exploration.add(inputs, [best for best, *_ in results])

    def progress(self, count):
        return counted(count, "sentences")

    def conclude(self, search):
        self.unknown.warn_count()
        if self.blank:
            warn(f"{counted(self.blank, 'lines')} with only white space: an empty line for each")
        if self.exploration:
            self.exploration.write(self.translator.searching(search))
        if self.pairs:
            print(self.pairs.report())


def _sentence_file(files):
    if files and len(files) > 1:
        raise ValueError(
            "Sentences must be in one file. Received: "
            f"{len(files)} files, path={str(files[1])!r}. Translate the files one at a time."
        )
    return files[0] if files and files[0] != Path("-") else None


def _pair_file(arguments):
    if arguments.write_pairs is None:
        return None
    from keras_bahdanau.data.pair_file import PairFile

    settings = arguments.reversed, arguments.pair_tag, arguments.scores
    return PairFile(arguments.write_pairs, *settings, say=warn)


def _exploration(arguments, prefix):
    explore, reference, models = arguments.explore, arguments.reference, arguments.model
    check_page_options(explore, reference=reference, importance=arguments.importance)
    if explore is None:
        return None
    from keras_bahdanau.cli.explorer_page import Exploration

    labels = ["output"] if len(models) == 1 else [str(model) for model in models]
    return Exploration(explore, reference, labels, prefix, arguments.importance)


def _check_outputs(arguments):
    write_pairs, alignment = arguments.write_pairs, arguments.alignment
    check_writable(write_pairs, "write_pairs")
    for name in ("reversed", "pair_tag", "scores"):
        if (value := getattr(arguments, name)) and write_pairs is None:
            raise ValueError(
                f"`{name}` needs --write-pairs. Received: {name}={value!r} without a file of "
                "pairs. Add --write-pairs, or omit the option."
            )
    if alignment and write_pairs is not None:
        raise ValueError(
            "A file of pairs can't contain alignments. Received: alignment=True with "
            f"write_pairs={str(write_pairs)!r}. Omit one of them."
        )
    if arguments.json and (alignment or write_pairs is not None):
        raise ValueError(
            "JSON is printed on standard output, without links. Received: json=True with "
            f"alignment={alignment}, write_pairs={write_pairs and str(write_pairs)!r}. Omit --json "
            "or the other option."
        )
    check_different(write_pairs=write_pairs, explore=arguments.explore)


def check_columns(file, columns):
    """Raise ValueError if columns are given without a file, or do not include the source."""
    if columns is not None and file is None:
        raise ValueError(
            "`columns` needs a TSV file. Received: "
            f"columns={columns!r} with standard input. Give the path of the file."
        )
    if columns is not None:
        parse_columns(columns, needed=("source",))


def chunks_of(file, columns):
    """Return (lists of sentences to translate together, symbols, targets), as `sentences_of`.

    The sentences are those of a file, or of standard input if `file` is None.
    """
    if file is None:
        return _whole_lines(_lines_arriving()), (), ()
    sentences, symbols, targets = sentences_of(file, columns)
    return [*_chunked(sentences)], symbols, targets


def sentences_of(file, columns):
    """Read (sentences, symbols of features, targets) from a file.

    The targets are () unless the columns were inferred as source and target.
    """
    if not os.path.exists(file):  # `Path.exists` raises for a sentence longer than a file name
        raise FileNotFoundError(
            f"`translate` reads a file of sentences. Received: path={str(file)!r}, no such file. "
            "Use `align` for one sentence, or omit the file to read standard input."
        )
    check_no_records(file)
    lines, inferred = read_lines(file, may_be_empty=columns is None), columns is None
    if inferred:
        if file.name.endswith((".csv", ".csv.gz")):
            check_separated(file, lines)
        is_table = file.name.endswith((".tsv", ".tsv.gz"))
        lines = read_dictionary(file, lines, warn) if is_table else lines
        columns = find_columns(lines, needed=("source",)) if is_table else None
        if columns is None:
            _warn_of_tabs(lines, repr(str(file)), "name them with --columns")
            report_conventions(file, lines, warn, tables=False)
            return lines, (), ()
        warn(
            f"columns of {str(file)!r}, inferred from its text: {columns}; only the sources are "
            "translated, not whole lines"
        )
    table = parse_table(file, lines, columns, needed=("source",))
    report_table(file, lines, table, warn)
    targets = [target for _, target in table.pairs] if inferred and columns == PAIRS else ()
    return [source for source, _ in table.pairs], {*table.symbols}, targets


def _warn_of_tabs(lines, name, mend):
    """Warn that lines with tabs are translated as they are. Return True if there are any."""
    has_tabs = any("\t" in line for line in lines)
    if has_tabs:
        warn(f"lines of {name} are translated with their tabs. If tabs separate columns, {mend}.")
    return has_tabs


def _whole_lines(chunks):
    """Yield the lists of lines from standard input, with a warning at the first line with tabs."""
    warned = False
    for lines in chunks:
        warned = warned or _warn_of_tabs(lines, "standard input", "give a file and --columns")
        yield lines


def warn_of_features(file, targets, subwords):
    """Warn if an ignored second column contains features that the model can read."""
    symbols = {*subwords.tokens(subwords.symbol_ids)} if subwords else set()
    if are_features := hold_features(targets, symbols):
        warn(
            f"the second column of {str(file)!r} is ignored as a target. To read it as features, "
            "give `--columns source,features`"
        )
    return are_features


def _chunked(lines, size=1024):
    for first in range(0, len(lines), size):
        yield lines[first : first + size]


def _lines_arriving():
    """Yield the lines of standard input, in lists of those that have arrived so far."""
    number, parts, length = 1, [], 0  # state of the unfinished line
    while data := sys.stdin.buffer.read1(ARRIVING):
        whole, newline, tail = data.rpartition(b"\n")
        if newline:
            lines = decode_lines(b"".join([*parts, whole, newline]), "standard input", number)
            number, parts, length = number + len(lines), [], 0
            yield lines
        parts.append(tail)
        length += len(tail)
        check_unfinished(tail, length, "standard input", number)
    if any(parts):
        yield decode_lines(b"".join(parts), "standard input", number)
