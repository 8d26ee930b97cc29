"""Callbacks for `model.fit`, and the average of several models' weights."""

from keras_bahdanau.callbacks.alignment_plots import AlignmentPlotCallback
from keras_bahdanau.callbacks.averaging import AverageLast, average_weights
from keras_bahdanau.callbacks.checkpoint import Checkpoint
from keras_bahdanau.callbacks.metric import MetricCallback
from keras_bahdanau.callbacks.stopping import EndInTime, StopAtDivergence

__all__ = [
    "AlignmentPlotCallback",
    "AverageLast",
    "Checkpoint",
    "EndInTime",
    "MetricCallback",
    "StopAtDivergence",
    "average_weights",
]
