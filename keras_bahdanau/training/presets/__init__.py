"""Named models: from source and target to an untrained model and its training settings.

`PRESETS` is data that the command line reads before Keras is loaded. The functions `small`,
`characters`, ... create the models.
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
