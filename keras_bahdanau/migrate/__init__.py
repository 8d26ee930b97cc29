"""Models of packages that are no longer maintained, with their weights; loaded on first use."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "SavedObjects": "saved_objects",
    "from_addons": "addons",
    "from_tutorial": "tutorial",
    "to_translator": "words",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
