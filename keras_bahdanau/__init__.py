"""Attention RNNs for Keras 3: train them, see what they attend to, ship them.

The names are loaded on first use, so that `keras-bahdanau --help` need not
wait for TensorFlow.
"""

import importlib

__version__ = "0.1.0"

_MODULE_OF = {
    "Decoder": "models",
    "Encoder": "models",
    "Ensemble": "models",
    "SearchOptions": "search",
    "Seq2Seq": "models",
    "Trace": "pipelines",
    "Translation": "pipelines",
    "Translator": "pipelines",
    "ensemble": "pipelines",
    "export_all": "exporters",
    "export_litert": "exporters",
    "export_saved_model": "exporters",
    "plot_alignment": "plotting",
    "plot_history": "plotting",
    "plot_lengths": "plotting",
    "plot_trace": "plotting",
    "presets": "training",
}
_MODULES = (
    "callbacks",
    "data",
    "demo",
    "evaluation",
    "exporters",
    "layers",
    "losses",
    "metrics",
    "models",
    "pipelines",
    "plotting",
    "search",
    "text",
    "training",
)

__all__ = [*_MODULE_OF, *_MODULES]


def __getattr__(name):
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
