"""Metrics of a corpus, by name: translations against their references, in percent."""

import dataclasses
import itertools

import numpy as np
import rapidfuzz
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric, Score

_BETWEEN = "\0"  # texts of an n-best list, which sacreBLEU takes as one string
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
            hypotheses: List of strings; or of lists of strings, the best first, of which one
                counts, or as many as `nbest`.
            references: List of strings, as many; or of lists of strings, several right answers.

        Returns:
            Float, at least 0. An error rate counts insertions, so that it may exceed 100.

        Raises:
            ValueError: If the lists differ in length, or are empty.

        Example:
            >>> (per,) = metrics_of(["per"])
            >>> per.corpus_score(["R EH D"], [["R IY D", "R EH D"]])
            0.0
        """
        return float(self.scorer.corpus_score(*self._lines(hypotheses, references)).score)

    def statistics(self, hypotheses, references):
        """The counts of each sentence, from whose sums `score_of` makes the score.

        Args:
            hypotheses: As in `corpus_score`.
            references: As in `corpus_score`.

        Returns:
            Array `(sentences, counts)`.

        Raises:
            ValueError: As in `corpus_score`.
        """
        lines = self._lines(hypotheses, references)
        return np.array(self.scorer._extract_corpus_statistics(*lines))

    def score_of(self, statistics):
        """Score of the sums of statistics `(counts,)`."""
        return float(self.scorer._compute_score_from_stats(statistics).score)

    def _lines(self, hypotheses, references):
        """The arguments that sacreBLEU takes: one line a sentence, and streams of references."""
        if len(hypotheses) != len(references) or not hypotheses:
            raise ValueError(
                "There must be one reference for each hypothesis, and one of each at least. "
                f"Received: len(hypotheses)={len(hypotheses)}, len(references)={len(references)}. "
                "Give the references of the sentences that were translated."
            )
        lines = [_BETWEEN.join(_listed(one)[: self.nbest]) for one in hypotheses]
        streams = itertools.zip_longest(*map(_listed, references))  # None where there is none
        return lines, [*map(list, streams)]

    @property
    def nbest(self):
        """Integer, texts of a hypothesis that count: 1 of all but top-k accuracy."""
        return getattr(self.scorer, "nbest", 1)

    @property
    def by_source(self):
        """True if a source that several pairs have counts once, with the nearest reference.

        So it is of rates; sacreBLEU's own metrics count each pair.
        """
        return isinstance(self.scorer, Rate)

    @property
    def counts_texts(self):
        """True if each text is right or wrong, and the score is the share of them."""
        return isinstance(self.scorer, Rate) and self.scorer.counts not in (edits, word_edits)

    @property
    def signature(self):
        """String, settings and version in sacreBLEU's form."""
        return str(self.scorer.get_signature())


def _listed(texts):
    return [texts] if isinstance(texts, str) else list(texts)


class Rate(Metric):
    """Sum of one count over the sum of another, in percent, as a metric of sacreBLEU.

    sacreBLEU's paired bootstrap draws from the counts of each sentence. Space around one is
    left out. Characters are code points: a text that writes one letter in two ways needs
    `unicodedata.normalize` first. Of several references the one with the least errors counts,
    and of those the longest; or the one with most hits.

    Args:
        label: String, the name in tables.
        counts: Function of a hypothesis and its reference. It returns two integers, the
            errors (or hits) and what they are a share of.
        unit: String, for the signature: what is counted.
        lowercase: Bool. True if case counts for nothing.
        version: String, for the signature: the library that counts, or None.
        hits: Bool. True if hits are counted, and not errors.
        nbest: Positive integer, texts of which the best counts.
    """

    def __init__(self, label, counts, unit, lowercase=False, version=None, *, hits=False, nbest=1):
        super().__init__()
        self.label = label
        self.counts = counts
        self.unit = unit
        self.lowercase = lowercase
        self.version = version
        self.hits = hits
        self.nbest = nbest

    def get_signature(self):
        signature = super().get_signature()
        signature.update("case", "lc" if self.lowercase else "mixed")
        signature.update("unit", self.unit)
        signature.update("version", self.version)
        return signature

    def _preprocess_segment(self, sent):
        texts = (text.strip() for text in sent.split(_BETWEEN))
        return _BETWEEN.join(text.lower() if self.lowercase else text for text in texts)

    def _extract_reference_info(self, refs):
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        texts = hypothesis.split(_BETWEEN)
        pairs = itertools.product(texts, ref_kwargs["references"])
        found = [self.counts(text, reference) for text, reference in pairs]
        if self.hits:
            return max(found)
        return min(found, key=lambda counts: (counts[0], -counts[1]))

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


def difference(hypothesis, reference):
    """(0 if the strings are equal, else 1; 1)."""
    return int(hypothesis != reference), 1


def within(most):
    """Count of the formulas with at most so many wrong tokens, of each pair (0 or 1, 1)."""

    def count(hypothesis, reference):
        errors, _ = word_edits(hypothesis, reference)
        return int(errors <= most), 1

    return count


def _exprate(most):
    label = f"ExpRate{f' <={most}' if most else ''}"  # sacreBLEU's bootstrap tells metrics by it
    return label, True, lambda tok, lc: Rate(label, within(most), f"formula-{most}", lc, hits=True)


# name: (label, whether higher is better, function of (tokenize, lowercase) to its scorer)
METRICS = {
    # force: no warning of tokenized text, as many corpora have it
    "bleu": ("BLEU", True, lambda tok, lc: BLEU(tokenize=tok, lowercase=lc, force=True)),
    "chrf": ("chrF", True, lambda tok, lc: CHRF(lowercase=lc)),
    "ter": ("TER", False, lambda tok, lc: TER(case_sensitive=not lc)),
    "wer": ("WER", False, lambda tok, lc: Rate("WER", word_edits, "word", lc, RAPIDFUZZ)),
    "per": ("PER", False, lambda tok, lc: Rate("PER", word_edits, "symbol", lc, RAPIDFUZZ)),
    "cer": ("CER", False, lambda tok, lc: Rate("CER", edits, "character", lc, RAPIDFUZZ)),
    "ser": ("SER", False, lambda tok, lc: Rate("SER", difference, "sentence", lc)),
    "exact": ("exact", True, lambda tok, lc: Rate("exact", equality, "sentence", lc, hits=True)),
    **{
        f"top{most}": (
            f"top-{most}",
            True,
            # `most` is bound now, not when the scorer is made
            lambda tok, lc, most=most: Rate(
                f"top-{most}", equality, f"{most}-best", lc, hits=True, nbest=most
            ),
        )
        for most in (2, 3, 5, 10)
    },
    **{f"exprate{most or ''}": _exprate(most) for most in range(4)},
}


def metrics_of(names, tokenize=None, lowercase=False):
    """Metrics by name.

    Args:
        names: Iterable of keys of `METRICS`: "bleu", "chrf", "ter" (translation edit rate),
            "wer" and "cer" (word and character error rate), "per" (phoneme error rate: the
            same as "wer", where a space stands between phonemes), "exact" (whole texts that
            equal one of their references) and "ser" (those that do not: the "WER" of papers on
            grapheme to phoneme, where a text is one word), "top2", "top3", "top5" and "top10"
            (sources one of whose best so many texts equals one of their references),
            "exprate" and "exprate1" to "exprate3" (formulas with at most so
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
