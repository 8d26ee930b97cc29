"""Reports of the pairs that a training leaves out or can't use, with the names of their files."""

import os

import keras

from keras_bahdanau.data.shards.manifest import report_unreadable
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.text.unknown_parts import report_unknown_pairs

NAMED, LONGEST = 3, 40  # inputs that are named, and characters of each


def tell_skipped(kind, batches, inputs, max_length, say, of_source=None):
    """Report the pairs that are left out from the beginning.

    Args:
        kind: String, the name of the pairs: "training" or "validation".
        batches: `BatchedPairs`.
        inputs: List of the inputs of the pairs.
        max_length: Integer, most tokens of a pair.
        say: Function of one string.
        of_source: Pair of the most positions of a source and their unit, such as (3000, "frames");
            None if they are bounded as the target is.
    """
    skipped = batches.skipped
    if skipped.empty:
        say(f"{_pairs(skipped.empty, kind)} with an empty side {_are(skipped.empty)} left out")
        _name_unreadable(inputs, batches.source_lengths, say)
    if skipped.too_long:
        of = f"{_pairs(skipped.too_long, kind)} with more than {max_length} tokens"
        options = ["--max-length"]
        if of_source is not None:
            of += f", or a source of more than {of_source[0]:,} {of_source[1]},"
            options.append("--max-source-length")
        option = f" ({', '.join(options)})" if kind == "training" else ""
        say(f"{of} {_are(skipped.too_long)} left out{option}{_named(inputs, batches.too_long)}")


def tell_unknown(pairs, source, target, say):
    """Report the validation pairs with text that the vocabularies do not know.

    Args:
        pairs: `Pairs` in memory.
        source: `Source`.
        target: `Subwords`.
        say: Function of one string.
    """
    for line in report_unknown_pairs(pairs, source, target, " of the validation"):
        say(line)


def tell_pathless(batches, model, say):
    """Report the pairs from which the CTC loss learns nothing: they stay in the training.

    Args:
        batches: `BatchedPairs`, or other batches of training.
        model: `Seq2Seq`.
        say: Function of one string.
    """
    if not model.ctc_weight:
        return
    reduction = model.encoder.reduction
    count = batches.pathless(reduction)
    if count:
        have, them = ("has", "it") if count == 1 else ("have", "them")
        positions = "each position" if reduction == 1 else f"each {reduction} positions"
        say(
            f"{_pairs(count, 'training')} {have} more target tokens than CTC has places, one for "
            f"{positions} of the source: it learns nothing from {them}. Take an encoder or cells "
            "that shorten the source less, longer tokens such as subwords or words, or "
            "--ctc-weight 0"
        )


def _pairs(count, kind):
    return counted(count, f"{kind} pairs")


def _are(count):
    return "is" if count == 1 else "are"


def _named(inputs, rows):
    """The end of a line: the first of some inputs, and a count of the others; "" for none.

    Texts are named by their beginning: a pair may come from any line of several files.
    """
    names = [str(inputs[row]) for row in rows if isinstance(inputs[row], str | os.PathLike)]
    if not names:
        return ""
    cut = [name if len(name) <= LONGEST else f"{name[:LONGEST]}…" for name in names[:NAMED]]
    some = ", ".join(map(repr, cut))
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f": {some}{more}"


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
            count = "counts" if len(new) == 1 else "count"
            self.say(f"{_pairs(len(new), self.kind)} with a broken source {count} for nothing")
            _name_unreadable([self.inputs[row] for row in new], [0] * len(new), self.say)
            self.batches.require_readable()


def _name_unreadable(inputs, lengths, say):
    line = report_unreadable(inputs, lengths)
    if line:
        say(line)
