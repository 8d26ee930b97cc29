"""The options `--corpus` and `--valid-corpus`: their syntax, their files and held-out pairs."""

import dataclasses
import itertools
import re
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau.cli.console import load_tensorflow
from keras_bahdanau.data.corpora import WEIGHT, Corpora, Corpus, require_text
from keras_bahdanau.data.pairs import answers_by_source
from keras_bahdanau.settings.option import check_value

# a colon, but not that of a drive letter, as in C:\data\train.tsv
_COLON = re.compile(r"(?<!^[A-Za-z])(?<!,[A-Za-z]):|:(?![\\/])")

FORM = "NAME=FILES:WEIGHT:TAG"


class CorpusOption(NamedTuple):
    """One corpus given on the command line.

    `files` contains one path (a TSV, a manifest or shards) or two paths (source and target lines).
    """

    name: str
    files: tuple
    weight: float | None = None
    tag: str | None = None

    def corpus(self, pairs):
        return Corpus(self.name, pairs, self.weight, self.tag)


def parsed_corpus(text):
    """Parse a `--corpus` string `NAME=FILES:WEIGHT:TAG` into a `CorpusOption`.

    FILES is one path, or two paths separated by a comma. WEIGHT and TAG are optional.

    Example:
        >>> parsed_corpus("de=train.en.gz,train.de.gz:0.7:<2de>")
        CorpusOption(name='de', files=(PosixPath('train.en.gz'), PosixPath('train.de.gz')),
            weight=0.7, tag='<2de>')
    """
    name, files, *settings = _parts("corpus", text, FORM)
    if len(settings) > 2:
        raise _form_error("corpus", text, FORM)
    weight, tag = [*settings, "", ""][:2]
    return CorpusOption(name, files, _weight(text, weight) if weight else None, tag or None)


def parsed_valid_corpus(text, corpora):
    """Parse a `--valid-corpus` string `NAME=FILES`, and add the tag of the corpus of that name."""
    name, files, *settings = _parts("valid-corpus", text, "NAME=FILES")
    if settings:
        raise _form_error("valid-corpus", text, "NAME=FILES")
    tags = {corpus.name: corpus.tag for corpus in corpora}
    if name not in tags:
        raise ValueError(
            "--valid-corpus must have the name of a --corpus, because it uses that corpus's tag. "
            f"Received: name={name!r}. Choose from {', '.join(tags)}."
        )
    return CorpusOption(name, files, tag=tags[name])


def check_tagged(path, pairs, corpora):
    """Check that each source in a validation file begins with a tag, if all corpora have tags."""
    if not corpora.corpora or not all(corpus.tag for corpus in corpora.corpora):
        return
    for number, (source, _) in enumerate(pairs, start=1):
        first = source.split(maxsplit=1)[:1]
        if first and first[0] not in corpora.tags:
            raise ValueError(
                "Each validation source must begin with the tag of a corpus. Received: "
                f"path={str(path)!r}, where line {number} begins with {first[0]!r:.40}. "
                "Add the tag, or give --valid-corpus."
            )


def read_corpora(texts, read, corpora=None):
    """Read (`Corpora`, symbols) from `--corpus` strings.

    If `corpora` is given, the strings are those of `--valid-corpus` instead, and each one names a
    corpus in `corpora`.
    """
    if corpora is None:
        options = [parsed_corpus(text) for text in texts]
    else:
        options = [parsed_valid_corpus(text, corpora.corpora) for text in texts]
    parts, symbols = [], {}
    for option in options:
        if len(option.files) == 1 and option.files[0].is_dir():
            from keras_bahdanau.data.shards.shards import Shards  # loads NumPy

            if option.tag is not None:
                load_tensorflow()  # to check that the vocabulary of the shards contains the tag
            parts.append(option.corpus(Shards(option.files[0])))
        else:
            data = read(*option.files)
            parts.append(option.corpus(data.pairs))
            symbols.update(dict.fromkeys(data.symbols))
    return Corpora(parts), [*symbols]


def hold_out(corpora, indices_of):
    """Split each corpus into training pairs and held-out pairs, with no source in both.

    All pairs with the same source, in any of the corpora, go to the same side. `indices_of` maps
    the pairs of a corpus to the set of indices chosen to be held out. A corpus holds out those of
    its chosen sources that no earlier corpus contains. If none of its sources is held out in this
    way, it holds out the first chosen one. Held-out pairs without a target are dropped. Sources are
    compared without tags.

    Returns:
        (training, validation), both `Corpora`.
    """
    require_text(corpora)
    numbers = iter(
        answers_by_source(pair for part in corpora.corpora for pair in part.pairs).numbers
    )
    rows = [list(itertools.islice(numbers, len(corpus.pairs))) for corpus in corpora.corpora]
    sources = _held_out_sources(corpora.corpora, rows, indices_of)
    training, validation = [], []
    for corpus, row in zip(corpora.corpora, rows, strict=True):
        pairs = list(zip(row, corpus.pairs, strict=True))
        trained = [pair for number, pair in pairs if number not in sources]
        valid = [pair for number, pair in pairs if number in sources and pair[1].strip()]
        if not trained:
            raise ValueError(
                "Each corpus needs a source that is not held out for validation. "
                f"Received: corpus {corpus.name!r} with {len(valid):,} pairs, all held out. "
                "Add pairs to it, or give validation pairs with --valid-corpus."
            )
        training.append(dataclasses.replace(corpus, pairs=trained))
        validation.append(dataclasses.replace(corpus, pairs=valid))
    return Corpora(training), Corpora(validation)


def _held_out_sources(corpora, rows, indices_of):
    before, held_out = set(), set()
    for corpus, row in zip(corpora, rows, strict=True):
        chosen = sorted(indices_of(corpus.pairs))
        held_out.update({row[i] for i in chosen} - before)
        if held_out.isdisjoint(row):
            held_out.add(row[chosen[0]])
        before.update(row)
    return held_out


def _parts(option, text, form):
    """Split an argument into [name, files, ...], where files is a tuple of one or two paths."""
    name, equals, value = text.partition("=")
    files, *settings = re.split(_COLON, value)
    paths = files.split(",")
    if not name.strip() or not equals or not all(paths) or len(paths) > 2:
        raise _form_error(option, text, form)
    return [name, tuple(map(Path, paths)), *settings]


def _weight(text, weight):
    try:
        value = float(weight)
    except ValueError:
        raise ValueError(
            f"The weight in --corpus must be a number. Received: weight={weight!r} in {text!r}. "
            "To weight the corpus by its size, leave the weight empty: NAME=FILES::TAG."
        ) from None
    check_value("weight", value, WEIGHT)
    return value


def _form_error(option, text, form):
    return ValueError(
        f"--{option} must be {form}, where FILES is one path, or two separated by a comma. "
        f"Received: {option.replace('-', '_')}={text!r}. "
        "Rename files that have a comma or a colon in their names."
    )
