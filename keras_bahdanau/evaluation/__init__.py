"""Scores of a pipeline, and significance tests between two of them.

None of it loads TensorFlow before it has something to read with a model: a .tflite file is
evaluated without.
"""

from keras_bahdanau.evaluation.attention_quality import alignment_error, attention_entropy
from keras_bahdanau.evaluation.bootstrap import interval
from keras_bahdanau.evaluation.by_length import Band, band_starts, scores_by_length
from keras_bahdanau.evaluation.calibrate import Calibrated, Reliability, calibrate, right_words
from keras_bahdanau.evaluation.corpus_metrics import METRICS, CorpusMetric, metrics_of
from keras_bahdanau.evaluation.evaluate import evaluate
from keras_bahdanau.evaluation.likelihood import Likelihood, likelihood, perplexity
from keras_bahdanau.evaluation.logistic_regression import (
    cross_validated,
    fit_logistic,
    folds_of,
)
from keras_bahdanau.evaluation.reliability import (
    brier_score,
    calibration_error,
    reliability,
    roc_auc,
)
from keras_bahdanau.evaluation.report import Evaluation, Measured
from keras_bahdanau.evaluation.significance import Comparison, compare
from keras_bahdanau.evaluation.tune import Trial, candidates, simplest, tune, tuned_options

__all__ = [
    "Band",
    "METRICS",
    "Calibrated",
    "Comparison",
    "CorpusMetric",
    "Evaluation",
    "Likelihood",
    "Measured",
    "Reliability",
    "Trial",
    "alignment_error",
    "attention_entropy",
    "band_starts",
    "brier_score",
    "calibrate",
    "calibration_error",
    "candidates",
    "compare",
    "cross_validated",
    "evaluate",
    "fit_logistic",
    "folds_of",
    "interval",
    "likelihood",
    "metrics_of",
    "perplexity",
    "reliability",
    "right_words",
    "roc_auc",
    "scores_by_length",
    "simplest",
    "tune",
    "tuned_options",
]
