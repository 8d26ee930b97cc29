"""Corpus metrics by name, which compare texts with references and give scores in percent."""

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from keras_bahdanau.settings.guesses import nearest

SAMPLE = 500  # a metric is first tried on this many references
UNSPACED = "zh", "char"  # BLEU tokenizations for text without spaces
FEW = 0.1  # minimum fraction of references with four tokens


class MetricKind(NamedTuple):
    """Entry of `METRICS`.

    `new_scorer(rates, tokenization, lowercase)` returns a sacreBLEU metric.
    """

    label: str
    higher_is_better: bool
    new_scorer: Callable
    nbest: int = 1


def _top(most):
    settings = {"hits": True, "nbest": most, "counts_texts": True}
    return MetricKind(
        f"top-{most}",
        True,
        lambda rates, _, lowercase: rates.Rate(
            f"top-{most}", rates.equality, f"{most}-best", lowercase, **settings
        ),
        most,
    )


def _exprate(most):
    label = f"ExpRate{f' <={most}' if most else ''}"  # sacreBLEU's bootstrap needs the label
    return MetricKind(
        label,
        True,
        lambda rates, _, lowercase: rates.Rate(
            label, rates.within(most), f"formula-{most}", lowercase, hits=True, counts_texts=True
        ),
    )


METRICS = {
    # `force` turns off a warning about tokenized text, which is common
    "bleu": MetricKind(
        "BLEU", True, lambda rates, tok, lc: rates.BLEU(tokenize=tok, lowercase=lc, force=True)
    ),
    "chrf": MetricKind("chrF", True, lambda rates, _, lc: rates.CHRF(lowercase=lc)),
    "ter": MetricKind("TER", False, lambda rates, _, lc: rates.TER(case_sensitive=not lc)),
    "wer": MetricKind(
        "WER", False, lambda rates, _, lc: rates.Rate("WER", rates.word_edits, "word", lc)
    ),
    "per": MetricKind(
        "PER", False, lambda rates, _, lc: rates.Rate("PER", rates.word_edits, "symbol", lc)
    ),
    "cer": MetricKind(
        "CER", False, lambda rates, _, lc: rates.Rate("CER", rates.edits, "character", lc)
    ),
    "ser": MetricKind(
        "SER",
        False,
        lambda rates, _, lc: rates.Rate("SER", rates.difference, "sentence", lc, counts_texts=True),
    ),
    "exact": MetricKind(
        "exact",
        True,
        lambda rates, _, lc: rates.Rate(
            "exact", rates.equality, "sentence", lc, hits=True, counts_texts=True
        ),
    ),
    **{f"top{most}": _top(most) for most in (2, 3, 5, 10)},
    **{f"exprate{most or ''}": _exprate(most) for most in range(4)},
}


@dataclasses.dataclass(frozen=True)
class CorpusMetric:
    """A metric with its settings, as returned by `metrics_of`.

    Attributes:
        name: String, such as "bleu".
        label: String, the name in tables, such as "BLEU".
        higher_is_better: Bool, False for error rates.
        scorer: The `sacrebleu.metrics.base.Metric` that computes scores and significance tests.

    Example:
        >>> (metric,) = metrics_of(["wer"])
        >>> metric.corpus_score(["a man walks", "hello"], ["a man runs", "hello"])
        25.0
    """

    name: str
    label: str
    higher_is_better: bool
    scorer: Any

    def corpus_score(self, hypotheses, references):
        """Compute the score of all sentences together, at least 0; error rates may exceed 100.

        `hypotheses` contains strings, or lists of strings, best first, of which the first `nbest`
        count. `references` contains one string per hypothesis, or one list of correct answers.
        Raises ValueError if the lists differ in length or are empty.
        """
        return float(self.scorer.corpus_score(*self._lines(hypotheses, references)).score)

    def statistics(self, hypotheses, references):
        """Return the counts for each sentence, `(sentences, counts)`.

        `score_of` computes the score from their sums.
        """
        import numpy as np

        lines = self._lines(hypotheses, references)
        return np.array(self.scorer._extract_corpus_statistics(*lines))

    def score_of(self, statistics):
        """Compute the score from the sums of the statistics, `(counts,)`."""
        return float(self.scorer._compute_score_from_stats(statistics).score)

    def loss_of(self, score):
        """Convert a score to a loss, for which lower is better; infinity for NaN."""
        loss = -score if self.higher_is_better else score
        return math.inf if math.isnan(loss) else loss

    def tells(self, texts):
        """Return True if texts, scored against themselves, score better than empty texts."""
        texts = [text for text in texts if text.strip()]
        for part in (texts[:: 1 + len(texts) // SAMPLE], texts):
            if part:
                right, empty = (
                    self.corpus_score(lines, part) for lines in (part, [""] * len(part))
                )
                if self.loss_of(right) < self.loss_of(empty):
                    return True
        return False

    def _lines(self, hypotheses, references):
        """Return the arguments for sacreBLEU: one line per sentence, and streams of references."""
        if len(hypotheses) != len(references) or not hypotheses:
            raise ValueError(
                "There must be one reference for each hypothesis, and at least one hypothesis. "
                f"Received: len(hypotheses)={len(hypotheses)}, len(references)={len(references)}. "
                "Pass the references of the sentences that were translated."
            )
        separator = getattr(self.scorer, "separator", "")
        lines = [separator.join(_listed(texts)[: self.nbest]) for texts in hypotheses]
        streams = itertools.zip_longest(*map(_listed, references))  # None for missing references
        return lines, [*map(list, streams)]

    @property
    def nbest(self):
        """Integer, the number of best texts that count; 1 except for top-k accuracy."""
        return getattr(self.scorer, "nbest", 1)

    @property
    def by_source(self):
        """True if a source that occurs in several pairs counts once, with its nearest reference."""
        return getattr(self.scorer, "by_source", False)

    @property
    def counts_texts(self):
        """True if a text is either correct or wrong, and the score is the fraction of one kind."""
        return getattr(self.scorer, "counts_texts", False)

    @property
    def signature(self):
        """String, the settings and version in sacreBLEU's format."""
        return str(self.scorer.get_signature())


def _listed(texts):
    return [texts] if isinstance(texts, str) else list(texts)


def metrics_of(names, tokenize=None, lowercase=False):
    """Return metrics by name.

    Args:
        names: Iterable of keys of `METRICS`: "bleu", "chrf", "ter" (translation edit rate), "wer"
            and "cer" (word and character error rate), "per" (phoneme error rate: "wer" of phonemes
            separated by spaces), "exact" (texts that equal a reference), "ser" (texts that don't:
            the "WER" in papers on grapheme-to-phoneme conversion), "top2", "top3", "top5" and
            "top10" (sources with a correct text among the best 2, 3, 5 or 10), "exprate" and
            "exprate1" to "exprate3" (formulas with at most 0 to 3 wrong tokens, separated by
            spaces).
        tokenize: Name of sacreBLEU's tokenization for BLEU. By default, 13a.
        lowercase: Bool. True to ignore case.

    Returns:
        List of `CorpusMetric`, in the order of the names.

    Raises:
        ValueError: If there are no names, or if a name is unknown or occurs twice.

    Example:
        >>> [metric.label for metric in metrics_of(["chrf", "ter"])]
        ['chrF', 'TER']
    """
    from keras_bahdanau.evaluation import rates  # loads sacreBLEU

    is_text = isinstance(names, str)
    names = names if is_text else list(names)
    if is_text or not names or len(set(names)) != len(names) or not set(names) <= set(METRICS):
        unknown = None if is_text else next((n for n in names if n not in METRICS), None)
        advice = ". Put it in a list." if is_text else nearest(unknown, METRICS)
        raise ValueError(
            f"`metrics` must be a list of distinct names from {', '.join(METRICS)}. "
            f"Received: metrics={names!r}{advice}"
        )
    metrics = []
    for name in names:
        kind = METRICS[name]
        scorer = kind.new_scorer(rates, tokenize, lowercase)
        scorer.num_refs = 1  # the signature is available before a score
        metrics.append(CorpusMetric(name, kind.label, kind.higher_is_better, scorer))
    return metrics


def report_blind(metric, references):
    """Return a line about a metric that is meaningless for these references; "" otherwise.

    A metric is meaningless if the references themselves score no better than empty texts, or if it
    is BLEU and hardly any reference has four tokens. `references` are strings.
    """
    tells, advice = metric.tells(references), []
    if metric.name == "bleu":
        share = _share_of_long(metric, references)
        if tells and (share >= FEW or _smooths(metric)):
            return ""
        tokenization = metric.scorer.tokenizer.signature()
        reason = (
            f"BLEU counts 4-grams, but with the tokenization {tokenization} only "
            f"{round(share * len(references)):,} of {len(references):,} have four tokens"
        )
        advice = [f"--tokenize {name}" for name in UNSPACED if _has_long(name, references)]
    elif tells:
        return ""
    else:
        score = metric.corpus_score(references, references) if references else math.nan
        reason = f"scored against themselves, they get {score:.2f}, as empty texts do"
    others = [other.name for other in metrics_of(["chrf", "exact"]) if other.tells(references)]
    advice = [*(f"the metric {name}" for name in others[:1]), *advice[:1]]
    remedy = f". Use {' or '.join(advice)}" if advice else ""
    return f"{metric.label} is meaningless for these references: {reason}{remedy}"


def _share_of_long(bleu, references):
    """Return the fraction of references with at least four tokens under BLEU's tokenization."""
    counts = [len(bleu.scorer.tokenizer(text.rstrip()).split()) for text in references]
    return sum(count >= 4 for count in counts) / max(1, len(counts))


def _smooths(bleu):
    """Return True if BLEU has settings for short texts."""
    return bleu.scorer.smooth_method != "exp" or bleu.scorer.effective_order


def _has_long(tokenize, references):
    (bleu,) = metrics_of(["bleu"], tokenize)
    return bleu.tells(references) and _share_of_long(bleu, references) >= FEW
