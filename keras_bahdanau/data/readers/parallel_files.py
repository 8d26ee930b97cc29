"""Parallel files, where line i of one is the translation, or the word links, of line i."""

import os

from keras_bahdanau.data.readers.lines import read_lines


def read_pairs(
    source: str | os.PathLike, target: str | os.PathLike | None = None
) -> list[tuple[str, str]]:
    """Read sentence pairs `(source, target)` from two parallel files or from one TSV file.

    Files are UTF-8, plain or compressed (if named `.gz`). Empty lines are kept, so that pair `i` is
    line `i + 1` of each file. An empty line of a TSV is an empty pair.

    Args:
        source: Path of the source sentences, one per line; without `target`, path of a file with
            exactly two columns separated by tabs, source and target. For other columns, see
            `read_table`.
        target: Path of the target sentences, line by line the translations of the source
            sentences.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If a path is a directory, if a file is empty, not UTF-8 text, or a damaged
            `.gz`, if the two files have different numbers of lines, or if a line of a TSV does not
            have two columns.

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
    """Raise ValueError unless files have the same number of lines.

    `files` maps the name of each file to (path, number of lines).
    """
    if len({lines for _, lines in files.values()}) > 1:
        received = [
            f"{name}={os.fspath(path)!r} with {lines} {'line' if lines == 1 else 'lines'}"
            for name, (path, lines) in files.items()
        ]
        raise ValueError(
            "Parallel files must have the same number of lines. "
            f"Received: {', '.join(received)}. "
            "Give two files in which line i of one is the translation of line i of the other."
        )


def read_alignments(path: str | os.PathLike) -> tuple[list[frozenset], list[frozenset]]:
    """Read the links of sentence pairs from a file in Pharaoh format, such as `0-0 1-2 2?2`.

    The file is UTF-8, plain or compressed (if named `.gz`). An empty line means no links.

    Returns:
        `(sure, possible)`, two lists with a set of links `(source, target)` for each line, for
        `BatchedPairs` and `alignment_error_rate`. Sure links are also possible links.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the content is invalid. The message includes the line number.

    Example:
        >>> sure, possible = read_alignments("train.links.gz")
        >>> data = batches(pairs, source, target, alignments=sure)
    """
    from keras_bahdanau.text.alignments import parse_pharaoh  # loads NumPy

    sure, possible = [], []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            links = parse_pharaoh(line)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)!r}, line {number}: {error}") from None
        sure.append(links[0])
        possible.append(links[1])
    return sure, possible
