"""Callbacks for `model.fit`, and a function that averages models; loaded on first use."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "AlignmentHistory": "alignment_history",
    "AlignmentPlotCallback": "alignment_plots",
    "AverageLast": "averaging",
    "Checkpoint": "checkpoint",
    "EndInTime": "stopping",
    "MetricCallback": "metric",
    "RecordedAlignment": "alignment_history",
    "StopAtDivergence": "stopping",
    "average_weights": "averaging",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
