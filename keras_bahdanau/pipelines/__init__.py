"""Pipelines: raw input to results with a trained model, saved as one file.

The names are loaded on first use, since a model's file is found and checked without TensorFlow.
"""

from keras_bahdanau.lazy import lazy_names

_MODULE_OF = {
    "Pipeline": "pipeline",
    "Trace": "trace",
    "Translation": "translation",
    "Translator": "translator",
    "ensemble": "ensembling",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
