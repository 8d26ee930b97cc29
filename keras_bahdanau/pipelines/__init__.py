"""Pipelines: raw input to results with a trained model, saved as one file.

The names are loaded on first use, since a model's file is found and checked without TensorFlow.
"""

import importlib

_MODULE_OF = {
    "Trace": "trace",
    "Translation": "translation",
    "Translator": "translator",
    "ensemble": "ensembling",
}

__all__ = [*_MODULE_OF]


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
