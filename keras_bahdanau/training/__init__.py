"""Training of a translator on sentence pairs, in a run directory from which it resumes.

The names are loaded on first use, since options, presets and a run need not wait for Keras.
"""

import importlib

_MODULE_OF = {
    "AveragingAdam": "optimizers",
    "InverseSquareRoot": "schedules",
    "MODEL_OPTIONS": "options",
    "Progress": "progress",
    "Run": "run",
    "TrainingOptions": "options",
    "averaged_weights": "optimizers",
    "train": "loop",
}

__all__ = [
    "AveragingAdam",
    "InverseSquareRoot",
    "MODEL_OPTIONS",
    "Progress",
    "Run",
    "TrainingOptions",
    "averaged_weights",
    "presets",
    "train",
]


def __getattr__(name):
    if name == "presets":
        return importlib.import_module(f"{__name__}.presets")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
