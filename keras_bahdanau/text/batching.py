"""Sentence pairs to length-bucketed, padded batches of ids."""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf

from keras_bahdanau.text.tokenizer import END, PAD, START

_CHUNK = 8192  # sentences that are tokenized at once


@dataclasses.dataclass(frozen=True)
class Skipped:
    """How many pairs do not take part in training.

    Attributes:
        empty: Pairs with a side that has no token.
        too_long: Pairs with a side of more than `max_length` tokens.
    """

    empty: int
    too_long: int


class BatchedPairs:
    """Batches of sentence pairs of similar length, each bucket with one fixed shape.

    A batch is `((source, target_in), target_out, weight)`, all `(rows, length)`: int32 ids and
    float32 weights. `target_in` begins with the start token, `target_out` ends with the end
    token, `weight` is 1 on the real tokens of `target_out` and 0 on padding. Since XLA compiles
    once per shape, there are at most `buckets` shapes; the rows of a bucket are spread evenly
    over its batches, so that at most one row of a batch is empty (all padding).

    Args:
        pairs: List of `(source, target)` strings.
        tokenizer: A `Tokenizer`.
        batch_tokens: Positive integer, at most how many positions, padding included, one side of
            a batch has (a sentence longer than this has a batch of its own).
        buckets: Positive integer, the largest number of shapes. Their lengths are those that
            minimise the padding.
        max_length: Positive integer. Pairs with more tokens than this on either side, the end
            token included, are left out and counted.
        shuffle: Whether each epoch has its own random order.
        seed: Non-negative integer that, with the number of the epoch, decides its order.

    Attributes:
        skipped: `Skipped`, how many pairs were left out and why.
        shapes: List of `(rows, length)`, one for each bucket, shortest first.
        steps: Integer, batches in an epoch; the same for each.
        tokens: Integer, real target tokens in an epoch, end tokens included.

    Raises:
        ValueError: If a setting is not as above, or no pair is left to train on.

    Example:
        >>> data = BatchedPairs(pairs, tokenizer, batch_tokens=2048)
        >>> model.fit(data.dataset(), epochs=20, shuffle=False)  # it is shuffled already
        >>> rest_of_epoch_3 = data.epoch(3, first_step=120)
    """

    def __init__(
        self,
        pairs,
        tokenizer,
        batch_tokens: int = 2048,
        *,
        buckets: int = 7,
        max_length: int = 128,
        shuffle: bool = True,
        seed: int = 0,
    ):
        _check_integers(1, batch_tokens=batch_tokens, buckets=buckets, max_length=max_length)
        _check_integers(0, seed=seed)
        self.shuffle = shuffle
        self.seed = seed
        pairs = list(pairs)
        self._source = _Rows(tokenizer.tokenize_source, [source for source, _ in pairs])
        self._target = _Rows(tokenizer.tokenize_target, [target for _, target in pairs])
        lengths = np.maximum(self._source.lengths, self._target.lengths)
        empty = (self._source.lengths == 0) | (self._target.lengths <= 1)  # <= 1: only the end
        too_long = ~empty & (lengths > max_length)
        self.skipped = Skipped(int(empty.sum()), int(too_long.sum()))
        kept = np.flatnonzero(~empty & ~too_long)
        if not kept.size:
            raise ValueError(
                "At least one pair must have tokens on both sides and at most "
                f"max_length={max_length} of them. Received: {len(pairs)} pairs, of which "
                f"{self.skipped.empty} have an empty side and {self.skipped.too_long} are too "
                "long. Give other pairs or a larger max_length."
            )
        self._buckets = _bucketed(kept, lengths, batch_tokens, buckets)
        self.shapes = [(bucket.rows, bucket.length) for bucket in self._buckets]
        self.steps = sum(bucket.steps for bucket in self._buckets)
        self.tokens = int(self._target.lengths[kept].sum())

    def epoch(self, number: int, first_step: int = 0) -> tf.data.Dataset:
        """The batches of one epoch, always the same for the same seed and number.

        Args:
            number: Non-negative integer, which epoch.
            first_step: Integer from 0 to `steps`: so many batches are left out at the beginning,
                without being computed. For going on with an interrupted epoch.

        Returns:
            A `tf.data.Dataset` of known length `steps - first_step`.

        Raises:
            ValueError: If `number` is negative or `first_step` is not from 0 to `steps`.
        """
        _check_integers(0, number=number, first_step=first_step)
        if first_step > self.steps:
            raise ValueError(
                f"`first_step` must be from 0 to {self.steps}, the number of steps of an epoch. "
                f"Received: first_step={first_step!r}"
            )
        return _dataset(lambda: self._batches(number, first_step), self.steps - first_step)

    def dataset(self) -> tf.data.Dataset:
        """A dataset whose every iteration is the next epoch, of known length `steps`.

        An iteration that is broken off counts, such as Keras' look at the first batch when it
        builds a model.
        """
        numbers = itertools.count()
        return _dataset(lambda: self._batches(next(numbers), 0), self.steps)

    def _batches(self, number, first_step):
        for bucket, members in self._order(number)[first_step:]:
            yield self._batch(bucket, members)

    def _order(self, number):
        """List of (bucket, pair indices) in the order of the epoch."""
        random = np.random.default_rng((self.seed, number))
        order = []
        for bucket in self._buckets:
            members = random.permutation(bucket.members) if self.shuffle else bucket.members
            order += [(bucket, part) for part in np.array_split(members, bucket.steps)]
        if self.shuffle:
            random.shuffle(order)
        return order

    def _batch(self, bucket, members):
        shape = (bucket.rows, bucket.length)
        source = self._source.padded(members, shape)
        target_out = self._target.padded(members, shape)
        target_in = np.full(shape, PAD, np.int32)
        target_in[: len(members), 0] = START
        target_in[:, 1:] = np.where(target_out == END, PAD, target_out)[:, :-1]
        weight = (target_out != PAD).astype(np.float32)
        return (source, target_in), target_out, weight


def batches(pairs, tokenizer, batch_tokens: int = 2048, **settings) -> tf.data.Dataset:
    """Length-bucketed, padded batches of sentence pairs, for `model.fit`.

    Args:
        pairs: List of `(source, target)` strings.
        tokenizer: A `Tokenizer`.
        batch_tokens: Positive integer, positions in one side of a batch, padding included.
        **settings: The further settings of `BatchedPairs`.

    Returns:
        A `tf.data.Dataset` of `((source, target_in), target_out, weight)`, each
        `(rows, length)`, whose every iteration is the next epoch.

    Example:
        >>> model.fit(batches(pairs, tokenizer, batch_tokens=2048), epochs=20, shuffle=False)
    """
    return BatchedPairs(pairs, tokenizer, batch_tokens, **settings).dataset()


class _Rows:
    """Rows of ids of different lengths, in one flat array."""

    def __init__(self, tokenize, sentences):
        chunks = [
            tokenize(tf.constant(sentences[first : first + _CHUNK]))
            for first in range(0, len(sentences), _CHUNK)
        ]
        self.lengths = _joined([chunk.row_lengths() for chunk in chunks], np.int64)
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._values = _joined([chunk.values for chunk in chunks], np.int32)

    def padded(self, members, shape):
        """The member rows as an int32 array of the shape, padded."""
        rows = np.full(shape, PAD, np.int32)
        time = np.arange(shape[1])
        real = time < self.lengths[members][:, None]
        positions = self._starts[members][:, None] + time
        rows[: len(members)][real] = self._values[positions[real]]
        return rows


@dataclasses.dataclass(frozen=True)
class _Bucket:
    members: np.ndarray
    length: int
    rows: int
    steps: int


def _bucketed(kept, lengths, batch_tokens, buckets):
    """Sorts the kept pairs into buckets."""
    bounds = _bounds(lengths[kept], batch_tokens, buckets)
    bucket_of = np.searchsorted(bounds, lengths[kept])
    result = []
    for index, length in enumerate(bounds):
        members = kept[bucket_of == index]
        rows, steps = _grid(len(members), length, batch_tokens)
        result.append(_Bucket(members, int(length), int(rows), int(steps)))
    return result


def _grid(count, length, batch_tokens):
    """Rows and steps of a bucket: as few steps as `batch_tokens` allows, evenly filled."""
    steps = -(-count // np.maximum(1, batch_tokens // length))
    return -(-count // np.maximum(1, steps)), steps


def _bounds(lengths, batch_tokens, buckets):
    """The bucket lengths with the fewest positions, real and padded, in all batches.

    With cost[a, b], the positions of one bucket for all lengths after the a-th up to the b-th,
    best_k[b] = min over a of best_{k-1}[a] + cost[a, b] is exact.
    """
    lengths, counts = np.unique(lengths, return_counts=True)
    until = np.concatenate([[0], np.cumsum(counts)])
    padded_to = np.concatenate([[1], lengths])[None, :]
    rows, steps = _grid(np.maximum(0, until[None, :] - until[:, None]), padded_to, batch_tokens)
    cost = np.where(until[:, None] <= until[None, :], rows * steps * padded_to, np.inf)
    best, previous = cost[0], []
    for _ in range(min(buckets, len(lengths)) - 1):
        totals = best[:, None] + cost
        previous.append(totals.argmin(axis=0))
        best = totals.min(axis=0)
    last, ends = len(lengths), {len(lengths)}
    for step in reversed(previous):
        last = int(step[last])
        ends.add(last)
    return lengths[[end - 1 for end in sorted(ends) if end > 0]]


def _dataset(batches_of_epoch, steps):
    ids = tf.TensorSpec((None, None), tf.int32)
    weight = tf.TensorSpec((None, None), tf.float32)
    dataset = tf.data.Dataset.from_generator(
        batches_of_epoch, output_signature=((ids, ids), ids, weight)
    )
    return dataset.apply(tf.data.experimental.assert_cardinality(steps)).prefetch(tf.data.AUTOTUNE)


def _joined(arrays, dtype):
    return np.concatenate([np.zeros(0, dtype), *(np.asarray(array) for array in arrays)])


def _check_integers(smallest, **settings):
    for name, value in settings.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
            raise ValueError(
                f"`{name}` must be an integer of at least {smallest}. Received: {name}={value!r}"
            )
