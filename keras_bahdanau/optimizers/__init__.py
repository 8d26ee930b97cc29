"""Optimizers: Adam with averaged weights, learning-rate schedules and rounded weights."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "Adam": "adam",
    "AveragingAdam": "adam",
    "Cosine": "schedules",
    "InverseSquareRoot": "schedules",
    "averaged_weights": "adam",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
