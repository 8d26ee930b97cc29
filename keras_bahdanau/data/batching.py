"""Padded batches that group pairs of similar length."""

import os

import numpy as np
import tensorflow as tf

from keras_bahdanau.data.bucketing import BySentences, ByTokens, bucket_shapes
from keras_bahdanau.data.epochs import (
    Epochs,
    check_batching,
    checked_worker,
    count_pathless,
    padded_batch,
    require_usable,
    usable,
)
from keras_bahdanau.data.rows import AlignmentRows, SampledRows
from keras_bahdanau.settings.guesses import check_constructor
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.host_text import check_pairs
from keras_bahdanau.text.id_rows import IdRows


@check_constructor
class BatchedPairs(Epochs):
    """Batches of pairs of similar length.

    A batch is `((features, target_in), target_out, weight)`. `features` are the source's features,
    which for text are int32 ids `(rows, source_time)`. `target_in` and `target_out` are int32 ids,
    and `weight` is float32, all `(rows, target_time)`. `target_in` begins with the start token, and
    `target_out` ends with the end token. `weight` is 1 for real tokens of `target_out` and 0 for
    padding. With `alignments`, the inputs are `(features, target_in, alignment)`, where `alignment`
    is `(rows, target_time, source_time)`: see `alignments.token_alignment`.

    - With `batch_tokens`, there are at most `buckets` fixed shapes, because XLA compiles once per
    shape. The pairs of a bucket are spread evenly over its batches, so that at most one row of a
    batch is empty (only padding).
    - With `batch_sentences`, as in Bahdanau et al. 2015, appendix B.2, the pairs of several batches
    are fetched, sorted by length, and split into batches again (20 batches of 80 pairs in the
    paper). Each batch has its own shape.

    With `subword_sampling`, each epoch splits the words at random again, in the same number of
    steps. A bucket grows beyond its shape in `shapes` if an epoch has longer sentences than the
    first one. A sentence that would be longer than the longest sentence of the first epoch, or than
    `max_length`, is split without sampling.

    Args:
        pairs: List of `(source, target)`: an input of the source, which for text is a string, and a
            string.
        source: A `Source`, or the `Subwords` of the source text.
        target: `Subwords` of the target text.
        batch_tokens: Positive integer, the maximum number of positions on one side of a batch,
            including padding. A longer sentence gets its own batch. The default is 2048 if
            `batch_sentences` is not given either.
        batch_sentences: Positive integer, the number of rows in a batch.
        buckets: Positive integer, the maximum number of shapes with `batch_tokens`. Their lengths
            are chosen to minimize padding.
        sort_batches: Positive integer, the number of batches that are sorted together with
            `batch_sentences`.
        max_length: Positive integer, the maximum number of tokens on either side, including the end
            token. Longer pairs are left out and counted.
        max_source_length: Positive integer, the maximum number of source positions; None to use
            `max_length`.
        alignments: List with a set of links `(source word, target word)` for each pair, as from
            `read_alignments`. The words are those of `sentence.split()`. Instead of a set, an item
            may be an array of weights: see `text.word_weights`.
        subword_sampling: Float in [0, 1): the fraction of BPE merges that are left out, or the
            smoothing of a unigram model's probabilities (see `SubwordSampler`); 0 for none. It
            can't be combined with `alignments`.
        least_steps: Non-negative integer. An epoch repeats the pairs until it has at least this
            many batches.
        shuffle: True to use a random order in each pass.
        seed: Non-negative integer that determines the order of an epoch, together with its number.
        shard: Tuple (index, count) for a worker, which gets the rows index, index + count, ... of
            each batch. It gets at least one row, which may be empty.

    Attributes:
        used: Int array, the indices of the pairs that are used.
        skipped: `Skipped`, the number of pairs that were left out for each reason.
        too_long: Int array, the indices of the pairs that were left out because they are too long.
        source_lengths: Int array `(pairs,)`, the positions of each source, including those that are
            left out.
        broken: Int array, the indices of pairs found so far whose source can't be decoded although
            its header is valid. Their weights are 0.
        shapes: Sequence of bucket shapes `(rows, length)`, shortest first; empty with
            `batch_sentences`.
        steps: Integer, the number of batches in each epoch.
        tokens: Integer, the number of real target tokens in the first pass, including end tokens.

    Raises:
        TypeError: If `source` can't read an input.
        ValueError: If a setting is invalid, no pair is left to train on, `alignments` do not match
            the pairs, or an array has a shape that `source` can't read.

    Example:
        >>> data = BatchedPairs(pairs, source, target, batch_tokens=2048)
        >>> model.fit(data.dataset(), epochs=20, shuffle=False)  # already shuffled
        >>> rest_of_epoch_3 = data.epoch(3, first_step=120)
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
        self._shard = checked_worker(shard)
        batch_tokens = check_batching(
            batch_tokens,
            batch_sentences,
            buckets=buckets,
            sort_batches=sort_batches,
            max_length=max_length,
            max_source_length=max_source_length,
            least_steps=least_steps,
            seed=seed,
        )
        _check_sampling(subword_sampling, alignments)
        self.shuffle = shuffle
        self.seed = seed
        pairs = list(pairs)
        check_pairs(pairs)
        source = source_of(source)
        _check_arrays(source, [pair[0] for pair in pairs])
        self._source = source.rows([pair[0] for pair in pairs])
        texts = [text[:0] if is_blank(text) else text for _, text in pairs]
        self._target = IdRows.encoded(target, texts)
        lengths = (self._source.lengths, self._target.lengths)
        is_used, self.skipped = usable(lengths, max_length, max_source_length)
        require_usable(len(pairs), self.skipped, max_length, max_source_length)
        self.source_lengths = self._source.lengths
        self.used = used = np.flatnonzero(is_used)
        self.too_long = np.flatnonzero(~is_used & (lengths[0] > 0) & (lengths[1] > 1))
        self._sampled = None
        rows = (self._source, self._target)
        if subword_sampling:
            longest = max_source_length or max_length, max_length
            self._sampled = SampledRows(
                pairs, used, source, target, subword_sampling, rows, longest, seed
            )
            rows = self._sampled.epoch(0)
            self._sampled.longest = [int(side.lengths[used].max()) for side in rows]
        lengths = np.stack([side.lengths for side in rows])  # -> (2, pairs)
        if batch_sentences is None:
            longer = lengths.max(axis=0)
            counts = np.bincount(longer[used])[None, None]
            shapes, steps = bucket_shapes(counts, batch_tokens, buckets)
            self._groups = ByTokens(used, longer, shapes, steps[0])
        else:
            self._groups = BySentences(used, lengths, batch_sentences, sort_batches)
        self.shapes = self._groups.shapes
        self.tokens = int(lengths[1, used].sum())
        self._alignments = None
        if alignments is not None:
            self._alignments = AlignmentRows(source, target, pairs, alignments, used)
        aligned = alignments is not None
        super().__init__(self._groups.steps, least_steps, source.feature_spec, aligned)

    @property
    def broken(self):
        return np.flatnonzero(getattr(self._source, "broken", ()))

    def require_readable(self):
        """Raise ValueError if all pairs have turned out to be broken."""
        if len(self.broken) == len(self.used):
            raise ValueError(
                "At least one pair must have a source that can be decoded. "
                f"Received: {len(self.used)} pairs, whose sources all have valid headers but "
                "broken content. Give other files."
            )

    def lengths(self):
        """Yield (positions of the sources, tokens of the targets) for the pairs that are used."""
        yield self._source.lengths[self.used], self._target.lengths[self.used]

    def pathless(self, reduction):
        """Count the pairs with too few positions for CTC, without sampling.

        See `epochs.count_pathless`.
        """
        return count_pathless((self._source, self._target), self.used, reduction)

    def _batches_of_pass(self, number, first_step):
        random = np.random.default_rng((self.seed, number)) if self.shuffle else None
        sides, lengths = (self._source, self._target), None
        if self._sampled is not None:
            sides = self._sampled.epoch(number)
            lengths = np.stack([side.lengths for side in sides])  # -> (2, pairs)
        order = self._groups.split(random, lengths)
        if random:
            random.shuffle(order)
        index, count = self._shard
        for members, (rows, *times) in order[first_step:]:
            share = max(1, len(range(index, rows, count)))
            yield self._batch(sides, members[index::count], (share, *times))

    def _batch(self, sides, members, shape):
        features, target_in, target_out, weight = padded_batch(sides, members, shape)
        weight[: len(members)][np.isin(members, self.broken)] = 0
        inputs = (features, target_in)
        if self._alignments is not None:
            rows, source_time, target_time = shape
            inputs += (self._alignments.padded(members, (rows, target_time, source_time)),)
        return inputs, target_out, weight


def batches(pairs, source, target, batch_tokens: int | None = None, **settings) -> tf.data.Dataset:
    """Return `BatchedPairs` as a `tf.data.Dataset`, where each iteration is the next epoch.

    Example:
        >>> model.fit(batches(pairs, source, target, batch_tokens=2048), epochs=20, shuffle=False)
    """
    return BatchedPairs(pairs, source, target, batch_tokens, **settings).dataset()


def _check_arrays(source, inputs):
    """Raise an error for an array that the source can't read. Files are checked when decoded."""
    arrays = [raw for raw in inputs if not isinstance(raw, bytes | os.PathLike)]
    if arrays:
        source.check("sources", arrays)


def _check_sampling(subword_sampling, alignments):
    number = isinstance(subword_sampling, int | float) and not isinstance(subword_sampling, bool)
    if not number or not 0 <= subword_sampling < 1:
        raise ValueError(
            "`subword_sampling` must be a number in [0, 1). "
            f"Received: subword_sampling={subword_sampling!r}"
        )
    if subword_sampling and alignments is not None:
        raise ValueError(
            "Alignments need words that are always split in the same way. Received: alignments, "
            f"with subword_sampling={subword_sampling!r}. Leave one of them out."
        )
