"""Chance in the score of a corpus: its interval, by bootstrap."""

import numpy as np

from keras_bahdanau.settings.option import check_value, integer

SAMPLES = integer(1, 100_000)
_SEED = 12345  # that of sacreBLEU


def interval(metric, hypotheses, references, samples=1000):
    """95 % interval of a score, by bootstrap over sentences (Koehn 2004; Bisani and Ney 2004).

    Args:
        metric: A `CorpusMetric`, of `metrics_of`.
        hypotheses: List of strings, or of lists of strings: see `CorpusMetric.corpus_score`.
        references: List of strings, or of lists of strings, as many.
        samples: Positive integer, corpora that are drawn from the sentences.

    Returns:
        (low, high): floats, in percent. The draws are the same each time.

    Raises:
        ValueError: If the lists differ in length, or are empty, or `samples` is not from 1 to
            100,000.

    Example:
        >>> (exact,) = metrics_of(["exact"])
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
