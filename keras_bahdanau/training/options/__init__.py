"""Options of a training, a file for each topic; `training_options` joins them."""

from keras_bahdanau.training.options.training_options import (
    DEFAULTS,
    MODEL_OPTIONS,
    ResolvedOptions,
    TrainingOptions,
    changed_options,
    fill,
    resolve,
    training_option,
)

__all__ = [
    "DEFAULTS",
    "MODEL_OPTIONS",
    "ResolvedOptions",
    "TrainingOptions",
    "changed_options",
    "fill",
    "resolve",
    "training_option",
]
