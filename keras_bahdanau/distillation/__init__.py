"""Training of a student on texts written by its teacher, and the choice of these texts."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "Distillation": "settings",
    "distill": "student",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
