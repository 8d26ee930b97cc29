"""Create run directories in the state in which a training run begins."""

from keras_bahdanau.training import TrainingPlan
from keras_bahdanau.training.data import TrainingData


def begin(run, asked, pairs, valid_pairs=None, teacher=None, workers=1, **plan):
    """Write the card of a run, and return the run's `TrainingData`."""
    data = TrainingData.build(pairs, pairs if valid_pairs is None else valid_pairs, teacher=teacher)
    run.begin(TrainingPlan(asked.resolved(), data=data, **plan), workers)
    return data
