"""Training of a translator on sentence pairs, in a run directory from which it can resume.

The names are loaded on first use, because options, presets and runs don't need Keras.
"""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "MODEL_OPTIONS": "options",
    "Progress": "progress",
    "ResolvedOptions": "options",
    "Run": "run",
    "TrainingOptions": "options",
    "TrainingPlan": "plan",
    "Workers": "workers",
    "presets": "presets",
    "strategy_of_environment": "workers",
    "train": "loop",
    "training_option": "options",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
