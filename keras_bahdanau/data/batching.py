"""Pairs of a source and a target text to padded batches, of similar length each."""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf

from keras_bahdanau.data.bucketing import BySentences, ByTokens
from keras_bahdanau.data.rows import AlignmentRows, SampledRows
from keras_bahdanau.sources.source import as_source
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.vocabulary import END, PAD, START

_BATCH_TOKENS = 2048


@dataclasses.dataclass(frozen=True)
class Skipped:
    """Counts of the pairs that are left out of training.

    Attributes:
        empty: Pairs with a side that has no token.
        too_long: Pairs with a side of more than `max_length` or `max_source_length` tokens.
    """

    empty: int
    too_long: int


class BatchedPairs:
    """Batches of pairs of similar length.

    A batch is `((features, target_in), target_out, weight)`. The features are those of the
    source, for text int32 ids `(rows, source_time)`. The others are `(rows, target_time)`, int32
    ids and float32 weights: `target_in` begins with the start token, `target_out` ends with the
    end token, `weight` is 1 on the real tokens of `target_out` and 0 on padding. With
    `alignments` the inputs are three, `(features, target_in, alignment)`, the last one
    `(rows, target_time, source_time)`: see `alignments.token_alignment`.

    Batches are measured in tokens or in sentences:

    - `batch_tokens`: by buckets of one fixed shape each. Since XLA compiles once per shape, there
      are at most `buckets` shapes; the rows of a bucket are spread evenly over its batches, so
      that at most one row of a batch is empty (all padding).
    - `batch_sentences`: as in Bahdanau et al. 2015, appendix B.2, who fetch 20 batches of 80
      pairs, sort them by length, and split them again. Each batch has a shape of its own.

    With `subword_sampling` each epoch splits the words anew, so that one sentence is many. The
    number of steps stays. A bucket can be a little longer than in `shapes`, if an epoch has
    longer sentences than the first one; a sentence longer than the longest of the
    first epoch, or than `max_length`, is split as a translator does it.

    Args:
        pairs: List of `(source, target)`: an input of the source, for text a string, and a
            string.
        source: A `Source`, or the `Subwords` of the source text.
        target: `Subwords` of the target text.
        batch_tokens: Positive integer, at most how many positions, padding included, one side of
            a batch has (a sentence longer than this has a batch of its own); 2048 if neither
            this nor `batch_sentences` is given.
        batch_sentences: Positive integer, the rows of a batch.
        buckets: Positive integer, the largest number of shapes, with `batch_tokens`. Their
            lengths are those that minimise the padding.
        sort_batches: Positive integer, with `batch_sentences`: so many batches are sorted at once.
        max_length: Positive integer. Pairs with more tokens than this on either side, the end
            token included, are left out and counted.
        max_source_length: Positive integer, likewise for the positions of the source alone;
            `max_length` if left out.
        alignments: List of sets of links `(source word, target word)`, one set for each pair,
            such as `read_alignments` gives; words are those of `sentence.split()`.
        subword_sampling: Float from 0 to 1, less than 1: the share of BPE's merges left out, or
            the smoothing of a unigram model's probabilities (see `SubwordSampler`); 0 for none.
            For training only, and without `alignments`.
        least_steps: Non-negative integer. An epoch passes over the pairs as often as it takes
            for so many batches: few pairs make short epochs otherwise.
        shuffle: True if each epoch has its own random order, and each of its passes.
        seed: Non-negative integer that, with the number of the epoch, decides its order.
        shard: Tuple (index, count) of a worker of a training: of each batch of r rows it gets
            the rows index, index + count, ... alone, and at least one, which may be empty. The
            batches of all workers together are those of one.

    Attributes:
        kept: Int array, which pairs take part.
        skipped: `Skipped`, how many pairs were left out and why.
        source_lengths: Int array `(pairs,)`, positions of each source, of those left out too.
        broken: Int array, pairs in the batches so far whose source gave nothing when it was
            decoded, though its header had promised more. Their weights are 0.
        shapes: Sequence of `(rows, length)`, one for each bucket, shortest first; empty with
            `batch_sentences`.
        steps: Integer, batches in an epoch; the same for each.
        tokens: Integer, real target tokens in a pass over the pairs, end tokens included; with
            `subword_sampling` those of the first one.

    Raises:
        ValueError: If a setting is not as above, no pair is left to train on, or `alignments`
            are not those of the pairs.

    Example:
        >>> data = BatchedPairs(pairs, source, target, batch_tokens=2048)
        >>> model.fit(data.dataset(), epochs=20, shuffle=False)  # it is shuffled already
        >>> rest_of_epoch_3 = data.epoch(3, first_step=120)
        >>> data = BatchedPairs(pairs, source, target, batch_sentences=80, sort_batches=20)
    """

    def __init__(
        self,
        pairs,
        source,
        target,
        batch_tokens: int | None = None,
        *,
        batch_sentences: int | None = None,
        buckets: int = 7,
        sort_batches: int = 20,
        max_length: int = 128,
        max_source_length: int | None = None,
        alignments=None,
        subword_sampling: float = 0.0,
        least_steps: int = 0,
        shuffle: bool = True,
        seed: int = 0,
        shard: tuple[int, int] = (0, 1),
    ):
        self._shard = _checked_shard(shard)
        batch_size = _batch_size(batch_tokens, batch_sentences)
        _check_integers(
            1, **batch_size, buckets=buckets, sort_batches=sort_batches, max_length=max_length
        )
        if max_source_length is not None:
            _check_integers(1, max_source_length=max_source_length)
        _check_integers(0, seed=seed, least_steps=least_steps)
        _check_sampling(subword_sampling, alignments)
        self.shuffle = shuffle
        self.seed = seed
        pairs = list(pairs)
        source = as_source(source)
        self._feature_spec = source.feature_spec
        self._source = source.rows([pair[0] for pair in pairs])
        self._target = IdRows.encoded(target, [pair[1] for pair in pairs])
        lengths = np.maximum(self._source.lengths, self._target.lengths)
        empty = (self._source.lengths == 0) | (self._target.lengths <= 1)  # <= 1: only the end
        source_length = max_length if max_source_length is None else max_source_length
        too_long = ~empty & (
            (self._source.lengths > source_length) | (self._target.lengths > max_length)
        )
        self.skipped = Skipped(int(empty.sum()), int(too_long.sum()))
        self.source_lengths = self._source.lengths
        self.kept = kept = np.flatnonzero(~empty & ~too_long)
        if not kept.size:
            raise ValueError(
                "At least one pair must have tokens on both sides and at most "
                f"max_length={max_length} of them. Received: {len(pairs)} pairs, of which "
                f"{self.skipped.empty} have an empty side and {self.skipped.too_long} are too "
                "long. Give other pairs or a larger max_length."
            )
        self._sampled = None
        rows = (self._source, self._target)
        if subword_sampling:
            self._sampled = SampledRows(
                pairs, kept, source, target, subword_sampling, rows, max_length, seed
            )
            rows = self._sampled.epoch(0)
            self._sampled.longest = max(int(side.lengths[kept].max()) for side in rows)
            lengths = np.maximum(*(side.lengths for side in rows))
        if batch_sentences is None:
            self._groups = ByTokens(kept, lengths, batch_size["batch_tokens"], buckets)
        else:
            self._groups = BySentences(
                kept, *(side.lengths for side in rows), batch_sentences, sort_batches
            )
        self.shapes = self._groups.shapes
        self._passes = max(1, -(-least_steps // self._groups.steps))
        self.steps = self._passes * self._groups.steps
        self.tokens = int(rows[1].lengths[kept].sum())
        self._alignments = None
        if alignments is not None:
            self._alignments = AlignmentRows(source, target, pairs, alignments, kept)

    @property
    def broken(self):
        return np.flatnonzero(getattr(self._source, "broken", ()))

    def require_readable(self):
        """Raise ValueError if all pairs have turned out to be broken."""
        if len(self.broken) == len(self.kept):
            raise ValueError(
                "At least one pair must have a source that can be read. "
                f"Received: {len(self.kept)} pairs, whose sources are all broken behind their "
                "headers. Give others."
            )

    def epoch(self, number: int, first_step: int = 0) -> tf.data.Dataset:
        """The batches of one epoch, always the same for the same seed and number.

        Args:
            number: Non-negative integer, which epoch.
            first_step: Integer from 0 to `steps`: so many batches are left out at the beginning,
                without being computed. To resume an interrupted epoch.

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
        return self._dataset(lambda: self._batches(number, first_step), self.steps - first_step)

    def dataset(self, first_epoch: int = 0) -> tf.data.Dataset:
        """A dataset whose every iteration is the next epoch, of known length `steps`.

        An iteration that is broken off counts, such as that of Keras, which takes the first
        batch to build a model.

        Args:
            first_epoch: Non-negative integer, the epoch of the first iteration.

        Raises:
            ValueError: If `first_epoch` is negative.
        """
        _check_integers(0, first_epoch=first_epoch)
        numbers = itertools.count(first_epoch)
        return self._dataset(lambda: self._batches(next(numbers), 0), self.steps)

    def _dataset(self, batches_of_epoch, steps):
        ids = tf.TensorSpec((None, None), tf.int32)
        weight = tf.TensorSpec((None, None), tf.float32)
        inputs = (self._feature_spec, ids)
        if self._alignments is not None:
            inputs += (tf.TensorSpec((None, None, None), tf.float32),)
        dataset = tf.data.Dataset.from_generator(
            batches_of_epoch, output_signature=(inputs, ids, weight)
        )
        counted = dataset.apply(tf.data.experimental.assert_cardinality(steps))
        options = tf.data.Options()
        # its thread sleeps in steps of up to ten seconds, and the end of an epoch waits for it
        options.autotune.enabled = False
        return counted.prefetch(2).with_options(options)

    def _batches(self, number, first_step):
        done, first_step = divmod(first_step, self._groups.steps)
        for one in range(number * self._passes + done, (number + 1) * self._passes):
            yield from self._batches_of_pass(one, first_step)
            first_step = 0

    def _batches_of_pass(self, number, first_step):
        random = np.random.default_rng((self.seed, number)) if self.shuffle else None
        sides, lengths = (self._source, self._target), None
        if self._sampled is not None:
            sides = self._sampled.epoch(number)
            lengths = np.stack([side.lengths for side in sides])  # -> (2, pairs)
        index, count = self._shard
        for members, (rows, *times) in self._groups.order(random, lengths)[first_step:]:
            own = max(1, len(range(index, rows, count)))
            yield self._batch(sides, members[index::count], own, *times)

    def _batch(self, sides, members, rows, source_time, target_time):
        features = sides[0].padded(members, (rows, source_time))
        target_out = sides[1].padded(members, (rows, target_time))
        target_in = np.full_like(target_out, PAD)
        target_in[: len(members), 0] = START
        target_in[:, 1:] = np.where(target_out == END, PAD, target_out)[:, :-1]
        weight = (target_out != PAD).astype(np.float32)
        weight[: len(members)][np.isin(members, self.broken)] = 0
        inputs = (features, target_in)
        if self._alignments is not None:
            inputs += (self._alignments.padded(members, (rows, target_time, source_time)),)
        return inputs, target_out, weight


def batches(pairs, source, target, batch_tokens: int | None = None, **settings) -> tf.data.Dataset:
    """Padded batches of pairs of similar length, for `model.fit`.

    Args:
        pairs: List of `(source, target)`: an input of the source, for text a string, and a
            string.
        source: A `Source`, or the `Subwords` of the source text.
        target: `Subwords` of the target text.
        batch_tokens: Positive integer, positions in one side of a batch, padding included; or
            give `batch_sentences`.
        **settings: The further settings of `BatchedPairs`.

    Returns:
        A `tf.data.Dataset` of `((features, target_in), target_out, weight)`, whose every
        iteration is the next epoch: see `BatchedPairs`. With `alignments` it is
        `((features, target_in, alignment), target_out, weight)`.

    Example:
        >>> model.fit(batches(pairs, source, target, batch_tokens=2048), epochs=20, shuffle=False)
    """
    return BatchedPairs(pairs, source, target, batch_tokens, **settings).dataset()


def _batch_size(batch_tokens, batch_sentences):
    """The one of the two that measures batches, with its name."""
    if batch_sentences is None:
        return {"batch_tokens": _BATCH_TOKENS if batch_tokens is None else batch_tokens}
    if batch_tokens is None:
        return {"batch_sentences": batch_sentences}
    raise ValueError(
        "Batches are measured either by `batch_tokens` or by `batch_sentences`. Received: "
        f"batch_tokens={batch_tokens!r}, batch_sentences={batch_sentences!r}. "
        "Leave one of them out, or give None for it."
    )


def _checked_shard(shard):
    """The (index, count) of a worker."""
    index, count = shard
    _check_integers(1, count=count)
    _check_integers(0, index=index)
    if index >= count:
        raise ValueError(
            "`shard` must be (index, count) with an index below the count. "
            f"Received: shard={shard!r}"
        )
    return index, count


def _check_sampling(subword_sampling, alignments):
    number = isinstance(subword_sampling, int | float) and not isinstance(subword_sampling, bool)
    if not number or not 0 <= subword_sampling < 1:
        raise ValueError(
            "`subword_sampling` must be a number from 0 to 1, less than 1. "
            f"Received: subword_sampling={subword_sampling!r}"
        )
    if subword_sampling and alignments is not None:
        raise ValueError(
            "Alignments go with words that are split in one way. Received: alignments, with "
            f"subword_sampling={subword_sampling!r}. Leave one of them out."
        )


def _check_integers(smallest, **settings):
    for name, value in settings.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
            raise ValueError(
                f"`{name}` must be an integer of at least {smallest}. Received: {name}={value!r}"
            )
