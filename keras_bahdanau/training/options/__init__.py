"""Settings of a training, by what they are of; `training_options` has all of them together."""

from keras_bahdanau.training.options.training_options import (
    MODEL_OPTIONS,
    TrainingOptions,
    training_option,
)

__all__ = ["MODEL_OPTIONS", "TrainingOptions", "training_option"]
