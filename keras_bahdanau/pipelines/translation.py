"""The result of a pipeline, created from the arrays of a search."""

import dataclasses
import math

import numpy as np

from keras_bahdanau.pipelines.confidence import Calibration, text_confidence, words_of
from keras_bahdanau.search.search_options import LENGTH_PENALTIES
from keras_bahdanau.settings.option import check_value, number


@dataclasses.dataclass(frozen=True)
class Translation:
    """One hypothesis for one input, such as one translation of one sentence.

    Attributes:
        text: The translation.
        score: log p divided by the length penalty, by default log p / length, plus the
            coverage penalty. Logarithms are natural.
        source_tokens: List of the labels of the source; for text, its subwords, including the end
            token.
        target_tokens: List of target subwords, including the end token if finished.
        alignment: Float32 array `(len(target_tokens), len(source_tokens))`; row i contains
            the attention weights of target token i.
        finished: False if the translation was cut at the maximum length.
        truncated: True if the source was cut at `max_source_length` of the search, or a
            given text at `max_length`.
        token_log_probs: Float32 array `(len(target_tokens),)`, log p(y_i | y_1 ... y_{i-1}, x) in
            nats, with CTC mixed in as in the search. Like `token_entropies` and `confidence`, it is
            None for the result of an old export.
        token_entropies: Float32 array `(len(target_tokens),)`, entropy in nats of the distribution
            from which each token was chosen; 0 for a given token. For an ensemble, the distribution
            is the mean over its members. For a draw, it is the distribution before `temperature`,
            `top_k` and `top_p` are applied.
        confidence: Float in [0, 1]. For a calibrated model (see
            `keras_bahdanau.evaluation.calibrate`), the probability that the text is correct;
            otherwise the geometric mean of the probabilities of its tokens. The empty text of an
            empty input has confidence 1.
        calibration: `Calibration` of the model, used for the confidences of `words`, or None.
        rejected: True if `reject_below` emptied the text.
        rejected_text: String, the text before it was emptied, used by `words`.

    Example:
        >>> [(word.word, round(word.confidence, 2)) for word in result.words]
        [('ein', 0.98), ('Mann', 0.61)]
    """

    text: str
    score: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    finished: bool
    truncated: bool = False
    token_log_probs: np.ndarray | None = None
    token_entropies: np.ndarray | None = None
    confidence: float | None = None
    calibration: Calibration | None = dataclasses.field(default=None, repr=False)
    rejected: bool = False
    rejected_text: str = dataclasses.field(default="", repr=False)

    @property
    def words(self):
        """List of `Word`, with log-probabilities and confidences; empty if these are unknown."""
        if self.token_log_probs is None:
            return []
        text = self.rejected_text if self.rejected else self.text
        parts = self.token_log_probs, self.token_entropies, self.calibration
        return words_of(self.target_tokens, text, *parts)

    def reject_below(self, confidence):
        """Return this result, but without its text if its confidence is below `confidence`.

        A result whose text was emptied has `rejected` set. Raises ValueError if `confidence` is not
        from 0 to 1, or if the result, such as one from an old export, has no confidence.

        Example:
            >>> texts = [one.reject_below(0.5).text for one in translator.translate(sentences)]
        """
        check_value("confidence", confidence, number(0, 1))
        if self.confidence is None:
            raise ValueError(
                "A text without a confidence can't be rejected. "
                "Received: confidence=None, from an export by an older version. Export it again."
            )
        if self.confidence >= confidence or self.rejected:
            return self
        return dataclasses.replace(self, text="", rejected=True, rejected_text=self.text)


def read_translations(result, texts, labels, truncated, target, calibration=None):
    """Yield a list of `Translation` for each row of arrays `(batch, beam, ...)`."""
    tokens = target.tokens(result.ids)  # -> (batch, beam, target_time)
    for row, source in enumerate(labels):
        hypotheses = []
        for rank in range(len(texts[row]) if source else 1):
            # scalars, or (target_time, [source_time]) with padding
            hypothesis = result._make(field[row, rank] for field in result)
            length = hypothesis.lengths
            if rank and not length:
                break
            # copies, since views would keep the arrays of the whole batch and beam in memory
            alignment = hypothesis.alignment[:length, : len(source)].copy()
            log_probs = hypothesis.token_log_probs[:length].copy()
            entropies = hypothesis.token_entropies[:length].copy()
            hypotheses.append(
                Translation(
                    text=texts[row][rank],
                    score=float(hypothesis.scores),
                    source_tokens=source,
                    target_tokens=tokens[row, rank, :length].tolist(),
                    alignment=alignment,
                    finished=bool(hypothesis.finished),
                    truncated=bool(truncated[row]),
                    token_log_probs=log_probs,
                    token_entropies=entropies,
                    confidence=text_confidence(log_probs, entropies, alignment, calibration),
                    calibration=calibration,
                )
            )
        yield hypotheses


def confidence_of(result, search):
    """Return the confidence of a result in [0, 1].

    For the result of an export without confidences, it is exp(log p / |Y|), where

    log p = (score - b sum_j log(min(sum_i alpha_ij, 1))) lp(Y)      (Wu et al. 2016, eq. 14)

    `search` is the `SearchOptions` with which the score was computed.
    """
    if result.confidence is not None:
        return result.confidence
    length, score = len(result.target_tokens), result.score
    if not length:
        return 1.0
    if search.coverage_penalty:
        from keras_bahdanau.search.result import UNSEEN  # loads Keras

        covered = np.clip(result.alignment.sum(axis=0, dtype=np.float64), UNSEEN, 1)
        score -= search.coverage_penalty * np.log(covered).sum()
    penalty = LENGTH_PENALTIES[search.length_penalty](length, search.length_normalization)
    return math.exp(min(0.0, score * penalty / length))
