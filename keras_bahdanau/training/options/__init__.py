"""Settings of a training, a file for each topic; `training_options` joins them."""

from keras_bahdanau.training.options.training_options import (
    MODEL_OPTIONS,
    TrainingOptions,
    training_option,
)

__all__ = ["MODEL_OPTIONS", "TrainingOptions", "training_option"]
