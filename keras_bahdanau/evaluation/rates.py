"""Error rates and fractions of correct texts, as sacreBLEU metrics."""

import itertools

import rapidfuzz
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics import BLEU, CHRF, TER  # noqa: F401, used by the entries of `METRICS`
from sacrebleu.metrics.base import Metric, Score


class Rate(Metric):
    """Metric that divides the sum of one count by the sum of another, in percent.

    sacreBLEU's paired bootstrap resamples the counts of the sentences. White space around a text is
    ignored. Characters are code points. If there are several references, the one with the fewest
    errors (then the longest), or with the most hits, counts.

    Args:
        label: String, the name in tables.
        counts: Function from a hypothesis and its reference to two integers: the number of errors
            (or hits), and its maximum.
        unit: String, the name of the counted unit in the signature.
        lowercase: Bool. True to ignore case.
        hits: Bool. True if `counts` returns hits instead of errors.
        nbest: Positive integer, number of texts per hypothesis, of which only the best one counts.
        counts_texts: Bool. True if each text is either correct or wrong. Systems are then compared
            by a sign test.
    """

    by_source = True
    separator = "\0"  # joins the texts of an n-best list into one string for sacreBLEU

    def __init__(
        self, label, counts, unit, lowercase=False, *, hits=False, nbest=1, counts_texts=False
    ):
        super().__init__()
        self.label = label
        self.counts = counts
        self.unit = unit
        self.lowercase = lowercase
        self.hits = hits
        self.nbest = nbest
        self.counts_texts = counts_texts

    def get_signature(self):
        signature = super().get_signature()
        signature.update("case", "lc" if self.lowercase else "mixed")
        signature.update("unit", self.unit)
        version = None if self.counts_texts else f"rapidfuzz-{rapidfuzz.__version__}"
        signature.update("version", version)
        return signature

    def _preprocess_segment(self, sent):
        texts = (text.strip() for text in sent.split(self.separator))
        return self.separator.join(text.lower() if self.lowercase else text for text in texts)

    def _extract_reference_info(self, refs):
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        texts = hypothesis.split(self.separator)
        pairs = itertools.product(texts, ref_kwargs["references"])
        counts = [self.counts(text, reference) for text, reference in pairs]
        if self.hits:
            return max(counts)
        return min(counts, key=lambda pair: (pair[0], -pair[1]))

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats([sum(counts) for counts in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats):
        errors, length = (float(count) for count in stats)
        # as in TER: an empty reference is 0% wrong if the hypothesis is empty, otherwise 100%
        share = errors / length if length else float(errors > 0)
        return Score(self.label, 100 * share)


def edits(hypothesis, reference):
    """Return (number of edits, length of the reference) for two sequences."""
    return Levenshtein.distance(hypothesis, reference), len(reference)


def word_edits(hypothesis, reference):
    """Return `edits` for the words of two strings."""
    return edits(hypothesis.split(), reference.split())


def equality(hypothesis, reference):
    """Return (1 if the strings are equal or 0 otherwise, 1)."""
    return int(hypothesis == reference), 1


def difference(hypothesis, reference):
    """Return (0 if the strings are equal or 1 otherwise, 1)."""
    return int(hypothesis != reference), 1


def within(most):
    """Return a function that counts formulas with at most `most` wrong tokens.

    It returns (0 or 1, 1) for each pair.
    """

    def count(hypothesis, reference):
        errors, _ = word_edits(hypothesis, reference)
        return int(errors <= most), 1

    return count
