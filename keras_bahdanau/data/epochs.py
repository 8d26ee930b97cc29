"""Epochs of padded batches: reproducible by seed, and resumable at any batch."""

import abc
import contextlib
import dataclasses
import itertools
from numbers import Integral

import numpy as np
import tensorflow as tf

from keras_bahdanau.settings.limits import MOST_WORKERS
from keras_bahdanau.settings.option import check_value, integer
from keras_bahdanau.text.vocabulary import END, PAD, START

_BATCH_TOKENS = 2048
MOST = 2**32 - 1  # largest seed, and largest number of a batch


@dataclasses.dataclass(frozen=True)
class Skipped:
    """Counts of pairs left out of training: `empty` on a side, or `too_long`."""

    empty: int
    too_long: int


class Epochs(abc.ABC):
    """Batches of all epochs of a training, from pairs in memory or on disk.

    `unknown`, such as `UnknownCharacters`, maps a batch, its step and its pass to a batch. `steps`
    is the number of batches of an epoch: whole passes, at least `least_steps`.
    """

    def __init__(self, steps, least_steps, feature_spec, aligned=False):
        self.feature_spec = feature_spec
        self.unknown = None
        self._error = None  # of the batch that could not be made
        self._steps_of_pass = steps
        self._passes = max(1, -(-least_steps // steps))
        self.steps = self._passes * steps
        ids = tf.TensorSpec((None, None), tf.int32)
        weight = tf.TensorSpec((None, None), tf.float32)
        alignment = [tf.TensorSpec((None, None, None), tf.float32)] if aligned else []
        self._signature = ((feature_spec, ids, *alignment), ids, weight)

    @abc.abstractmethod
    def _batches_of_pass(self, number, first_step):
        """Yield the batches of one pass over the pairs, without the first ones."""

    def epoch(self, number: int, first_step: int = 0) -> tf.data.Dataset:
        """Batches of one epoch, the same for one seed and number; ValueError if out of range."""
        self._check_epoch(number, first_step)
        return self._dataset(lambda: self._batches(number, first_step), self.steps - first_step)

    def arrays(self, number: int, first_step: int = 0):
        """The same batches as an iterator of NumPy arrays, made on demand. Raises as `epoch`."""
        self._check_epoch(number, first_step)
        return self._batches(number, first_step)

    def dataset(self, first_epoch: int = 0) -> tf.data.Dataset:
        """A dataset; each iteration, even an interrupted one, is the next epoch."""
        check_integers(0, first_epoch=first_epoch)
        numbers = itertools.count(first_epoch)
        return self._dataset(lambda: self._batches(next(numbers), 0), self.steps)

    @contextlib.contextmanager
    def errors(self):
        """Raise a batch's own error around a loop such as `model.fit`; TensorFlow replaces it."""
        try:
            yield
        except tf.errors.OpError:
            if self._error is None:
                raise
            raise self._error from None

    def _dataset(self, batches_of_epoch, steps):
        def batches():
            try:
                yield from batches_of_epoch()
            except Exception as error:
                self._error = error
                raise

        dataset = tf.data.Dataset.from_generator(batches, output_signature=self._signature)
        counted = dataset.apply(tf.data.experimental.assert_cardinality(steps))
        options = tf.data.Options()
        # its thread sleeps in steps of up to ten seconds, and the end of an epoch waits for it
        options.autotune.enabled = False
        return counted.prefetch(2).with_options(options)

    def _check_epoch(self, number, first_step):
        check_integers(0, number=number, first_step=first_step)
        if first_step > self.steps:
            raise ValueError(
                f"`first_step` must be from 0 to {self.steps}, the number of steps of an epoch. "
                f"Received: first_step={first_step!r}"
            )

    def _batches(self, number, first_step):
        done, first_step = divmod(first_step, self._steps_of_pass)
        for turn in range(number * self._passes + done, (number + 1) * self._passes):
            batches = self._batches_of_pass(turn, first_step)
            if self.unknown is not None:
                steps = itertools.count(first_step)
                batches = (self.unknown(*pair, turn) for pair in zip(batches, steps, strict=False))
            yield from batches
            first_step = 0


def usable(lengths, max_length, max_source_length=None):
    """(used bool `(pairs,)`, `Skipped`) by int `lengths` of both sides, end tokens included."""
    source, target = lengths
    empty = (source == 0) | (target <= 1)  # <= 1: only the end
    longest = max_length if max_source_length is None else max_source_length
    too_long = ~empty & ((source > longest) | (target > max_length))
    return ~empty & ~too_long, Skipped(int(empty.sum()), int(too_long.sum()))


def count_pathless(sides, used, reduction):
    """Number of the `used` pairs whose source is too short for CTC to write the text.

    CTC needs a position for each label and one between two equal labels: see `models.ctc_loss`.
    """
    source, target = (rows.lengths for rows in sides)
    labels = target - 1  # without the end token
    positions = -(-source // reduction)
    return int((positions < labels + sides[1].repeats())[used].sum())


def require_usable(count, skipped, max_length, max_source_length=None):
    """Raise ValueError if all `count` pairs are left out."""
    if skipped.empty + skipped.too_long == count:
        limit, remedy = "", ""
        if max_source_length not in (None, max_length):
            limit = f", or max_source_length={max_source_length} positions of the source"
            remedy = " or max_source_length"
        raise ValueError(
            "At least one pair must have tokens on both sides and at most "
            f"max_length={max_length} of them{limit}. Received: {count} pairs, of which "
            f"{skipped.empty} have an empty side and {skipped.too_long} are too "
            f"long. Give other pairs or a larger max_length{remedy}."
        )


def check_batching(
    batch_tokens, batch_sentences, *, least_steps, seed, max_source_length, **counts
):
    """Check the settings that all batches share; return `batch_tokens`, None for sentences."""
    if batch_tokens is not None and batch_sentences is not None:
        raise ValueError(
            "Batches are measured either by `batch_tokens` or by `batch_sentences`. Received: "
            f"batch_tokens={batch_tokens!r}, batch_sentences={batch_sentences!r}. "
            "Leave one of them out, or give None for it."
        )
    if batch_sentences is not None:
        counts["batch_sentences"] = batch_sentences
    else:
        counts["batch_tokens"] = _BATCH_TOKENS if batch_tokens is None else batch_tokens
    if max_source_length is not None:
        counts["max_source_length"] = max_source_length
    check_integers(1, **counts)
    check_integers(0, seed=seed, least_steps=least_steps)
    return None if batch_sentences is not None else int(counts["batch_tokens"])


def check_integers(smallest, **settings):
    """Raise ValueError if a setting of these names is no integer from the smallest to `MOST`."""
    for name, value in settings.items():
        integral = isinstance(value, Integral) and not isinstance(value, bool)
        if not integral or not smallest <= value <= MOST:
            raise ValueError(
                f"`{name}` must be an integer from {smallest} to {MOST:,}. "
                f"Received: {name}={value!r}"
            )


def checked_worker(shard):
    """(index, count) of `shard`."""
    index, count = shard
    check_value("count", count, integer(1, MOST_WORKERS))
    check_value("index", index, integer(0, count - 1))
    return index, count


def padded_batch(sides, members, shape):
    """(features, target_in, target_out, weight) of one batch: see `BatchedPairs`."""
    rows, source_time, target_time = shape
    features = sides[0].padded(members, (rows, source_time))
    target_out = sides[1].padded(members, (rows, target_time))
    target_in = np.full_like(target_out, PAD)
    target_in[: len(members), 0] = START
    target_in[:, 1:] = np.where(target_out == END, PAD, target_out)[:, :-1]
    weight = (target_out != PAD).astype(np.float32)
    return features, target_in, target_out, weight
