"""Significance of the difference between the scores of two systems."""

import dataclasses
import itertools
import math

import numpy as np
from sacrebleu.significance import PairedTest

from keras_bahdanau.evaluation.bootstrap import SAMPLES
from keras_bahdanau.evaluation.corpus_metrics import metrics_of
from keras_bahdanau.settings.option import check_value

MOST_DRAWN = 50_000_000  # sentences of all samples: sacreBLEU holds some 100 bytes of each


LEAST_SAMPLES = 100  # that say anything of two systems


def samples_for(count):
    """Number of samples that are drawn of so many sentences: 1,000, or fewer of a large corpus.

    Raises:
        ValueError: If there are too many sentences for `LEAST_SAMPLES`.
    """
    samples = min(1000, MOST_DRAWN // max(1, count))
    if samples < LEAST_SAMPLES:
        raise ValueError(
            f"Systems are compared on {MOST_DRAWN // LEAST_SAMPLES:,} sentences at most. "
            f"Received: {count:,} of them. Take a part of them."
        )
    return samples


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two systems on the same sentences, by one metric.

    By paired bootstrap (Koehn 2004); where each text is right or wrong, such as "exact", by the
    exact sign test of the texts that only one system has right (McNemar 1947).

    Attributes:
        metric: "BLEU", "chrF2", "TER", "WER", "CER" or "exact".
        score: Float, the system's, of all sentences.
        other: Float, the other system's.
        score_range: (mean, half width) of the system's scores in 95 % of the samples.
        other_range: The same of the other system.
        p_value: Float, how often chance alone makes so large a difference.
        signature: String, settings and version behind the scores; "test:sign" for that test.
        higher_is_better: Bool, False for the error rates.
    """

    metric: str
    score: float
    other: float
    score_range: tuple
    other_range: tuple
    p_value: float
    signature: str
    higher_is_better: bool

    def __str__(self):
        lower = "" if self.higher_is_better else ", lower is better"
        return (
            f"{self.metric:10}  {self.score:.2f} ({self.score_range[0]:.2f} ± "
            f"{self.score_range[1]:.2f}) against {self.other:.2f} ({self.other_range[0]:.2f} ± "
            f"{self.other_range[1]:.2f}), p = {self.p_value:.4f}{lower}   {self.signature}"
        )


def compare(
    hypotheses,
    others,
    references,
    samples=None,
    tokenize=None,
    lowercase=False,
    metrics=("bleu", "chrf"),
):
    """Compare two systems by sacreBLEU's paired bootstrap, or the sign test: see `Comparison`.

    Args:
        hypotheses: List of strings, what the system translated.
        others: List of strings, what the other system did.
        references: List of strings; or of lists of strings, several right answers.
        samples: Positive integer, corpora that are drawn from the sentences; as `samples_for`
            has it when left out.
        tokenize: Name of sacreBLEU's tokenization; its own choice, 13a, when left out.
        lowercase: Bool. True if case counts for nothing.
        metrics: Names of metrics, as in `metrics_of`.

    Returns:
        List of `Comparison`, one for each metric. The draws are the same each time
        (SACREBLEU_SEED in the environment chooses others).

    Raises:
        ValueError: If the lists differ in length, or are empty, a metric is unknown or needs
            more than one text, or `samples` is not from 1 to 100,000, or they have more than
            50,000,000 sentences together.

    Example:
        >>> bleu, chrf = compare(new, old, references)
        >>> bleu.p_value
        0.012
    """
    samples = samples_for(len(hypotheses)) if samples is None else samples
    check_value("samples", samples, SAMPLES)
    if not len(hypotheses) == len(others) == len(references) or not hypotheses:
        raise ValueError(
            "Systems are compared on the same sentences. "
            f"Received: len(hypotheses)={len(hypotheses)}, len(others)={len(others)}, "
            f"len(references)={len(references)}. Translate the same file with both."
        )
    if samples * len(hypotheses) > MOST_DRAWN:
        raise ValueError(
            f"All samples together must have at most {MOST_DRAWN:,} sentences. Received: "
            f"samples={samples:,} of {len(hypotheses):,} sentences. Draw fewer samples."
        )
    metrics = metrics_of(metrics, tokenize, lowercase)
    several = [metric.name for metric in metrics if metric.nbest > 1]
    if several:
        raise ValueError(
            "Systems are compared by their best texts. "
            f"Received: metrics={several!r}, which take several. Leave them out."
        )
    listed = [[one] if isinstance(one, str) else one for one in references]
    test = PairedTest(
        [("other", list(others)), ("system", list(hypotheses))],
        {metric.label: metric.scorer for metric in metrics},
        [list(stream) for stream in itertools.zip_longest(*listed)],
        test_type="bs",
        n_samples=samples,
    )
    signatures, scores = test()
    given = hypotheses, others, listed
    return [
        Comparison(
            metric=name,
            score=float(scores[name][1].score),  # sacreBLEU may give numbers of NumPy
            other=float(scores[name][0].score),
            score_range=(float(scores[name][1].mean), float(scores[name][1].ci)),
            other_range=(float(scores[name][0].mean), float(scores[name][0].ci)),
            p_value=_p_value(metric, *given, *scores[name]),
            signature=f"{signatures[name]}{'|test:sign' if metric.counts_texts else ''}",
            higher_is_better=metric.higher_is_better,
        )
        for metric, name in zip(metrics, signatures, strict=True)  # of sacreBLEU, such as chrF2
    ]


def _p_value(metric, hypotheses, others, references, other, system):
    """Probability that chance alone makes so large a difference; 1 for equal scores.

    sacreBLEU counts differences that are larger, of which there are none if all texts are equal.
    """
    if metric.counts_texts:
        own, its = (metric.statistics(texts, references)[:, 0] for texts in (hypotheses, others))
        return sign_test(int(np.sum(own > its)), int(np.sum(own < its)))
    return 1.0 if system.score == other.score else float(system.p_value)


def sign_test(first, second):
    """The p-value of the exact sign test: would chance put one system so far ahead?

    p = min(1, 2 P(X <= min(first, second))),  X ~ Binomial(first + second, 1 / 2)

    Args:
        first: Integer, texts that only the first system has right.
        second: Integer, those that only the second one has right.

    Returns:
        Float in [0, 1].

    Example:
        >>> sign_test(0, 3)
        0.25
    """
    count = first + second
    few = np.arange(1, min(first, second) + 1)
    # log of the binomial coefficients (count over 0), (count over 1), ...
    logs = np.concatenate([[0.0], np.cumsum(np.log((count - few + 1) / few))])
    return min(1.0, float(np.sum(np.exp(logs + (1 - count) * math.log(2)))))
