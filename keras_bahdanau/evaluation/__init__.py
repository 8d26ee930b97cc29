"""Evaluation of pipelines, and significance tests that compare two of them."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULES = {
    "attention_quality": ("alignment_error", "attention_entropy"),
    "calibration": (
        *("Calibrated", "calibrate", "cross_validated", "fit_logistic", "folds_of", "right_words"),
    ),
    "confidence_quality": (
        *("Reliability", "brier_score", "calibration_error", "reliability", "roc_auc"),
    ),
    "corpus_metrics": ("METRICS", "CorpusMetric", "metrics_of"),
    "importance": ("Estimate",),
    "report": ("Band", "Evaluation", "Measured", "band_starts", "scores_by_length"),
    "scoring": ("Likelihood", "evaluate", "likelihood", "perplexity"),
    "search_tuning": ("Trial", "candidates", "simplest", "tune", "tuned_options"),
    "significance": ("SystemComparison", "compare", "interval"),
    "weight_faithfulness": ("Faithfulness", "faithfulness"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
