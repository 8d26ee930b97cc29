"""Signs of life of a training whose steps or epochs take long."""

import time

import keras

SECONDS = 30  # between two lines


class TellSteps(keras.callbacks.Callback):
    """Say that the graph is built, and, where there is no bar, at which step an epoch is.

    Keras prints a line an epoch into a file, and nothing before its end.

    Args:
        say: Function of one string.
        lines: True for a line on the steps after each 30 seconds, at the end of a step.
    """

    def __init__(self, say, lines):
        super().__init__()
        self.say, self.lines = say, lines
        self._told = None

    def on_train_begin(self, logs=None):
        self.say("building the graph: the first step takes longest")
        self._told = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch + 1

    def on_train_batch_end(self, batch, logs=None):
        if self.lines and time.monotonic() - self._told >= SECONDS:
            steps = self.params.get("steps")
            of_steps = f" of {steps:,}" if steps else ""
            loss = f", loss {float(logs['loss']):.4f}" if logs and "loss" in logs else ""
            self.say(f"epoch {self._epoch}: step {batch + 1:,}{of_steps}{loss}")
            self._told = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        self._told = time.monotonic()  # Keras prints a line, too
