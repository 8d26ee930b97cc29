"""Readers of parallel text: each form of files is a `TextCorpus` behind one function."""

import os
from pathlib import Path

BLOCK = 100_000  # pairs that are decoded together


def open_corpus(source, target=None, sides=None, columns=None, say=None):
    """Open the corpus in one or two files, whose names tell their form, as a `TextCorpus`.

    Args:
        source: Path of the source sentences, a TSV, a `.jsonl`, a `.tmx` (each plain or `.gz`), or
            the directory of a dataset that `datasets` saved.
        target: Path of the target sentences; None for another form.
        sides: String, two names separated by a comma: keys of JSON lines or columns of a dataset,
            with dots for nested keys; languages of TMX. None for "source,target", the only two
            languages of a TMX, of which `srclang` is the source.
        columns: String, the columns of a TSV in their order, see `read_table`; of another form the
            same as `sides`.
        say: Function of one string that reports the languages of a TMX, and what may be read wrong
            in a TSV; None for none.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a name has no known form, or an option does not go with it.

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
            "`sides` must be two names separated by a comma, source and target. "
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
        "Parallel text in one file must be named .tsv, .txt, .jsonl or .tmx, or these with .gz. "
        f"Received: path={os.fspath(source)!r}. Rename it, or give the two sides as two files."
    )


def has_records(path):
    """True for the name of a file of JSON lines or TMX."""
    return Path(path).name.removesuffix(".gz").endswith((".jsonl", ".tmx"))


def check_no_records(*paths):
    """Raise ValueError if a file of sentences is named as one of JSON lines or TMX."""
    for path in filter(has_records, paths):
        raise ValueError(
            f"A file of sentences has one in each line. Received: path={os.fspath(path)!r}, JSON "
            "lines or TMX by its name. Give it alone to `train` or `evaluate`, or write sentences."
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
            f"`{name}` is for {kind}, in one file. Received: {name}={value!r:.80}. Leave it out."
        )
