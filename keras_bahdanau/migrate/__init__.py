"""Functions that convert models of unmaintained packages; loaded on first use."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "ActivatedScore": "keras2_layers",
    "MaskedModel": "keras2_layers",
    "SavedObjects": "saved_objects",
    "additive_attention": "keras2_layers",
    "attention_pooling": "keras2_layers",
    "attention_vector": "keras2_layers",
    "from_addons": "addons",
    "from_tutorial": "tutorial",
    "layer_weights": "keras2_layers",
    "self_attention": "keras2_layers",
    "to_translator": "words",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
