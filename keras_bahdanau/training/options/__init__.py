"""Training options. There is one file per topic, and `training_options` combines them."""

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
