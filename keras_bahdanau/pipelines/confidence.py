"""Confidence: the probability that a text, or a word in it, is correct. Uses only NumPy.

Without calibration, it is the geometric mean of the tokens' probabilities. With calibration, it is
a logistic regression on values of the search (Platt 1999), which `evaluation.calibrate` fits.
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
LARGEST = 1e6  # largest coefficient; float32 is precise enough for it


class Word(NamedTuple):
    """One word of a text.

    Attributes:
        word: String, the word as it is spelled in the text (see `words_of_text`).
        first: Integer, index of its first token in `target_tokens`.
        last: Integer, index of its last token.
        log_prob: Float, log p of its tokens, in nats.
        confidence: Float in [0, 1], the probability that the word is correct.
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
        metric: String, the metric that decides whether a text is correct: "chrf" or "exact".
        threshold: Float, the lowest score, in percent, of a correct text.

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
                    f"`{kind}` must contain the coefficients bias, {', '.join(names)}. "
                    f"Received: {kind}={coefficients!r:.200}. Calibrate the model again."
                )
        numbers = [*self.text.values(), *self.word.values(), self.threshold]
        if not all(type(number) in (int, float) and abs(number) <= LARGEST for number in numbers):
            raise ValueError(
                "The numbers in a calibration must be from -1e6 to 1e6. "
                f"Received: {numbers!r:.200}. Calibrate the model again."
            )

    def rate_text(self, features):
        """Return the confidence of a text from its `text_features`, as a float."""
        return _logistic(self.text, TEXT_FEATURES, features)

    def rate_word(self, features):
        """Return the confidence of a word from its row of `word_features`, as a float."""
        return _logistic(self.word, WORD_FEATURES, features)


def calibration_of(card):
    """Return the `Calibration` in a model's card, or None. Raises ValueError if it is invalid."""
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
    """Return the confidence of a text, a float in [0, 1]; 1 for the empty text of an empty input.

    `log_probs` and `entropies` are `(target_time,)`, in nats, and `alignment` is
    `(target_time, source_time)`.
    """
    if not len(log_probs):
        return 1.0
    if calibration is None:
        return _probability(np.mean(log_probs, dtype=np.float64))
    return calibration.rate_text(text_features(log_probs, entropies, alignment))


def text_features(log_probs, entropies, alignment):
    """Return the `TEXT_FEATURES` of a text with at least one token, as a float64 array.

    Coverage is the fraction of the source that is attended to, mean_j min(sum_i alpha_ij, 1), or 0
    if there is no source position.
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
    """Return (word, first, last token) tuples without the end; unknown tokens count as words."""
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
    """Return the `WORD_FEATURES` of each word of a text, as a float64 array `(words, features)`."""
    log_probs, entropies = np.asarray(log_probs, float), np.asarray(entropies, float)
    rows = []
    for _, first, last in spans:
        word, doubt = (part[first : last + 1] for part in (log_probs, entropies))
        rows.append(
            [word.mean(), word.min(), word.sum(), doubt.mean(), doubt.max(), log_probs.mean()]
        )
    return np.array(rows).reshape(-1, len(WORD_FEATURES))


def words_of_text(spans, text):
    """Return the words of spans as they are spelled in the text.

    If the numbers of spans and words differ, because an unknown token was replaced with several
    words, the words of the tokens are returned, and the unknown one stays `<unk>`.
    """
    words = _words(text)
    if len(words) == len(spans):
        return words
    return [word if word in text else unicodedata.normalize("NFC", word) for word, *_ in spans]


def _words(text):
    return [word for word in text.split(" ") if word]


def words_of(tokens, text, log_probs, entropies, calibration=None):
    """Return the words of a text as a list of `Word`.

    See `text_confidence` and `words_of_text` for the arguments.
    """
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
    """Compute 1 / (1 + exp(-z)) without overflow, where z is linear in the features."""
    z = coefficients["bias"] + sum(
        coefficients[name] * value for name, value in zip(names, features, strict=True)
    )
    return 0.5 + 0.5 * math.tanh(z / 2)


def _probability(log_prob):
    """Return exp(log_prob), but at most 1, since mixing in CTC may make `log_prob` positive."""
    return math.exp(min(0.0, log_prob))
