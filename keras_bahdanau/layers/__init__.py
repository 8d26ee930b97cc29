"""Layers written in `keras.ops` and loaded on first use, from attention to the loop over time."""

from keras_bahdanau.layers.names import MODULE_OF, PUBLIC
from keras_bahdanau.settings.lazy import lazy_names

__all__ = [name for family in PUBLIC.values() for name in family]

_TABLES = (
    *("BRIDGES", "COVERAGES", "DECODER_CELLS", "NORMALIZERS", "READERS", "READOUTS", "SCORES"),
    "WINDOWS",
)

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **MODULE_OF,
        **dict.fromkeys(_TABLES, "registry"),
        "ATTENTIONS": "attention.by_name",
        "CELLS": "cells.keras_cell",
        "masked_softmax": "attention.normalizers",
        "scan": "recurrence",
    },
)
