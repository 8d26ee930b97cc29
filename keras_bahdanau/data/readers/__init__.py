"""Readers for parallel text. One function opens all file formats as a `TextCorpus`."""

import os
from pathlib import Path

BLOCK = 100_000  # number of pairs to decode at a time


def open_corpus(source, target=None, sides=None, columns=None, say=None):
    """Open a corpus in one or two files as a `TextCorpus`. The format depends on the file name.

    Args:
        source: Path of the source sentences, of a TSV, a `.jsonl` or a `.tmx` file (each plain or
            `.gz`), or of the directory of a dataset saved by `datasets`.
        target: Path of the target sentences; None for all other formats.
        sides: String of two names separated by a comma: keys of JSON lines or columns of a dataset,
            with dots for nested keys, or languages of a TMX file. None means "source,target" or,
            for a TMX file, its only two languages, where `srclang` is the source.
        columns: String, the names of the columns of a TSV in order: see `read_table`. For other
            formats, the same as `sides`.
        say: Function of one string that reports the languages of a TMX file, and possible problems
            in a TSV; None to report nothing.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the format can't be inferred from the file name, or if an option does not
            apply to the format.

    Example:
        >>> corpus = open_corpus("en-de.tmx.gz", sides="en,de")
        >>> for block in corpus.blocks(100_000):
        ...     sources, targets = corpus.texts(block)
    """
    from keras_bahdanau.data.readers import line_corpora, records, tmx  # which load NumPy

    name = Path(source).name.removesuffix(".gz")
    is_table = target is None and name.endswith((".tsv", ".txt"))
    has_sides = target is None and (has_records(source) or Path(source).is_dir())
    if has_sides and columns is not None:
        sides, columns = sides or columns, None
    names = None if sides is None else tuple(sides.split(","))
    if names and (len(names) != 2 or not all(names)):
        raise ValueError(
            "`sides` must be two names separated by a comma: source and target. "
            f"Received: sides={sides!r:.80}"
        )
    _check_option("columns", columns, is_table, "a TSV")
    _check_option("sides", sides, has_sides, "JSON lines, TMX or a dataset")
    if target is not None:
        return line_corpora.ParallelFiles(source, target)
    if is_table:
        return line_corpora.TableFile(source, columns, say)
    if has_sides and name.endswith(".tmx"):
        return tmx.TmxFile(source, names, say)
    if has_sides:
        return (records.JsonLines if has_records(source) else records.SavedDataset)(source, names)
    line_corpora.check_text_file(source)
    raise ValueError(
        "The name of a file of parallel text must end in .tsv, .txt, .jsonl or .tmx, with or "
        f"without .gz. Received: path={os.fspath(source)!r}. Rename it, or give the two sides as "
        "two files."
    )


def has_records(path):
    """Return True if a file's name is that of JSON lines or TMX."""
    return Path(path).name.removesuffix(".gz").endswith((".jsonl", ".tmx"))


def check_no_records(*paths):
    """Raise ValueError if a file of sentences has the name of a JSON lines or TMX file."""
    for path in filter(has_records, paths):
        raise ValueError(
            "A file of sentences must have one sentence per line. Received: "
            f"path={os.fspath(path)!r}, JSON lines or TMX by its name. Give only this file to "
            "`train` or `evaluate`, or convert it to sentences."
        )


def read_records(path, columns=None, say=None):
    """Read a file of JSON lines or TMX as a list of (source, target): see `open_corpus`."""
    corpus, pairs = open_corpus(path, columns=columns, say=say), []
    for block in corpus.blocks(BLOCK):
        pairs += zip(*corpus.texts(block), strict=True)
    return pairs


def _check_option(name, value, fits, kind):
    if value is not None and not fits:
        raise ValueError(
            f"`{name}` is only for {kind}. Received: {name}={value!r:.80}. Leave it out."
        )
