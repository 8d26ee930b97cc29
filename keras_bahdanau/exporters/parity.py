"""Agreement of an artefact with the `Pipeline` it was made from, and its cost."""

import dataclasses

TOLERANCE = 1e-4  # of all numbers: float32 in another order, through a network of fifty layers
LISTED = 0.9  # of hypotheses: two that are as good may change places at the end of a beam
_SHOWN = 200  # bytes of an input in an error


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parity:
    """Distance of an artefact's answers from those of Keras, and its cost.

    Attributes:
        artefact: Name, such as "SavedModel" or "LiteRT float32".
        sentences: Integer, number of sentences that it was given.
        refused: Integer, how many of them it refused, as too long for it.
        equal: Float, the share of the rest with the same text.
        unstable: Integer, how many got another text alone than in a batch, or than in another one.
        nbest: Float, the share of hypotheses that are among those of Keras, in lists of the best
            few and of those with a prefix; None if the artefact gives no lists.
        score: Float, the largest difference of a score, where the texts are equal.
        alignment: Float, the largest difference of a weight, where the texts are equal.
        tokens: Float, the largest difference of a token's log-probability or entropy, or of a
            confidence, likewise; None if the artefact gives none.
        megabytes: Float, size in millions of bytes, to two decimals; of Keras, that of its weights.
        milliseconds: Float, median time of one sentence at a time.
        bleu: Float, sacreBLEU's BLEU with the user's references; None without any, and if it is
            not one of the pipeline's own metrics.
        chrf: Float, sacreBLEU's chrF, likewise.
        quality: Dictionary, labels of the pipeline's other metrics, such as "WER", to scores,
            likewise.
        exact: True if this artefact must give the same texts, scores and alignments. One with
            weights or products in fewer bits need not.
        examples: Tuple of (source, expected, received), the first few that differ.
    """

    artefact: str
    sentences: int
    refused: int = 0
    equal: float = 1.0
    unstable: int = 0
    nbest: float | None = None
    score: float = 0.0
    alignment: float = 0.0
    tokens: float | None = None
    megabytes: float | None = None
    milliseconds: float | None = None
    bleu: float | None = None
    chrf: float | None = None
    quality: dict = dataclasses.field(default_factory=dict)
    exact: bool = True
    examples: tuple = ()

    @property
    def holds(self):
        """True if nothing differs that must not."""
        return not self.exact or (
            self.equal == 1
            and self.unstable == 0
            and (self.nbest is None or self.nbest >= LISTED)
            and self.score <= TOLERANCE
            and self.alignment <= TOLERANCE
            and (self.tokens or 0.0) <= TOLERANCE
        )

    def __str__(self):
        unstable = f", {self.unstable} that depend on their batch" if self.unstable else ""
        tokens = "" if self.tokens is None else f", tokens to {self.tokens:.1e}"
        listed = "" if self.nbest is None else f", {self.nbest:.2%} of all hypotheses"
        return (
            f"{self.artefact}: {self.equal:.2%} of {self.sentences - self.refused:,} texts equal"
            f"{unstable}{listed}, scores to {self.score:.1e}, alignments to {self.alignment:.1e}"
            f"{tokens}"
        )


def differences(sentences, expected, received):
    """The fields of a `Parity` that compare answers, as a dictionary.

    Args:
        sentences: List of inputs.
        expected: List of `Translation`, from Keras.
        received: List of lists of `Answer`: all answers to each sentence.
    """
    rows = list(zip(sentences, expected, received, strict=True))
    different = [
        (source, one, wrong) for source, one, answers in rows for wrong in _wrong(one, answers)
    ]
    alike = [(one, a) for _, one, answers in rows for a in answers if _equal(one, a)]
    equal = [not _wrong(one, answers) for _, one, answers in rows] or [True]
    return {
        "equal": sum(equal) / len(equal),
        "unstable": sum(len({answer.text for answer in answers}) > 1 for *_, answers in rows),
        "score": max((abs(one.score - other.score) for one, other in alike), default=0.0),
        "alignment": max((_distance(one, other) for one, other in alike), default=0.0),
        "tokens": _largest(alike),
        "examples": tuple(
            (_shown(s), _shown(one.text), _shown(wrong.text)) for s, one, wrong in different[:3]
        ),
    }


def list_differences(expected, received):
    """The fields of a `Parity` that compare lists of hypotheses, as a dictionary.

    Args:
        expected: List of lists of `Translation`, from Keras.
        received: List of lists of `Answer`, as many.
    """
    rows = list(zip(expected, received, strict=True))
    pairs = [pair for hypotheses, answers in rows for pair in _paired(hypotheses, answers)]
    count = sum(max(len(hypotheses), len(answers)) for hypotheses, answers in rows)
    return {
        "nbest": len(pairs) / count if count else 1.0,
        "score": max((abs(one.score - other.score) for one, other in pairs), default=0.0),
        "alignment": max((_distance(one, other) for one, other in pairs), default=0.0),
        "tokens": _largest(pairs),
    }


def _paired(hypotheses, answers):
    """Pairs of a hypothesis of Keras and the answer that is equal to it, each at most once.

    Of several with one text, split into other tokens, the one with the nearest score is taken.
    """
    left = dict(enumerate(hypotheses))
    for answer in answers:
        equal = [rank for rank, one in left.items() if _equal(one, answer)]
        if equal:
            nearest = min(equal, key=lambda rank: abs(left[rank].score - answer.score))
            yield left.pop(nearest), answer


def require(parity, allow_differences):
    """Raise ValueError if a comparison failed that must not.

    Args:
        parity: `Parity`.
        allow_differences: True if it may fail all the same.
    """
    if not parity.holds and not allow_differences:
        raise ValueError(
            f"An export must answer as Keras does. Received: {parity}; the first that differ "
            f"(source, Keras, {parity.artefact}): {list(parity.examples)}. Allow differences to "
            "write it all the same."
        )


_COLUMNS = {  # heading: (field, format)
    "size MB": ("megabytes", ".2f"),
    "equal": ("equal", ".2%"),
    "n-best": ("nbest", ".2%"),
    "refused": ("refused", ""),
    "score": ("score", ".1e"),
    "alignment": ("alignment", ".1e"),
    "tokens": ("tokens", ".1e"),
    "p50 ms": ("milliseconds", ".2f"),
    "BLEU": ("bleu", ".2f"),
    "chrF": ("chrf", ".2f"),
}
_AGAINST_KERAS = {"equal", "refused", "score", "alignment", "tokens"}
LEGEND = (
    "equal: the same texts as Keras; n-best: texts of lists that are in those of Keras, too; "
    "refused: inputs too long for the file; score, alignment, tokens: largest difference from "
    "Keras; edge cases are among the inputs"
)


def table(rows):
    """The rows as text, one under the other, headed by what their columns are, and a legend.

    Args:
        rows: List of `Parity`, that of Keras first.
    """
    headings = [
        name
        for name, (field, _) in _COLUMNS.items()
        if any(getattr(row, field) is not None for row in rows)
    ]
    headings.extend(rows[0].quality)
    lines = [["", *headings]]
    for row in rows:
        lines.append([row.artefact, *(_cell(row, name, row is rows[0]) for name in headings)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows_of_text = [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])])
        for first, *others in lines
    ]
    return "\n".join([*rows_of_text, LEGEND])


def _cell(row, name, of_keras):
    field, form = _COLUMNS.get(name, (None, ".2f"))
    value = row.quality.get(name) if field is None else getattr(row, field)
    return "" if value is None or of_keras and name in _AGAINST_KERAS else format(value, form)


def _wrong(one, answers):
    """The answers that differ from that of Keras."""
    return [answer for answer in answers if not _equal(one, answer)]


def _equal(one, answer):
    return one.text == answer.text and (
        answer.alignment is None or one.alignment.shape == answer.alignment.shape
    )


def _distance(one, answer):
    if answer.alignment is None:
        return 0.0
    return float(abs(one.alignment - answer.alignment).max(initial=0.0))


def _largest(pairs):
    """The largest difference of what tokens and texts are sure of; None if no answer says it."""
    import numpy as np  # which takes time

    names = "token_log_probs", "token_entropies", "confidence"
    found = [
        float(np.abs(np.subtract(getattr(one, name), getattr(answer, name))).max(initial=0.0))
        for one, answer in pairs
        for name in names
        if getattr(answer, name) is not None and getattr(one, name) is not None
    ]
    return max(found, default=None)


def _shown(one):
    """The beginning of an input, or of a text, as a string."""
    if isinstance(one, bytes):
        return one[:_SHOWN].decode("utf-8", "backslashreplace")
    return str(one)[:_SHOWN]
