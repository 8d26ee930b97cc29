"""Agreement of an artefact with the `Pipeline` that it was exported from, and its cost."""

import dataclasses
from typing import NamedTuple

TOLERANCE = 1e-4  # for all figures: smaller differences are invisible and not examined
LISTED = 0.9  # fraction of hypotheses: the last ones in a beam depend on pruned ones
_FIGURES = {
    "score": "the score",
    "alignment": "the alignment",
    "tokens": "a probability or entropy of the tokens",
}
_SHOWN = 200  # number of characters of an input to show in an error
_MOST_SHOWN = 3  # number of misses to show in an error


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parity:
    """Differences between the answers of an artefact and of Keras, and the cost of the artefact."""

    artefact: str  # such as "SavedModel" or "LiteRT float32"
    sentences: int
    refused: int = 0  # number of sentences that are too long for the artefact
    equal: float = 1.0  # fraction of the other sentences with the same text
    ties: int = 0  # texts that differ, but have an equal score or follow from a `rounding`
    unstable: int = 0  # texts that depend on the batch
    nbest: float | None = None  # fraction of hypotheses in lists that Keras also lists
    score: float = 0.0  # largest difference in score where the texts are equal
    alignment: float = 0.0  # largest difference in an attention weight
    tokens: float | None = None  # the same for log p, entropy and confidence
    megabytes: float | None = None  # size in 10^6 bytes; for Keras, the size of its weights
    milliseconds: float | None = None  # median time for one sentence at a time
    bleu: float | None = None  # None if it is not among the pipeline's metrics
    chrf: float | None = None
    quality: dict = dataclasses.field(default_factory=dict)  # other metrics: label -> score
    exact: bool = True  # True if the texts must be the same; False if quantized
    misses: tuple = ()  # strings: inputs, and differences that rounding does not explain

    @property
    def holds(self):
        """True if all differences are permitted."""
        return not self.exact or not self.misses

    def __str__(self):
        ties = f", {self.ties} of the rest equally good" if self.ties else ""
        unstable = f", {self.unstable} that depend on their batch" if self.unstable else ""
        tokens = "" if self.tokens is None else f", tokens within {self.tokens:.1e}"
        listed = "" if self.nbest is None else f", {self.nbest:.2%} of all hypotheses"
        return (
            f"{self.artefact}: {self.equal:.2%} of {self.sentences - self.refused:,} texts equal"
            f"{ties}{unstable}{listed}, scores within {self.score:.1e}, alignments within "
            f"{self.alignment:.1e}{tokens}"
        )


class Case(NamedTuple):
    """Answers to one request from Keras, an artefact, and Keras with rounded weights."""

    source: object  # the input
    expected: list  # of `Translation` from Keras: only the best one, or all, best first
    received: list  # of `Answer`: the best text from several batches, or one list of hypotheses
    prefix: str | None = None  # the beginning of each text in a list; None for best texts
    rounded: tuple = ()  # lists like `expected`, one per rounding; empty until they are added

    def compared(self):
        """Match answers with equal hypotheses of Keras.

        Returns (pairs, others): pairs of a hypothesis and its answer, and the unmatched answers.
        """
        if self.prefix is not None:
            return _paired(self.expected, self.received)
        (best,) = self.expected
        pairs = [(best, answer) for answer in self.received if _equal(best, answer)]
        return pairs, [answer for answer in self.received if not _equal(best, answer)]

    def bounds(self):
        """Return a dictionary from each figure to its largest allowed difference."""
        largest = dict.fromkeys(_FIGURES, TOLERANCE)
        for hypotheses in self.rounded:
            moved = figures(_paired(self.expected, hypotheses)[0])
            largest = {name: max(largest[name], moved[name] or 0.0) for name in largest}
        return largest

    def is_suspect(self):
        """True if something differs by more than the tolerance, which rounding must explain."""
        pairs, different = self.compared()
        return bool(different) or any(
            (value or 0.0) > TOLERANCE for value in figures(pairs).values()
        )

    def is_steady(self):
        """True if Keras' texts hardly depend on the rounding."""
        if self.prefix is None:
            return len({hypotheses[0].text for hypotheses in self.rounded}) <= 2
        least = LISTED * len(self.expected)
        return all(len(_paired(self.expected, texts)[0]) >= least for texts in self.rounded)

    def is_tie(self, answer):
        """True if another rounding or an equal score explains an answer's text.

        Also true if Keras' own texts vary too much with the rounding.
        """
        if not self.is_steady():
            return True
        bound = self.bounds()["score"]
        nearly = [hypotheses[0].score - bound for hypotheses in self.rounded]
        return any(
            _equal(hypothesis, answer) and (rank == 0 or hypothesis.score >= least)
            for hypotheses, least in zip(self.rounded, nearly, strict=True)
            for rank, hypothesis in enumerate(hypotheses)
        )

    def misses(self):
        """Yield a message about each figure and text that rounding does not explain."""
        pairs, different = self.compared()
        bounds = self.bounds()
        for name, value in figures(pairs).items():
            if (value or 0.0) > bounds[name]:
                yield (
                    f"for {_shorten(self.source)!r} {_FIGURES[name]} is off by {value:.1e}, but "
                    f"rounding explains only {bounds[name]:.1e}"
                )
        for answer in different if self.prefix is None else ():
            if not self.is_tie(answer):
                yield (
                    f"for {_shorten(self.source)!r} the text is {_shorten(answer.text)!r}, but "
                    f"Keras gives {_shorten(self.expected[0].text)!r}"
                )
                return


def summary(cases):
    """Return the `Parity` fields that compare best texts, as a dictionary."""
    compared = [case.compared() for case in cases]
    pairs = [pair for pairs, _ in compared for pair in pairs]
    equal = [not different for _, different in compared] or [True]
    return {
        "equal": sum(equal) / len(equal),
        "ties": sum(
            bool(different) and all(map(case.is_tie, different))
            for case, (_, different) in zip(cases, compared, strict=True)
        ),
        "unstable": sum(len({answer.text for answer in case.received}) > 1 for case in cases),
        **_floats(figures(pairs)),
    }


def list_summary(cases):
    """Return the `Parity` fields that compare lists of hypotheses, as a dictionary."""
    compared = [case.compared()[0] for case in cases]
    count = sum(max(len(case.expected), len(case.received)) for case in cases)
    pairs = [pair for pairs in compared for pair in pairs]
    return {"nbest": len(pairs) / count if count else 1.0, **_floats(figures(pairs))}


def figures(pairs):
    """Return the largest differences in score, alignment and tokens; None if no pair has them."""
    import numpy as np  # slow to import

    names = "token_log_probs", "token_entropies", "confidence"
    tokens = [
        float(np.abs(np.subtract(getattr(expected, name), getattr(answer, name))).max(initial=0.0))
        for expected, answer in pairs
        for name in names
        if getattr(answer, name) is not None and getattr(expected, name) is not None
    ]
    alignments = [
        float(abs(expected.alignment - answer.alignment).max(initial=0.0))
        for expected, answer in pairs
        if answer.alignment is not None
    ]
    return {
        "score": max((abs(expected.score - answer.score) for expected, answer in pairs), default=0),
        "alignment": max(alignments, default=None),
        "tokens": max(tokens, default=None),
    }


def _floats(values):
    return {**values, "score": float(values["score"]), "alignment": values["alignment"] or 0.0}


def _paired(hypotheses, answers):
    """Pair each answer with the equal hypothesis of the nearest score.

    Returns (pairs, others): the pairs (hypothesis, answer), and the unmatched answers.
    """
    unused, pairs, different = dict(enumerate(hypotheses)), [], []
    for answer in answers:
        equal = [rank for rank, hypothesis in unused.items() if _equal(hypothesis, answer)]
        if equal:
            nearest = min(equal, key=lambda rank: abs(unused[rank].score - answer.score))
            pairs.append((unused.pop(nearest), answer))
        else:
            different.append(answer)
    return pairs, different


def require(parity, allow_differences):
    """Raise ValueError if a required comparison failed, unless `allow_differences` is True."""
    if not parity.holds and not allow_differences:
        more = len(parity.misses) - _MOST_SHOWN
        misses = "; ".join(parity.misses[:_MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise ValueError(
            f"An export must answer as Keras does. Received: {parity}: {misses}. Rounding does not "
            "explain this: please report it. To write the export anyway, allow differences."
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
    "equal: the same text as Keras; n-best: listed hypotheses that Keras lists, too; "
    "refused: inputs too long for the file; score, alignment, tokens: largest difference from "
    "Keras. The inputs include edge cases."
)


def table(rows):
    """Format a list of `Parity`, with Keras first, as a text table with a heading and a legend."""
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
        "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])])
        for name, *cells in lines
    ]
    return "\n".join([*rows_of_text, LEGEND])


def _cell(row, name, is_keras):
    field, form = _COLUMNS.get(name, (None, ".2f"))
    value = row.quality.get(name) if field is None else getattr(row, field)
    return "" if value is None or is_keras and name in _AGAINST_KERAS else format(value, form)


def _equal(expected, answer):
    return expected.text == answer.text and (
        answer.alignment is None or expected.alignment.shape == answer.alignment.shape
    )


def _shorten(value):
    """Return the beginning of an input or of a text, as a string."""
    if isinstance(value, bytes):
        return value[:_SHOWN].decode("utf-8", "backslashreplace")
    return " ".join(str(value)[:_SHOWN].split())
