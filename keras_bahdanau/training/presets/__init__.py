"""Presets: named models, each with the settings to train it.

`PRESETS` is plain data, which the command line reads before Keras is loaded. The functions `small`,
`characters`, ... create the untrained models for a source and a target.
"""

from keras_bahdanau.settings.lazy import lazy_names
from keras_bahdanau.training.presets.papers import (
    CONDITIONAL_GRU,
    LUONG,
    LUONG_LOCAL,
    RNNENCDEC,
    RNNSEARCH,
)
from keras_bahdanau.training.presets.preset import SMALL, Preset
from keras_bahdanau.training.presets.signals import IMAGES, INK, SPEECH
from keras_bahdanau.training.presets.texts import CHARACTERS, SSRU_STUDENT, TRANSFORMER_TINY

PRESETS = {
    preset.name: preset
    for preset in (
        *(SMALL, CHARACTERS, RNNSEARCH, RNNENCDEC, LUONG, LUONG_LOCAL, CONDITIONAL_GRU),
        *(SSRU_STUDENT, TRANSFORMER_TINY, IMAGES, INK, SPEECH),
    )
}

_FUNCTIONS = ["new_model", *(name.replace("-", "_") for name in PRESETS)]

__all__ = ["PRESETS", "Preset", *_FUNCTIONS]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(_FUNCTIONS, "models"))
