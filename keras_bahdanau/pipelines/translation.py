"""The result of a pipeline, read from the arrays of a search."""

import dataclasses
import math

import numpy as np

from keras_bahdanau.search.penalties import LENGTH_PENALTIES


@dataclasses.dataclass(frozen=True)
class Translation:
    """One hypothesis for one input, such as one translation of one sentence.

    Attributes:
        text: The translation.
        score: log p over the length penalty, by default log p / length, plus
            the coverage penalty; natural logarithms.
        source_tokens: List of the labels of the source: for text its subwords, with the end
            token.
        target_tokens: List of target subwords, with the end token if finished.
        alignment: float32 array `(len(target_tokens), len(source_tokens))`; row i has
            the attention weights of target token i.
        finished: False if it was cut at the longest length.
        truncated: True if the source was longer than `max_source_length` of the search, or a
            given text than `max_length`: the rest was not read.
    """

    text: str
    score: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    finished: bool
    truncated: bool = False


def read_translations(result, texts, labels, truncated, target):
    """Lists of `Translation`, one list a row: all but the empty places behind a beam's last.

    A row of an empty source has one, which is empty.

    Args:
        result: `SearchResult` of arrays `(batch, beam, ...)`.
        texts: List of lists of strings, one list a row.
        labels: List of lists of strings, the labels of each row.
        truncated: Bool array `(batch,)`, which rows were cut.
        target: `Subwords` of the target text.
    """
    tokens = target.tokens(result.ids)  # -> (batch, beam, target_time)
    for row, source in enumerate(labels):
        hypotheses = []
        for rank in range(len(texts[row]) if source else 1):
            # scalars, but alignment (target_time, source_time), with padding
            _, length, score, alignment, finished = (field[row, rank] for field in result)
            if rank and not length:
                break
            hypotheses.append(
                Translation(
                    text=texts[row][rank],
                    score=float(score),
                    source_tokens=source,
                    target_tokens=tokens[row, rank, :length].tolist(),
                    alignment=alignment[:length, : len(source)],
                    finished=bool(finished),
                    truncated=bool(truncated[row]),
                )
            )
        yield hypotheses


def confidence_of(result, search):
    """Mean log-probability of a token, as a probability: exp(log p / |Y|).

    log p = (score - b sum_j log(min(sum_i alpha_ij, 1))) lp(Y)      (Wu et al. 2016, eq. 14)

    Args:
        result: `Translation`.
        search: `SearchOptions` that its score was made with.

    Returns:
        Float in [0, 1]; 1 for the empty text of an empty input.
    """
    length, score = len(result.target_tokens), result.score
    if not length:
        return 1.0
    if search.coverage_penalty:
        from keras_bahdanau.search.result import UNSEEN  # which loads Keras

        covered = np.clip(result.alignment.sum(axis=0, dtype=np.float64), UNSEEN, 1)
        score -= search.coverage_penalty * np.log(covered).sum()
    penalty = LENGTH_PENALTIES[search.length_penalty](length, search.length_normalization)
    return math.exp(min(0.0, score * penalty / length))
