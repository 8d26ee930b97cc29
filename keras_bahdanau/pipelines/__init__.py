"""Pipelines that turn raw inputs into results. Each pipeline is saved as one file."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "Alternative": "trace",
    "Calibration": "confidence",
    "ImageToText": "tasks",
    "Pipeline": "pipeline",
    "SpeechToText": "tasks",
    "Trace": "trace",
    "Translation": "translation",
    "Translator": "tasks",
    "Word": "confidence",
    "ensemble": "tasks",
    "load_pipeline": "tasks",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
