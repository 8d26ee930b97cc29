"""Confidence: the probability that a text, or a word of it, is right. NumPy only.

Without calibration it is the geometric mean of the tokens' probabilities; with calibration, a
logistic regression on values of the search (Platt 1999), fitted by `evaluation.calibrate`.
"""

import dataclasses
import math
import unicodedata
from typing import NamedTuple

import numpy as np

from keras_bahdanau.text.alignments import END, UNKNOWN, join_subwords
from keras_bahdanau.text.vocabulary import NO_WORD

TEXT_FEATURES = (
    *("mean_log_prob", "least_log_prob", "log_prob", "mean_entropy"),
    *("log_length_ratio", "coverage"),
)
WORD_FEATURES = (
    *("mean_log_prob", "least_log_prob", "log_prob", "mean_entropy", "most_entropy"),
    "text_log_prob",
)
LARGEST = 1e6  # largest coefficient, within the precision of float32


class Word(NamedTuple):
    """One word of a text.

    Attributes:
        word: String, as spelled in the text: see `words_of_text`.
        first: Integer, the index of its first token in `target_tokens`.
        last: Integer, the index of its last token.
        log_prob: Float, log p of its tokens, in nats.
        confidence: Float in [0, 1], the probability that it is right.
    """

    word: str
    first: int
    last: int
    log_prob: float
    confidence: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Coefficients of two logistic regressions, one for texts and one for words.

    confidence = 1 / (1 + exp(-(bias + sum_k weight_k feature_k)))

    Attributes:
        text: Dictionary from "bias" and each of `TEXT_FEATURES` to a float.
        word: Dictionary from "bias" and each of `WORD_FEATURES` to a float.
        metric: String, the metric that decides whether a text is right: "chrf" or "exact".
        threshold: Float, the least score, in percent, of a right text.

    Raises:
        ValueError: If a coefficient is missing, unknown, or not a number in [-1e6, 1e6].
    """

    text: dict
    word: dict
    metric: str = "chrf"
    threshold: float = 40.0

    def __post_init__(self):
        for kind, names in (("text", TEXT_FEATURES), ("word", WORD_FEATURES)):
            coefficients = getattr(self, kind)
            if not isinstance(coefficients, dict) or {*coefficients} != {"bias", *names}:
                raise ValueError(
                    f"`{kind}` must have the coefficients bias, {', '.join(names)}. "
                    f"Received: {kind}={coefficients!r:.200}. Calibrate the model again."
                )
        numbers = [*self.text.values(), *self.word.values(), self.threshold]
        if not all(type(number) in (int, float) and abs(number) <= LARGEST for number in numbers):
            raise ValueError(
                "The numbers of a calibration must be at most 1e6 in size. "
                f"Received: {numbers!r:.200}. Calibrate the model again."
            )

    def rate_text(self, features):
        """Float, the confidence of a text with these `text_features`."""
        return _logistic(self.text, TEXT_FEATURES, features)

    def rate_word(self, features):
        """Float, the confidence of a word with these features, a row of `word_features`."""
        return _logistic(self.word, WORD_FEATURES, features)


def calibration_of(card):
    """The `Calibration` in the card of a model, or None."""
    fields = card.get("calibration")
    if fields is None:
        return None
    names = {field.name for field in dataclasses.fields(Calibration)}
    if not isinstance(fields, dict) or {*fields} != names:
        raise ValueError(
            f"A calibration must have the fields {', '.join(sorted(names))}. "
            f"Received: calibration={fields!r:.200}. Calibrate the model again."
        )
    return Calibration(**fields)


def text_confidence(log_probs, entropies, alignment, calibration=None):
    """Confidence of a text, a float in [0, 1]; 1 for the empty text of an empty input.

    `log_probs` (nats), `entropies` `(target_time,)`; `alignment` `(target_time, source_time)`.
    """
    if not len(log_probs):
        return 1.0
    if calibration is None:
        return _probability(np.mean(log_probs, dtype=np.float64))
    return calibration.rate_text(text_features(log_probs, entropies, alignment))


def text_features(log_probs, entropies, alignment):
    """Float64 array of the `TEXT_FEATURES` of a text with at least one token.

    Coverage is the attended share of the source, mean_j min(sum_i alpha_ij, 1), 0 if there is none.
    """
    log_probs, entropies = np.asarray(log_probs, float), np.asarray(entropies, float)
    target_time, source_time = np.shape(alignment)
    covered = np.minimum(np.sum(alignment, axis=0, dtype=np.float64), 1)
    positions = max(source_time, 1)
    return np.array(
        [
            *(log_probs.mean(), log_probs.min(), log_probs.sum(), entropies.mean()),
            *(math.log(target_time / positions), covered.sum() / positions),
        ]
    )


def word_spans_of(tokens, text):
    """List of (word, first token, last token), without the end; unknown tokens count as words."""
    inside = _spans([NO_WORD if token == UNKNOWN else token for token in tokens])
    return inside if len(inside) == len(_words(text)) else _spans(tokens)


def _spans(tokens):
    words, groups = join_subwords(tokens)
    return [
        (word, group[0], group[-1])
        for word, group in zip(words, groups, strict=True)
        if word not in ("", END)
    ]


def word_features(spans, log_probs, entropies):
    """Float64 array `(words, features)` of the `WORD_FEATURES` of each word of a text."""
    log_probs, entropies = np.asarray(log_probs, float), np.asarray(entropies, float)
    rows = []
    for _, first, last in spans:
        word, doubt = (part[first : last + 1] for part in (log_probs, entropies))
        rows.append(
            [word.mean(), word.min(), word.sum(), doubt.mean(), doubt.max(), log_probs.mean()]
        )
    return np.array(rows).reshape(-1, len(WORD_FEATURES))


def words_of_text(spans, text):
    """The words of spans, spelled as in the text; a copy of several words stays `<unk>`."""
    words = _words(text)
    if len(words) == len(spans):
        return words
    return [word if word in text else unicodedata.normalize("NFC", word) for word, *_ in spans]


def _words(text):
    return [word for word in text.split(" ") if word]


def words_of(tokens, text, log_probs, entropies, calibration=None):
    """List of the `Word` of a text; arguments as in `text_confidence` and `words_of_text`."""
    spans = word_spans_of(tokens, text)
    words = []
    features = word_features(spans, log_probs, entropies)
    for (_, first, last), word, row in zip(
        spans, words_of_text(spans, text), features, strict=True
    ):
        mean, total = row[0], row[2]
        confidence = _probability(mean) if calibration is None else calibration.rate_word(row)
        words.append(Word(word, first, last, float(total), confidence))
    return words


def _logistic(coefficients, names, features):
    """1 / (1 + exp(-z)), computed without overflow."""
    z = coefficients["bias"] + sum(
        coefficients[name] * value for name, value in zip(names, features, strict=True)
    )
    return 0.5 + 0.5 * math.tanh(z / 2)


def _probability(log_prob):
    """Exp of a log-probability, at most 1: a share of CTC may make the logarithm positive."""
    return math.exp(min(0.0, log_prob))
