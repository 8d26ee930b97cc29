"""Scores of a translator, and significance tests between two of them."""

from keras_bahdanau.evaluation.attention_quality import alignment_error, attention_entropy
from keras_bahdanau.evaluation.by_length import Band, bleu_by_length
from keras_bahdanau.evaluation.evaluate import evaluate
from keras_bahdanau.evaluation.likelihood import Likelihood, likelihood, perplexity
from keras_bahdanau.evaluation.report import Evaluation
from keras_bahdanau.evaluation.significance import Comparison, compare
from keras_bahdanau.evaluation.tune import Trial, candidates, simplest, tune

__all__ = [
    "Band",
    "Comparison",
    "Evaluation",
    "Likelihood",
    "Trial",
    "alignment_error",
    "attention_entropy",
    "bleu_by_length",
    "candidates",
    "compare",
    "evaluate",
    "likelihood",
    "perplexity",
    "simplest",
    "tune",
]
