"""Scores of a pipeline, and significance tests between two of them.

None of it loads TensorFlow before it has something to read with a model: a .tflite file is
evaluated without.
"""

from keras_bahdanau.evaluation.attention_quality import alignment_error, attention_entropy
from keras_bahdanau.evaluation.by_length import Band, band_starts, scores_by_length
from keras_bahdanau.evaluation.evaluate import evaluate
from keras_bahdanau.evaluation.likelihood import Likelihood, likelihood, perplexity
from keras_bahdanau.evaluation.report import Evaluation, Measured
from keras_bahdanau.evaluation.significance import Comparison, compare, interval
from keras_bahdanau.evaluation.tune import Trial, candidates, simplest, tune, tuned_options
from keras_bahdanau.text.corpus_metrics import METRICS, CorpusMetric, metrics_of

__all__ = [
    "Band",
    "METRICS",
    "Comparison",
    "CorpusMetric",
    "Evaluation",
    "Likelihood",
    "Measured",
    "Trial",
    "alignment_error",
    "attention_entropy",
    "band_starts",
    "candidates",
    "compare",
    "evaluate",
    "interval",
    "likelihood",
    "metrics_of",
    "perplexity",
    "scores_by_length",
    "simplest",
    "tune",
    "tuned_options",
]
