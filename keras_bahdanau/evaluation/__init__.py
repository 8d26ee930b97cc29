"""How good a translator is, in figures, and whether it is better than another one."""

from keras_bahdanau.evaluation.comparing import Comparison, compare
from keras_bahdanau.evaluation.evaluating import evaluate
from keras_bahdanau.evaluation.lengths import Band, bleu_by_length
from keras_bahdanau.evaluation.likelihood import Likelihood, likelihood, perplexity
from keras_bahdanau.evaluation.looking import alignment_error, attention_entropy
from keras_bahdanau.evaluation.report import Evaluation
from keras_bahdanau.evaluation.tuning import Trial, candidates, simplest, tune

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
