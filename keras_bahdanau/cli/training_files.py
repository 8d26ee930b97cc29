"""Files of a training on the command line: pairs, corpora or shards, and held-out pairs."""

import functools
import itertools
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau.cli.console import warn
from keras_bahdanau.cli.corpus_files import check_tagged, hold_out, parsed_corpus, read_corpora
from keras_bahdanau.cli.inputs import has_content, read_examples
from keras_bahdanau.cli.options import HELD_OUT, MOST_HELD_OUT
from keras_bahdanau.data.corpora import pairs_of, require_text
from keras_bahdanau.data.pairs import answers_by_source
from keras_bahdanau.data.readers import has_records
from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.text.features import shift_links

NAMED = 5  # features that a message names
OPEN_FILES = "/dev/stdin", "/dev/fd/", "/proc/self/fd/"  # only one process can read them


class Files(NamedTuple):
    """Paths on the command line to train on, or to validate on.

    Attributes:
        source: Source sentences, a table, a manifest, or a directory of shards.
        target: Target sentences, or None.
        alignments: Links, or None.
        corpora: List of `--corpus` strings, or None.
    """

    source: Path | None
    target: Path | None
    alignments: Path | None
    corpora: list | None

    @classmethod
    def training(cls, arguments):
        names = "source", "target", "alignments", "corpus"
        return cls(*(getattr(arguments, name, None) for name in names))

    @classmethod
    def validation(cls, arguments):
        names = "valid_source", "valid_target", "valid_alignments", "valid_corpus"
        return cls(*(getattr(arguments, name, None) for name in names))

    def paths(self):
        corpora = (parsed_corpus(text).files for text in self.corpora or ())
        paths = self.source, self.target, self.alignments, *itertools.chain(*corpora)
        return [path for path in paths if path is not None]


def check_read_by_all(paths, workers):
    """Raise ValueError unless each of several processes can read all files."""
    for path in paths:
        stored = path.is_file() or path.is_dir() or not path.exists()
        if not stored or str(path).startswith(OPEN_FILES):
            raise ValueError(
                "Each process of a training reads all files, but a pipe or standard input can be "
                f"read only once. Received: path={str(path)!r} with workers={workers}. Write it to "
                "a file first, or leave --workers out."
            )


class Data(NamedTuple):
    """Sentence pairs or `Shards`, links between words, or None, and symbols of features."""

    pairs: list
    alignments: list | None
    symbols: tuple | list = ()

    @classmethod
    def read(cls, inputs, source, target=None, alignments=None, **table):
        pairs, symbols = read_examples(inputs, source, target, **table)
        if alignments is None:
            return cls(pairs, None, symbols)
        from keras_bahdanau.data.readers.parallel_files import read_alignments  # loads NumPy

        sure, _ = read_alignments(alignments)
        if len(sure) != len(pairs):
            raise ValueError(
                "Alignments must have one line for each pair. Received: "
                f"path={str(alignments)!r} with {len(sure)} lines for {len(pairs)} pairs. "
                "Leave a line empty where nothing is linked."
            )
        return cls(pairs, shift_links(sure, pairs, symbols), symbols)

    @classmethod
    def several(cls, texts, read, corpora=None):
        """Pairs of several corpora, or of their validation corpora: see `read_corpora`."""
        pairs, symbols = read_corpora(texts, read, corpora)
        return cls(pairs, None, symbols)

    def split_each(self):
        """(pairs to train on, held-out pairs) of each of several corpora."""
        parts = hold_out(self.pairs, held_out)
        return tuple(Data(pairs, None, self.symbols) for pairs in parts)

    def split(self, chosen):
        """(pairs that are not chosen, chosen pairs), by a set of indices."""
        return self._where(lambda i: i not in chosen), self._where(lambda i: i in chosen)

    def _where(self, condition):
        columns = (
            rows and [row for i, row in enumerate(rows) if condition(i)]
            for rows in (self.pairs, self.alignments)
        )
        return Data(*columns, self.symbols)


def read_data(inputs, training, validation, **table):
    """`Data` for training and for validation."""
    source, target, alignments, corpora = training
    valid_source, valid_target, valid_alignments, valid_corpora = validation
    _check_either(training, validation)
    read = functools.partial(Data.read, inputs, **table)
    if corpora:
        data = Data.several(corpora, read)
    elif source.is_dir():
        columns = {name: table[name] for name in ("columns", "answer_separator")}
        data = _shards(source, valid_source, target=target, alignments=alignments, **columns)
    else:
        data = read(source, target, alignments)
    for part in pairs_of(data.pairs).parts():
        _check_inputs(part, inputs)
    if valid_source is not None:
        _check_valid_target(inputs, target, valid_source, valid_target)
        valid = read(valid_source, valid_target, valid_alignments)
        check_tagged(valid_source, valid.pairs, pairs_of(data.pairs))
        if pairs_of(data.pairs).in_memory:  # shards do not list features
            _report_features(valid_source, valid.symbols, data.symbols, table.get("say", warn))
        return data, valid
    if valid_corpora:
        valid = Data.several(valid_corpora, read, data.pairs)
        require_text(valid.pairs)
        return data, valid
    _check_no_half(valid_target=valid_target, valid_alignments=valid_alignments)
    return data.split_each() if corpora else data.split(held_out(data.pairs))


def _check_either(training, validation):
    corpus, valid_corpus = training.corpora, validation.corpora
    if not corpus and training.source is None:
        raise ValueError(
            "Training needs files, or several --corpus. Received: neither. "
            "Give source and target sentences."
        )
    if not corpus and valid_corpus:
        raise ValueError(
            f"--valid-corpus needs --corpus. Received: valid_corpus={valid_corpus[0]!r}. "
            "Use --valid-source for the validation of one list of pairs."
        )
    for prefix, files in (("", training), ("valid_", validation)):
        for name, path in files._asdict().items():
            if files.corpora and name != "corpora" and path is not None:
                raise ValueError(
                    "Corpora replace other files. Received: "
                    f"{prefix}{name}={str(path)!r} with corpora. Leave it out."
                )


def _shards(directory, valid_source, **files):
    """The pairs of shards, which must be given without other files."""
    from keras_bahdanau.data.shards.shards import Shards  # loads NumPy

    shards = Shards(directory)
    for name, value in files.items():
        if value is not None:
            raise ValueError(
                "A directory of shards contains both sides. Received: "
                f"source={str(directory)!r}, with {name}={str(value)!r}. Leave that out."
            )
    if valid_source is None:
        raise ValueError(
            "Shards contain no text to validate on. Received: "
            f"source={str(directory)!r} without validation pairs. Give --valid-source."
        )
    return Data(shards, None)


def _check_inputs(pairs, inputs):
    if not pairs.in_memory and pairs.inputs_are != inputs:
        raise ValueError(
            "Shards must have the kind of source that is trained. Received: "
            f"source={str(pairs.directory)!r}, whose sources are {pairs.inputs_are}, for one of "
            f"{inputs}. Give the --source that they were prepared with."
        )


def _check_valid_target(inputs, target, valid_source, valid_target):
    """Check that two text files have two validation files, unless one is a TSV."""
    if inputs != "lines" or target is None or valid_target is not None or has_records(valid_source):
        return
    # a pipe can be read only once, below
    if valid_source.is_file() and not any("\t" in line for line in read_lines(valid_source)):
        raise ValueError(
            "Validation needs both sides. Received: "
            f"valid_source={str(valid_source)!r}, a text without tabs, and no valid_target. Give "
            "a TSV with both languages, or give --valid-target, too."
        )


def _report_features(path, symbols, trained, say):
    """Report validation pairs with features that no training pair has, or without any."""
    trained_set = {*trained}
    new = [symbol for symbol in symbols if symbol not in trained_set]
    if new:
        named = ", ".join(new[:NAMED]) + (", ..." if len(new) > NAMED else "")
        say(
            f"features of the validation {str(path)!r} that no training pair has, {len(new):,}: "
            f"{named}"
        )
    elif trained and not symbols:
        say(
            f"the validation {str(path)!r} has no features, but the training has, such as "
            f"{trained[0]}. Give a table with the same columns"
        )


def _check_no_half(**files):
    for name, path in files.items():
        if path is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} needs --valid-source. Received: {name}={str(path)!r}. "
                "Give both, or neither."
            )


def report_held_out(pairs, say):
    """Report how many pairs are held out for validation."""
    are = "is" if len(pairs) == 1 else "are"
    say(f"{counted(len(pairs), 'pairs')} {are} held out for validation")


def held_out(pairs):
    """Indices of validation pairs: evenly spread, no side empty, pairs of a source together."""
    usable = [
        i for i, (source, target) in enumerate(pairs) if has_content(source) and has_content(target)
    ]
    numbers = answers_by_source(pairs[i] for i in usable).numbers
    count = 1 + max(numbers, default=-1)  # different sources
    if count < 2:
        raise ValueError(
            "Training needs a source that is not held out for validation. "
            f"Received: {count} source with text on both sides. "
            "Give more pairs, or give validation pairs with --valid-source."
        )
    step = max(HELD_OUT, -(-count // MOST_HELD_OUT))
    return {i for i, number in zip(usable, numbers, strict=True) if number % step == 0}
