"""Epochs of padded batches, which are determined by a seed and can resume at any batch."""

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
MOST = 2**32 - 1  # largest seed, and largest batch number


@dataclasses.dataclass(frozen=True)
class Skipped:
    """Numbers of pairs left out of training: with an `empty` side, or `too_long`."""

    empty: int
    too_long: int


class Epochs(abc.ABC):
    """Batches for all epochs of training, from pairs in memory or on disk.

    `unknown` is a function, such as `UnknownCharacters`, from a batch, its step and its pass to a
    modified batch, or None. `steps` is the number of batches in an epoch, which consists of whole
    passes and has at least `least_steps` batches.
    """

    def __init__(self, steps, least_steps, feature_spec, aligned=False):
        self.feature_spec = feature_spec
        self.unknown = None
        self._error = None  # the error raised while a batch was created
        self._steps_of_pass = steps
        self._passes = max(1, -(-least_steps // steps))
        self.steps = self._passes * steps
        ids = tf.TensorSpec((None, None), tf.int32)
        weight = tf.TensorSpec((None, None), tf.float32)
        alignment = [tf.TensorSpec((None, None, None), tf.float32)] if aligned else []
        self._signature = ((feature_spec, ids, *alignment), ids, weight)

    @abc.abstractmethod
    def _batches_of_pass(self, number, first_step):
        """Yield the batches of one pass over the pairs, from `first_step` on."""

    def epoch(self, number: int, first_step: int = 0) -> tf.data.Dataset:
        """Return the batches of an epoch, which depend only on the seed and the epoch's number.

        Raises ValueError if an argument is out of range.
        """
        self._check_epoch(number, first_step)
        return self._dataset(lambda: self._batches(number, first_step), self.steps - first_step)

    def arrays(self, number: int, first_step: int = 0):
        """Return the same batches as an iterator of NumPy arrays. Raises as `epoch` does."""
        self._check_epoch(number, first_step)
        return self._batches(number, first_step)

    def dataset(self, first_epoch: int = 0) -> tf.data.Dataset:
        """Return a dataset where each iteration, even an interrupted one, is the next epoch."""
        check_integers(0, first_epoch=first_epoch)
        numbers = itertools.count(first_epoch)
        return self._dataset(lambda: self._batches(next(numbers), 0), self.steps)

    @contextlib.contextmanager
    def errors(self):
        """Context manager that raises the original error of a batch in a loop such as `model.fit`.

        TensorFlow would replace it with its own error.
        """
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
        # its thread sleeps for up to ten seconds at a time, which delays the end of an epoch
        options.autotune.enabled = False
        return counted.prefetch(2).with_options(options)

    def _check_epoch(self, number, first_step):
        check_integers(0, number=number, first_step=first_step)
        if first_step > self.steps:
            raise ValueError(
                f"`first_step` must be from 0 to {self.steps}, the number of steps in an epoch. "
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
    """Determine which pairs can be used, from the lengths of both sides, including end tokens.

    Returns (bool array `(pairs,)` that is True for usable pairs, `Skipped`).
    """
    source, target = lengths
    empty = (source == 0) | (target <= 1)  # 1: only the end token
    longest = max_length if max_source_length is None else max_source_length
    too_long = ~empty & ((source > longest) | (target > max_length))
    return ~empty & ~too_long, Skipped(int(empty.sum()), int(too_long.sum()))


def count_pathless(sides, used, reduction):
    """Count the `used` pairs whose source is too short for CTC to output the target.

    CTC needs a position for each label, and one between two equal labels: see `models.ctc_loss`.
    """
    source, target = (rows.lengths for rows in sides)
    labels = target - 1  # the end token is not a label
    positions = -(-source // reduction)
    return int((positions < labels + sides[1].repeats())[used].sum())


def require_usable(count, skipped, max_length, max_source_length=None):
    """Raise ValueError if all `count` pairs are left out."""
    if skipped.empty + skipped.too_long == count:
        limit, remedy = "", ""
        if max_source_length not in (None, max_length):
            limit = f", or max_source_length={max_source_length} source positions"
            remedy = " or max_source_length"
        raise ValueError(
            "At least one pair must have tokens on both sides, and at most "
            f"max_length={max_length} of them{limit}. Received: {count} pairs, of which "
            f"{skipped.empty} have an empty side and {skipped.too_long} are too "
            f"long. Give other pairs, or a larger max_length{remedy}."
        )


def check_batching(
    batch_tokens, batch_sentences, *, least_steps, seed, max_source_length, **counts
):
    """Check the settings shared by all types of batches.

    Returns `batch_tokens`, or None if batches are measured in sentences.
    """
    if batch_tokens is not None and batch_sentences is not None:
        raise ValueError(
            "Give either `batch_tokens` or `batch_sentences`, not both. Received: "
            f"batch_tokens={batch_tokens!r}, batch_sentences={batch_sentences!r}. "
            "Leave one of them out, or set it to None."
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
    """Raise ValueError unless each setting is an integer from `smallest` to `MOST`."""
    for name, value in settings.items():
        integral = isinstance(value, Integral) and not isinstance(value, bool)
        if not integral or not smallest <= value <= MOST:
            raise ValueError(
                f"`{name}` must be an integer from {smallest} to {MOST:,}. "
                f"Received: {name}={value!r}"
            )


def checked_worker(shard):
    """Return (index, count) of `shard`. Raises ValueError if a value is out of range."""
    index, count = shard
    check_value("count", count, integer(1, MOST_WORKERS))
    check_value("index", index, integer(0, count - 1))
    return index, count


def padded_batch(sides, members, shape):
    """Return (features, target_in, target_out, weight) of a batch: see `BatchedPairs`."""
    rows, source_time, target_time = shape
    features = sides[0].padded(members, (rows, source_time))
    target_out = sides[1].padded(members, (rows, target_time))
    target_in = np.full_like(target_out, PAD)
    target_in[: len(members), 0] = START
    target_in[:, 1:] = np.where(target_out == END, PAD, target_out)[:, :-1]
    weight = (target_out != PAD).astype(np.float32)
    return features, target_in, target_out, weight
