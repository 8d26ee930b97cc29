"""Statistical tests: confidence intervals of scores, and the significance of a difference."""

import dataclasses
import itertools
import math

import numpy as np
from sacrebleu.significance import PairedTest

from keras_bahdanau.evaluation.corpus_metrics import metrics_of
from keras_bahdanau.settings.option import check_value, integer

SAMPLES = integer(1, 100_000)
_SEED = 12345  # as in sacreBLEU
MOST_DRAWN = 50_000_000  # maximum sentences in all samples; each needs about 100 bytes in sacreBLEU
LEAST_SAMPLES = 100  # minimum samples for a comparison


def interval(metric, hypotheses, references, samples=1000):
    """Compute the 95% interval of a score with the bootstrap over sentences.

    The method is described by Koehn (2004) and by Bisani and Ney (2004). See
    `CorpusMetric.corpus_score` for hypotheses and references. `samples`, from 1 to 100,000, is the
    number of corpora that are drawn from the sentences; the draws are the same each time. Returns
    (low, high) in percent. Raises ValueError if the lists differ in length or are empty, or if
    `samples` is out of range.

    Example:
        >>> interval(exact, ["a"] * 100, ["a"] * 60 + ["b"] * 40)
        (51.0, 69.0)
    """
    check_value("samples", samples, SAMPLES)
    statistics = metric.statistics(hypotheses, references)  # (sentences, counts)
    random, size = np.random.default_rng(_SEED), len(statistics)
    scores = []
    for _ in range(samples):
        drawn = np.bincount(random.integers(0, size, size), minlength=size)  # (sentences,)
        scores.append(metric.score_of(drawn @ statistics))
    low, high = np.percentile(scores, [2.5, 97.5])
    return float(low), float(high)


def samples_for(count):
    """Return the number of bootstrap samples. Raises ValueError if it is below `LEAST_SAMPLES`."""
    samples = min(1000, MOST_DRAWN // max(1, count))
    if samples < LEAST_SAMPLES:
        raise ValueError(
            f"Systems can be compared on at most {MOST_DRAWN // LEAST_SAMPLES:,} sentences. "
            f"Received: {count:,} sentences. Use fewer sentences."
        )
    return samples


@dataclasses.dataclass(frozen=True)
class SystemComparison:
    """Comparison of two systems on the same sentences under one metric.

    The p-value is computed with the paired bootstrap (Koehn 2004). For metrics such as "exact", for
    which a text is either correct or wrong, it is computed with the exact sign test on the texts
    that only one system gets right (McNemar 1947).

    Attributes:
        metric: "BLEU", "chrF2", "TER", "WER", "CER" or "exact".
        score, baseline: Floats, scores of the system and of the baseline on all sentences.
        score_range, baseline_range: (mean, half width) of the range that contains the scores of
            95% of the samples.
        p_value: Float, probability of a difference this large by chance.
        signature: String, the settings and version of the metric, with "test:sign" for the sign
            test.
        higher_is_better: Bool, False for error rates.
    """

    metric: str
    score: float
    baseline: float
    score_range: tuple
    baseline_range: tuple
    p_value: float
    signature: str
    higher_is_better: bool

    def __str__(self):
        lower = "" if self.higher_is_better else ", lower is better"
        (mean, width), (baseline_mean, baseline_width) = self.score_range, self.baseline_range
        return (
            f"{self.metric:10}  {self.score:.2f} ({mean:.2f} ± {width:.2f}) against "
            f"{self.baseline:.2f} ({baseline_mean:.2f} ± {baseline_width:.2f}), "
            f"p = {self.p_value:.4f}{lower}   {self.signature}"
        )


def compare(
    hypotheses,
    baselines,
    references,
    samples=None,
    tokenize=None,
    lowercase=False,
    metrics=("bleu", "chrf"),
):
    """Compare two systems with the paired bootstrap or the sign test (see `SystemComparison`).

    Args:
        hypotheses: List of strings, the texts of the system.
        baselines: List of strings, the texts of the baseline.
        references: List of strings, or of lists of strings with several correct answers.
        samples: Positive integer, number of corpora that are drawn from the sentences. By default,
            the result of `samples_for`.
        tokenize: Name of sacreBLEU's tokenization. By default, 13a.
        lowercase: Bool. True to ignore case.
        metrics: Names of metrics, as in `metrics_of`.

    Returns:
        List of `SystemComparison`, one for each metric. The draws are the same each time, unless
        the environment variable SACREBLEU_SEED sets another seed.

    Raises:
        ValueError: If the lists differ in length or are empty, if a metric is unknown or needs more
            than one text, if `samples` is not from 1 to 100,000, or if all samples together have
            more than 50,000,000 sentences.

    Example:
        >>> bleu, chrf = compare(new, old, references)
        >>> bleu.p_value
        0.012
    """
    samples = samples_for(len(hypotheses)) if samples is None else samples
    check_value("samples", samples, SAMPLES)
    if not len(hypotheses) == len(baselines) == len(references) or not hypotheses:
        raise ValueError(
            "Systems must be compared on the same sentences. "
            f"Received: len(hypotheses)={len(hypotheses)}, len(baselines)={len(baselines)}, "
            f"len(references)={len(references)}. Translate the same file with both systems."
        )
    if samples * len(hypotheses) > MOST_DRAWN:
        raise ValueError(
            f"All samples together must have at most {MOST_DRAWN:,} sentences. Received: "
            f"samples={samples:,} of {len(hypotheses):,} sentences. Draw fewer samples."
        )
    metrics = metrics_of(metrics, tokenize, lowercase)
    nbest = [metric.name for metric in metrics if metric.nbest > 1]
    if nbest:
        raise ValueError(
            "Systems are compared using their best text for each source. "
            f"Received: metrics={nbest!r}, which need several texts. Omit these metrics."
        )
    answers = [[texts] if isinstance(texts, str) else texts for texts in references]
    test = PairedTest(
        [("baseline", list(baselines)), ("system", list(hypotheses))],
        {metric.label: metric.scorer for metric in metrics},
        [list(stream) for stream in itertools.zip_longest(*answers)],
        test_type="bs",
        n_samples=samples,
    )
    signatures, scores = test()
    comparisons = []
    for metric, name in zip(metrics, signatures, strict=True):  # sacreBLEU's name, such as chrF2
        baseline, system = scores[name]
        if metric.counts_texts:
            p_value = _sign_p_value(metric, hypotheses, baselines, answers)
        else:  # sacreBLEU counts samples with a larger difference, so equal texts get p = 0
            p_value = 1.0 if system.score == baseline.score else float(system.p_value)
        comparisons.append(
            SystemComparison(
                metric=name,
                score=float(system.score),  # sacreBLEU may return NumPy scalars
                baseline=float(baseline.score),
                score_range=(float(system.mean), float(system.ci)),
                baseline_range=(float(baseline.mean), float(baseline.ci)),
                p_value=p_value,
                signature=f"{signatures[name]}{'|test:sign' if metric.counts_texts else ''}",
                higher_is_better=metric.higher_is_better,
            )
        )
    return comparisons


def _sign_p_value(metric, hypotheses, baselines, references):
    right, baseline_right = (
        metric.statistics(texts, references)[:, 0] for texts in (hypotheses, baselines)
    )
    return sign_test(int(np.sum(right > baseline_right)), int(np.sum(right < baseline_right)))


def sign_test(first, second):
    """Compute the p-value of the exact sign test.

    p = min(1, 2 P(X <= min(first, second))),  X ~ Binomial(first + second, 1 / 2)

    `first` and `second` are the numbers of texts that only the first or only the second system gets
    right.
    """
    count = first + second
    few = np.arange(1, min(first, second) + 1)
    # logs of the binomial coefficients (count choose 0), (count choose 1), ...
    logs = np.concatenate([[0.0], np.cumsum(np.log((count - few + 1) / few))])
    return min(1.0, float(np.sum(np.exp(logs + (1 - count) * math.log(2)))))
