"""A process of a training: `python training_worker.py LOGS`, with its arguments on standard input.

The chief writes the logs of each batch to LOGS.
"""

import json
import sys
from pathlib import Path

import keras

from keras_bahdanau.training import TrainingOptions, strategy_of_environment, train


class Logs(keras.callbacks.Callback):
    """The loss so far in its epoch, after each batch."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])


def main():
    out, options, pairs, valid_pairs, teacher = json.load(sys.stdin)
    strategy = strategy_of_environment()  # before anything else of TensorFlow
    logs = Logs()
    options = TrainingOptions(**options)
    given = {"verbose": 0, "callbacks": [logs], "strategy": strategy, "teacher": teacher}
    train(pairs, valid_pairs, out, options, **given)
    if logs.losses:
        Path(sys.argv[1]).write_text(json.dumps(logs.losses))


if __name__ == "__main__":
    main()
