"""Strings to token ids and back: vocabularies, subwords, word alignments.

The names are loaded on first use, since only some of them need TensorFlow.
"""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "Subwords": "subwords",
    "alignments": "alignments",
    "word_weights": "word_weights",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
