"""Metrics of a corpus, by name: translations against their references, in percent."""

import dataclasses

import rapidfuzz
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric, Score

RAPIDFUZZ = f"rapidfuzz-{rapidfuzz.__version__}"


@dataclasses.dataclass(frozen=True)
class CorpusMetric:
    """A metric with its settings, as `metrics_of` makes it.

    Attributes:
        name: String, such as "bleu".
        label: String, such as "BLEU": the name in tables.
        higher_is_better: Bool, False for the error rates.
        scorer: The `sacrebleu.metrics.base.Metric` behind it, which sacreBLEU's tests of
            significance take.

    Example:
        >>> (metric,) = metrics_of(["wer"])
        >>> metric.corpus_score(["a man walks", "hello"], ["a man runs", "hello"])
        25.0
    """

    name: str
    label: str
    higher_is_better: bool
    scorer: Metric

    def corpus_score(self, hypotheses, references):
        """Score of all sentences together.

        Args:
            hypotheses: List of strings.
            references: List of strings, as many.

        Returns:
            Float, at least 0. An error rate counts insertions, so that it may exceed 100.

        Raises:
            ValueError: If the lists differ in length, or are empty.
        """
        if len(hypotheses) != len(references) or not hypotheses:
            raise ValueError(
                "There must be one reference for each hypothesis, and one of each at least. "
                f"Received: len(hypotheses)={len(hypotheses)}, len(references)={len(references)}. "
                "Give the references of the sentences that were translated."
            )
        return float(self.scorer.corpus_score(list(hypotheses), [list(references)]).score)

    @property
    def signature(self):
        """String, settings and version in sacreBLEU's form."""
        return str(self.scorer.get_signature())


class Rate(Metric):
    """Sum of one count over the sum of another, in percent, as a metric of sacreBLEU.

    sacreBLEU's paired bootstrap draws from the counts of each sentence. Space around one is
    left out. Characters are code points: a text that writes one letter in two ways needs
    `unicodedata.normalize` first.

    Args:
        label: String, the name in tables.
        counts: Function of a hypothesis and its reference. It returns two integers, the
            errors (or hits) and what they are a share of.
        unit: String, for the signature: what is counted.
        lowercase: Bool. True if case counts for nothing.
        version: String, for the signature: the library that counts, or None.
    """

    def __init__(self, label, counts, unit, lowercase=False, version=None):
        super().__init__()
        self.label = label
        self.counts = counts
        self.unit = unit
        self.lowercase = lowercase
        self.version = version

    def get_signature(self):
        signature = super().get_signature()
        signature.update("case", "lc" if self.lowercase else "mixed")
        signature.update("unit", self.unit)
        signature.update("version", self.version)
        return signature

    def _preprocess_segment(self, sent):
        return sent.strip().lower() if self.lowercase else sent.strip()

    def _extract_reference_info(self, refs):
        (reference,) = refs
        return {"reference": reference}

    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        return self.counts(hypothesis, ref_kwargs["reference"])

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats([sum(counts) for counts in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats):
        errors, length = (float(count) for count in stats)
        # as in TER: empty references are 0 % wrong with empty hypotheses, else 100 %
        share = errors / length if length else float(errors > 0)
        return Score(self.label, 100 * share)


def edits(hypothesis, reference):
    """(Insertions, deletions and substitutions, length of the reference), of two sequences."""
    return Levenshtein.distance(hypothesis, reference), len(reference)


def word_edits(hypothesis, reference):
    """The same of the words of two strings."""
    return edits(hypothesis.split(), reference.split())


def equality(hypothesis, reference):
    """(1 if the strings are equal, else 0; 1)."""
    return int(hypothesis == reference), 1


def within(most):
    """Count of the formulas with at most so many wrong tokens, of each pair (0 or 1, 1)."""

    def count(hypothesis, reference):
        errors, _ = word_edits(hypothesis, reference)
        return int(errors <= most), 1

    return count


# name: (label, whether higher is better, function of (tokenize, lowercase) to its scorer)
METRICS = {
    # force: no warning of tokenized text, as many corpora have it
    "bleu": ("BLEU", True, lambda tok, lc: BLEU(tokenize=tok, lowercase=lc, force=True)),
    "chrf": ("chrF", True, lambda tok, lc: CHRF(lowercase=lc)),
    "ter": ("TER", False, lambda tok, lc: TER(case_sensitive=not lc)),
    "wer": ("WER", False, lambda tok, lc: Rate("WER", word_edits, "word", lc, RAPIDFUZZ)),
    "cer": ("CER", False, lambda tok, lc: Rate("CER", edits, "character", lc, RAPIDFUZZ)),
    "exact": ("exact", True, lambda tok, lc: Rate("exact", equality, "sentence", lc)),
    **{
        f"exprate{most or ''}": (
            f"ExpRate{f' <={most}' if most else ''}",
            True,
            # `most` is bound now, not when the scorer is made
            lambda tok, lc, most=most: Rate("ExpRate", within(most), f"formula-{most}", lc),
        )
        for most in range(4)
    },
}


def metrics_of(names, tokenize=None, lowercase=False):
    """Metrics by name.

    Args:
        names: Iterable of keys of `METRICS`: "bleu", "chrf", "ter" (translation edit rate),
            "wer" and "cer" (word and character error rate), "exact" (sentences that equal
            their reference), "exprate" and "exprate1" to "exprate3" (formulas with at most so
            many wrong tokens, where white space stands between tokens).
        tokenize: Name of sacreBLEU's tokenization for BLEU; 13a when left out.
        lowercase: Bool. True if case counts for nothing.

    Returns:
        List of `CorpusMetric`, in the order of the names.

    Raises:
        ValueError: If there is no name, or one is unknown or given twice.

    Example:
        >>> [metric.label for metric in metrics_of(["chrf", "ter"])]
        ['chrF', 'TER']
    """
    names = list(names)
    if not names or len(set(names)) != len(names) or not set(names) <= set(METRICS):
        raise ValueError(
            f"`metrics` must be names out of {', '.join(METRICS)}, each once. "
            f"Received: metrics={names!r}"
        )
    metrics = []
    for name in names:
        label, higher_is_better, new_scorer = METRICS[name]
        scorer = new_scorer(tokenize, lowercase)
        scorer.num_refs = 1  # a signature can be read before a score
        metrics.append(CorpusMetric(name, label, higher_is_better, scorer))
    return metrics
