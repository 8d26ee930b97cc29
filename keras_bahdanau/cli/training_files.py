"""Files for training on the command line: pairs, corpora or shards, and held-out pairs."""

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

NAMED = 5  # number of features to name in a message
OPEN_FILES = "/dev/stdin", "/dev/fd/", "/proc/self/fd/"  # only one process can read these


class Files(NamedTuple):
    """Paths given on the command line, of the training data or of the validation data.

    Attributes:
        source: Source sentences, a table, a manifest, or a directory of shards.
        target: Target sentences, or None.
        alignments: File of links between words, or None.
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
    """Raise ValueError unless several processes can each read all files."""
    for path in paths:
        stored = path.is_file() or path.is_dir() or not path.exists()
        if not stored or str(path).startswith(OPEN_FILES):
            raise ValueError(
                "Each training process reads all files, but a pipe or standard input can be read "
                f"only once. Received: path={str(path)!r} with workers={workers}. Write the data "
                "to a file first, or omit --workers."
            )


class Data(NamedTuple):
    """Pairs, `Corpora` or `Shards`, links between words or None, and symbols of features."""

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
                "A file of alignments must have one line for each pair. Received: "
                f"path={str(alignments)!r} with {len(sure)} lines for {len(pairs)} pairs. "
                "Write an empty line for a pair without links."
            )
        return cls(pairs, shift_links(sure, pairs, symbols), symbols)

    @classmethod
    def several(cls, texts, read, corpora=None):
        """Read several corpora, or their validation corpora, as `read_corpora` does."""
        pairs, symbols = read_corpora(texts, read, corpora)
        return cls(pairs, None, symbols)

    def split_each(self):
        """Return (training pairs, held-out pairs); both are `Data` of the same corpora."""
        parts = hold_out(self.pairs, held_out)
        return tuple(Data(pairs, None, self.symbols) for pairs in parts)

    def split(self, chosen):
        """Return (pairs that are not chosen, chosen pairs), where `chosen` is a set of indices."""
        return self._where(lambda i: i not in chosen), self._where(lambda i: i in chosen)

    def _where(self, condition):
        columns = (
            rows and [row for i, row in enumerate(rows) if condition(i)]
            for rows in (self.pairs, self.alignments)
        )
        return Data(*columns, self.symbols)


def read_data(inputs, training, validation, **table):
    """Read (`Data` for training, `Data` for validation)."""
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
            "Training needs source and target files, or several --corpus. Received: neither. "
            "Give files of source and target sentences."
        )
    if not corpus and valid_corpus:
        raise ValueError(
            f"--valid-corpus needs --corpus. Received: valid_corpus={valid_corpus[0]!r} without "
            "--corpus. To validate on a single list of pairs, use --valid-source."
        )
    for prefix, files in (("", training), ("valid_", validation)):
        for name, path in files._asdict().items():
            if files.corpora and name != "corpora" and path is not None:
                raise ValueError(
                    "Corpora can't be combined with other files. Received: "
                    f"{prefix}{name}={str(path)!r} with corpora. Omit it."
                )


def _shards(directory, valid_source, **files):
    """Open a directory of shards, which must be given without other training files."""
    from keras_bahdanau.data.shards.shards import Shards  # loads NumPy

    shards = Shards(directory)
    for name, value in files.items():
        if value is not None:
            raise ValueError(
                "A directory of shards already contains both sides. Received: "
                f"source={str(directory)!r}, with {name}={str(value)!r}. Omit `{name}`."
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
            "Shards must have the type of source that the model reads. Received: "
            f"source={str(pairs.directory)!r}, whose sources are {pairs.inputs_are}, for a model "
            f"that reads {inputs}. Give the --source that the shards were prepared with."
        )


def _check_valid_target(inputs, target, valid_source, valid_target):
    """Check that validation has both sides: two text files, or one TSV."""
    if inputs != "lines" or target is None or valid_target is not None or has_records(valid_source):
        return
    # a pipe can be read only once, below
    if valid_source.is_file() and not any("\t" in line for line in read_lines(valid_source)):
        raise ValueError(
            "Validation needs both sides. Received: "
            f"valid_source={str(valid_source)!r}, a text without tabs, and no valid_target. Give "
            "a TSV with both languages, or add --valid-target."
        )


def _report_features(path, symbols, trained, say):
    """Report validation features that are not in the training pairs, or a lack of features."""
    trained_set = {*trained}
    new = [symbol for symbol in symbols if symbol not in trained_set]
    if new:
        named = ", ".join(new[:NAMED]) + (", ..." if len(new) > NAMED else "")
        say(
            f"the validation file {str(path)!r} has features that no training pair has "
            f"({len(new):,}): {named}"
        )
    elif trained and not symbols:
        say(
            f"the validation file {str(path)!r} has no features, but the training pairs do, such "
            f"as {trained[0]}. Give a table with the same columns"
        )


def _check_no_half(**files):
    for name, path in files.items():
        if path is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} needs --valid-source. Received: {name}={str(path)!r} without it. "
                "Give both, or neither."
            )


def report_held_out(pairs, say):
    """Report the number of pairs that are held out for validation."""
    are = "is" if len(pairs) == 1 else "are"
    say(f"{counted(len(pairs), 'pairs')} {are} held out for validation")


def held_out(pairs):
    """Choose the indices of validation pairs.

    The pairs are evenly spread. Pairs with an empty side are not chosen, and pairs with the same
    source are chosen together.
    """
    usable = [
        i for i, (source, target) in enumerate(pairs) if has_content(source) and has_content(target)
    ]
    numbers = answers_by_source(pairs[i] for i in usable).numbers
    count = 1 + max(numbers, default=-1)  # number of different sources
    if count < 2:
        raise ValueError(
            "Training needs a source that is not held out for validation. "
            f"Received: {count} source with text on both sides. "
            "Add training pairs, or give validation pairs with --valid-source."
        )
    step = max(HELD_OUT, -(-count // MOST_HELD_OUT))
    return {i for i, number in zip(usable, numbers, strict=True) if number % step == 0}
