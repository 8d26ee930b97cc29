"""Pipelines: raw input to results with a trained model, saved as one file.

The names are loaded on first use, since a model's file is found and checked without TensorFlow.
"""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "Alternative": "exploration",
    "Calibration": "confidence",
    "ImageToText": "image_to_text",
    "Pipeline": "pipeline",
    "SpeechToText": "speech_to_text",
    "Trace": "trace",
    "Translation": "translation",
    "Translator": "translator",
    "Word": "confidence",
    "ensemble": "ensembling",
    "load_pipeline": "by_source",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
