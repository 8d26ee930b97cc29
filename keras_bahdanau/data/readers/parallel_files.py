"""Two parallel files: line i of one translates line i of the other, or links its words."""

import os

from keras_bahdanau.data.readers.lines import read_lines


def read_pairs(
    source: str | os.PathLike, target: str | os.PathLike | None = None
) -> list[tuple[str, str]]:
    """Read sentence pairs `(source, target)` from two parallel files or from one TSV file.

    Files are UTF-8, plain or (named `.gz`) compressed. Empty lines are kept, so that pair `i` is
    line `i + 1` of each file; an empty line of a TSV is an empty pair.

    Args:
        source: Path of the source sentences, one a line; or, without `target`, of a file with
            exactly two tab-separated columns, source and target (see `read_table` for others).
        target: Path of the target sentences, line by line the translations of `source`.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If a file is a directory, empty, not text in UTF-8, or a damaged `.gz`; if the
            two files have different numbers of lines; or if a line of a TSV lacks a column.

    Example:
        >>> pairs = read_pairs("train.en", "train.de.gz")
        >>> pairs = read_pairs("train.tsv")
    """
    if target is None:
        from keras_bahdanau.data.readers.table import PAIRS, read_table

        return read_table(source, PAIRS).pairs
    sources, targets = read_lines(source), read_lines(target)
    check_parallel(source=(source, len(sources)), target=(target, len(targets)))
    return list(zip(sources, targets, strict=True))


def check_parallel(**files):
    """Raise ValueError unless files, (path, number of lines) by name, have equally many lines."""
    if len({lines for _, lines in files.values()}) > 1:
        received = [
            f"{name}={os.fspath(path)!r} with {lines} {'line' if lines == 1 else 'lines'}"
            for name, (path, lines) in files.items()
        ]
        raise ValueError(
            "Parallel files must have as many lines as each other. "
            f"Received: {', '.join(received)}. "
            "Give two files in which line i of one translates line i of the other."
        )


def read_alignments(path: str | os.PathLike) -> tuple[list[frozenset], list[frozenset]]:
    """Read the links of sentence pairs from a file in Pharaoh form, such as `0-0 1-2 2?2` a line.

    The file is UTF-8, plain or (named `.gz`) compressed. An empty line means no links. Returns
    `(sure, possible)`, two lists of sets of links `(source, target)`, one for each line, for
    `BatchedPairs` and `alignment_error_rate`. Sure links are also possible links. Raises
    FileNotFoundError if there is no such file; ValueError, which names the line, for any other
    content.

    Example:
        >>> sure, possible = read_alignments("train.links.gz")
        >>> data = batches(pairs, source, target, alignments=sure)
    """
    from keras_bahdanau.text.alignments import parse_pharaoh  # which loads NumPy

    sure, possible = [], []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            links = parse_pharaoh(line)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)!r}, line {number}: {error}") from None
        sure.append(links[0])
        possible.append(links[1])
    return sure, possible
