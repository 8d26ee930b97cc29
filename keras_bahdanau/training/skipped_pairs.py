"""Reports of the pairs that a training leaves out, with the names of their files."""

import keras

from keras_bahdanau.data.manifest import report_unreadable


def tell_skipped(kind, batches, inputs, max_length, say):
    """Report the pairs that are left out from the beginning.

    Args:
        kind: String, the name of the pairs: "training" or "validation".
        batches: `BatchedPairs`.
        inputs: List of the inputs of the pairs.
        max_length: Integer, most tokens of a pair.
        say: Function of one string.
    """
    skipped = batches.skipped
    if skipped.empty:
        say(f"{skipped.empty} {kind} pairs with an empty side are left out")
        _name_unreadable(inputs, batches.source_lengths, say)
    if skipped.too_long:
        say(f"{skipped.too_long} {kind} pairs with more than {max_length} tokens are left out")


class TellBroken(keras.callbacks.Callback):
    """Report the inputs that turned out to be broken in an epoch, each of them once.

    Args:
        kind: String, as in `tell_skipped`.
        batches: `BatchedPairs`.
        inputs: List of the inputs of the pairs.
        say: Function of one string.

    Raises:
        ValueError: If all pairs are broken.
    """

    def __init__(self, kind, batches, inputs, say):
        super().__init__()
        self.kind, self.batches, self.inputs, self.say = kind, batches, inputs, say
        self.told = set()

    def on_epoch_end(self, epoch, logs=None):
        new = [row for row in self.batches.broken.tolist() if row not in self.told]
        if new:
            self.told.update(new)
            self.say(f"{len(new)} {self.kind} pairs with a broken source count for nothing")
            _name_unreadable([self.inputs[row] for row in new], [0] * len(new), self.say)
            self.batches.require_readable()


def _name_unreadable(inputs, lengths, say):
    line = report_unreadable(inputs, lengths)
    if line:
        say(line)
