"""Conversion of text to token ids and back, and word alignments. Names load on first use."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "Subwords": "subwords",
    "alignments": "alignments",
    "word_weights": "word_weights",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
