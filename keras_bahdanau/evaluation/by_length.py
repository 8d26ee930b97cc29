"""Score of a metric against the length of the source."""

from typing import NamedTuple

STARTS = (1, 6, 11, 16, 21, 31, 41, 51)  # words of the shortest sentences of each band


class Band(NamedTuple):
    """The sentences of similar length.

    Attributes:
        label: String, such as "6-10": words of a source text.
        sentences: Integer, how many there are.
        score: Float, the score of these sentences as a corpus.
    """

    label: str
    sentences: int
    score: float


def scores_by_length(lengths, hypotheses, references, metric, starts=STARTS):
    """Scores of the sentences of each length, shortest first; no band is empty.

    Args:
        lengths: List of integers, the length of each source: see `Source.sizes`.
        hypotheses: List of strings, as many.
        references: List of strings, as many.
        metric: A `CorpusMetric`, of `metrics_of`.
        starts: Increasing integers, the shortest length of each band; sentences that are
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
