"""Run a worker of a distributed training run: `python training_worker.py LOGS`.

It reads its arguments from standard input. The chief writes the loss of each batch to LOGS.
"""

import json
import sys
from pathlib import Path

import keras

from keras_bahdanau.training import TrainingOptions, strategy_of_environment, train


class Logs(keras.callbacks.Callback):
    """Callback that records the mean loss of the epoch so far, after each batch."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])


def main():
    out, options, pairs, valid_pairs, teacher = json.load(sys.stdin)
    strategy = strategy_of_environment()  # must precede any other use of TensorFlow
    logs = Logs()
    options = TrainingOptions(**options)
    given = {"verbose": 0, "callbacks": [logs], "strategy": strategy, "teacher": teacher}
    train(pairs, valid_pairs, out, options, **given)
    if logs.losses:
        Path(sys.argv[1]).write_text(json.dumps(logs.losses))


if __name__ == "__main__":
    main()
