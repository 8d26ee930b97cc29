"""Readers of parallel text: each form of files is a `TextCorpus` behind one function."""

import os
from pathlib import Path


def open_corpus(source, target=None, sides=None, columns=None, say=None):
    """Open the corpus in one or two files, whose names tell their form, as a `TextCorpus`.

    Args:
        source: Path of the source sentences, a TSV, a `.jsonl`, a `.tmx` (each plain or `.gz`), or
            the directory of a dataset that `datasets` saved.
        target: Path of the target sentences; None for another form.
        sides: String, two names with a comma between: keys of JSON lines or columns of a dataset,
            with dots between nested ones; languages of TMX. None for "source,target", the only two
            languages of a TMX.
        columns: String, the columns of a TSV in their order: see `read_table`.
        say: Function of one string that reports a header of a TSV; None for none.

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
    names = None if sides is None else tuple(sides.split(","))
    if names and (len(names) != 2 or not all(names)):
        raise ValueError(
            "`sides` must be two names with a comma between, source and target. "
            f"Received: sides={sides!r:.80}"
        )
    is_table = target is None and name.endswith((".tsv", ".txt"))
    has_sides = target is None and (name.endswith((".jsonl", ".tmx")) or Path(source).is_dir())
    _check_option("columns", columns, is_table, "a TSV")
    _check_option("sides", sides, has_sides, "JSON lines, TMX or a dataset")
    if target is not None:
        return line_corpora.ParallelFiles(source, target)
    if is_table:
        return line_corpora.TableFile(source, columns, say)
    if has_sides:
        forms = {".jsonl": records.JsonLines, ".tmx": tmx.TmxFile}
        return forms.get(Path(name).suffix, records.SavedDataset)(source, names)
    raise ValueError(
        "Parallel text in one file must be named .tsv, .txt, .jsonl or .tmx, or these with .gz. "
        f"Received: path={os.fspath(source)!r}. Rename it, or give the two sides as two files."
    )


def _check_option(name, value, fits, kind):
    if value is not None and not fits:
        raise ValueError(
            f"`{name}` is for {kind}, in one file. Received: {name}={value!r:.80}. Leave it out."
        )
