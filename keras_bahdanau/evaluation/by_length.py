"""Score of a metric against the length of the source."""

from typing import NamedTuple


def band_starts(step):
    """The shortest length of each band: four narrow ones, three twice as wide, and the rest.

    Args:
        step: Positive integer, such as `Source.length_band`.

    Returns:
        Tuple of integers.

    Example:
        >>> band_starts(5)
        (1, 6, 11, 16, 21, 31, 41, 51)
    """
    return tuple(1 + step * count for count in (0, 1, 2, 3, 4, 6, 8, 10))


STARTS = band_starts(5)  # of texts, in words or symbols


class Band(NamedTuple):
    """The inputs of similar length.

    Attributes:
        label: String, such as "6-10": words of a text, symbols of one of characters, positions
            of other sources.
        sentences: Integer, number of inputs.
        score: Float, the score of their texts as a corpus.
    """

    label: str
    sentences: int
    score: float


def scores_by_length(lengths, hypotheses, references, metric, starts=STARTS):
    """Scores of the inputs of each length, shortest first; no band is empty.

    Args:
        lengths: List of integers, the length of each source: see `Source.sizes`.
        hypotheses: List of strings, as many; or of lists: see `CorpusMetric.corpus_score`.
        references: List of strings, as many; or of lists, likewise.
        metric: A `CorpusMetric`, of `metrics_of`.
        starts: Increasing integers, the shortest length of each band; inputs that are
            shorter than the first, such as empty ones, belong to none.

    Returns:
        List of `Band`.

    Example:
        >>> (bleu,) = metrics_of(["bleu"])
        >>> scores_by_length(lengths, hypotheses, references, bleu, starts=(1, 11))
        [Band(label='1-10', sentences=99, score=38.2), Band(label='11-', sentences=88, score=35.9)]
    """
    bands = []
    for start, next_start in zip(starts, [*starts[1:], None], strict=True):
        rows = [
            row
            for row, length in enumerate(lengths)
            if start <= length and (next_start is None or length < next_start)
        ]
        if rows:
            score = metric.corpus_score(
                [hypotheses[row] for row in rows], [references[row] for row in rows]
            )
            end = "" if next_start is None else next_start - 1
            bands.append(Band(f"{start}-{end}", len(rows), score))
    return bands
