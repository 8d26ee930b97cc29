"""Objects that run a saved or exported model from its file."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "ArrayModel": ".exporters.keras_models.array_model",
    "BatchTranslator": "offline",
    "Learner": ".exporters.keras_models.learner",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
