"""Models with a name: source and target in, an untrained model out, and settings of its training.

A preset's equations and its settings stand in one file. Its function needs Keras, its
settings do not: the command line shows them before anything slow is loaded.
"""

import dataclasses
from collections.abc import Callable, Mapping

from keras_bahdanau.training.presets.characters import (
    CHARACTERS,
    OF_COMMON_LETTERS,
    OF_MANY_PAIRS,
    characters,
)
from keras_bahdanau.training.presets.conditional_gru import CONDITIONAL_GRU, conditional_gru
from keras_bahdanau.training.presets.images import IMAGES, images
from keras_bahdanau.training.presets.ink import INK, ink
from keras_bahdanau.training.presets.luong import LUONG, LUONG_LOCAL, luong, luong_local
from keras_bahdanau.training.presets.rnnsearch import RNNENCDEC, RNNSEARCH, rnnencdec, rnnsearch
from keras_bahdanau.training.presets.small import SMALL, small
from keras_bahdanau.training.presets.speech import SPEECH, speech
from keras_bahdanau.training.presets.transformer import (
    SSRU_STUDENT,
    TRANSFORMER_TINY,
    ssru_student,
    transformer_tiny,
)

__all__ = [
    "PRESETS",
    "Preset",
    "characters",
    "conditional_gru",
    "images",
    "ink",
    "luong",
    "luong_local",
    "rnnencdec",
    "rnnsearch",
    "small",
    "speech",
    "ssru_student",
    "transformer_tiny",
]


@dataclasses.dataclass(frozen=True)
class Preset:
    """A model and its training.

    Attributes:
        name: String, as in `PRESETS`.
        model: Function `(source, target, **overrides) -> Seq2Seq`, not yet compiled; the
            overrides are named as in `training.MODEL_OPTIONS`, or `max_length`.
        settings: Dictionary of the training options that differ from the defaults: a
            value, or a function of the other options.
        of_many_pairs: Dictionary from numbers of pairs, in ascending order, to the settings for
            more pairs than that: each a value, or a function of the options, whose model types
            are found before. See `many_pairs`.
        of_common_letters: Dictionary of the settings for sides that share their letters, each a
            value. See `common_letters`.
    """

    name: str
    model: Callable
    settings: Mapping
    of_many_pairs: Mapping = dataclasses.field(default_factory=dict)
    of_common_letters: Mapping = dataclasses.field(default_factory=dict)

    @property
    def options(self):
        """The preset's `TrainingOptions`, resolved."""
        from keras_bahdanau.training.options import TrainingOptions  # which reads the presets

        return TrainingOptions(preset=self.name).resolved()


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("small", small, SMALL),
        Preset("characters", characters, CHARACTERS, OF_MANY_PAIRS, OF_COMMON_LETTERS),
        Preset("rnnsearch", rnnsearch, RNNSEARCH),
        Preset("rnnencdec", rnnencdec, RNNENCDEC),
        Preset("luong", luong, LUONG),
        Preset("luong-local", luong_local, LUONG_LOCAL),
        Preset("conditional-gru", conditional_gru, CONDITIONAL_GRU),
        Preset("ssru-student", ssru_student, SSRU_STUDENT),
        Preset("transformer-tiny", transformer_tiny, TRANSFORMER_TINY),
        Preset("images", images, IMAGES),
        Preset("ink", ink, INK),
        Preset("speech", speech, SPEECH),
    )
}
