"""Batches from a corpus on disk, which is read in windows, in a new order in each epoch."""

import itertools
from typing import NamedTuple

import numpy as np

from keras_bahdanau.data.bucketing import BySentences, ByTokens, bucket_shapes
from keras_bahdanau.data.epochs import (
    Epochs,
    Skipped,
    check_batching,
    checked_worker,
    count_pathless,
    padded_batch,
    require_usable,
    usable,
)
from keras_bahdanau.settings.limits import MOST_SHARDS

WINDOW = 2**19  # pairs to read and shuffle together: some 100 MB of ids, or 15 MB for files
SPREAD = 256  # number of shards in a window, which limits the open files


class ShardWindow(NamedTuple):
    """Pairs that are read together: part `part` of `parts` equal parts of each of the `shards`."""

    shards: range
    part: int
    parts: int


class ShardedBatches(Epochs):
    """Batches of pairs of similar length, from shards on disk.

    The batches are like those of `BatchedPairs`, with the same shapes for the whole corpus. The
    pairs are read in windows of limited size. A window contains the same fraction of each shard,
    or, if there are more than 256 shards, of every G-th shard, so it is a sample of the whole
    corpus. An epoch reads one window at a time, in random order, and shuffles the pairs within it.
    Memory does not grow with the corpus. An epoch can resume without reading earlier windows.

    With `shard`, each worker reads a part of every shard. No pair is left out or read twice. At
    each step, the batches of all workers have the same shape, and padding has weight 0.

    Args:
        shards: `Shards`.
        shuffle: False to keep the order of the pairs and of the windows.
        window: Positive integer, the approximate number of pairs in a window for each worker.
        shard: Integers (index, count): the index of the worker, and the number of workers.

    The other arguments, and the attributes `shapes` and `steps`, are the same as in `BatchedPairs`.

    Attributes:
        skipped: `Skipped`, the number of pairs left out for each reason, for all workers.
        source_lengths, too_long, broken: Empty, because shards contain neither names nor broken
            sources.
        tokens: Integer, the number of real target tokens in a pass, for all workers.
        windows: List of `ShardWindow`.

    Raises:
        ValueError: If a setting is invalid, a shard is damaged, or no pair is left.

    Example:
        >>> data = ShardedBatches(Shards("corpora/en-de"), batch_tokens=2048)
        >>> half = ShardedBatches(shards, batch_tokens=2048, shard=(1, 2))
    """

    def __init__(
        self,
        shards,
        batch_tokens: int | None = None,
        *,
        batch_sentences: int | None = None,
        buckets: int = 7,
        sort_batches: int = 20,
        max_length: int = 128,
        max_source_length: int | None = None,
        least_steps: int = 0,
        shuffle: bool = True,
        seed: int = 0,
        window: int = WINDOW,
        shard: tuple = (0, 1),
    ):
        batch_tokens = check_batching(
            batch_tokens,
            batch_sentences,
            buckets=buckets,
            sort_batches=sort_batches,
            max_length=max_length,
            max_source_length=max_source_length,
            least_steps=least_steps,
            seed=seed,
            window=window,
        )
        longest = max_length if max_source_length is None else max_source_length
        self._worker, self._workers = checked_worker(shard)
        self._shards, self._limits = shards, (max_length, longest)
        self._batch_sentences, self._sort_batches = batch_sentences, sort_batches
        self.shuffle, self.seed = shuffle, seed
        self.source_lengths, self.too_long = (), ()
        self.broken = np.zeros(0, np.int64)
        self.windows = _windows(
            [entry["pairs"] for entry in shards.entries], window * self._workers
        )
        counts, self.skipped, self.tokens = self._passed_over()
        require_usable(len(shards), self.skipped, max_length, max_source_length)
        if batch_sentences is None:
            # steps: (windows, buckets)
            self.shapes, self._steps = bucket_shapes(counts, batch_tokens, buckets)
        else:
            self.shapes = ()
            pairs = counts.sum(axis=2).max(axis=1)  # -> (windows,), for the worker with the most
            self._steps = -(-pairs // batch_sentences)[:, None]
        super().__init__(int(self._steps.sum()), least_steps, shards.source.feature_spec)

    def require_readable(self):
        """Do nothing, because shards contain no broken sources."""

    def lengths(self):
        """Yield the lengths of the used pairs in each shard, as `BatchedPairs` does."""
        for number in range(len(self._shards.entries)):
            source, target = self._shards.lengths(number)
            used, _ = usable((source, target), *self._limits)
            yield source[used], target[used]

    def pathless(self, reduction):
        """Count the pairs with too few positions for CTC, which requires reading all targets."""
        total = 0
        for number in range(len(self._shards.entries)):
            sides = self._shards.shard(number)
            used, _ = usable([rows.lengths for rows in sides], *self._limits)
            total += count_pathless(sides, used, reduction)
        return total

    def _passed_over(self):
        """Return pair counts `(windows, workers, lengths)`, `Skipped`, and target token count."""
        stored = max(max(entry["longest"]) for entry in self._shards.entries)
        longest = min(stored + 1, max(self._limits))  # a tag may precede a source
        counts = np.zeros((len(self.windows), self._workers, longest + 1), np.int64)
        empty = too_long = tokens = 0
        # windows of the same shards, which are read only once for all these windows
        for numbers, windows in itertools.groupby(range(len(counts)), self._shards_of):
            windows = list(windows)
            for number in numbers:
                lengths = self._shards.lengths(number)
                used, skipped = usable(lengths, *self._limits)
                longer = np.where(used, np.maximum(*lengths), 0)
                for window, worker in itertools.product(windows, range(self._workers)):
                    part = slice(*self._part(len(longer), window, worker))
                    counts[window, worker] += np.bincount(longer[part], minlength=counts.shape[2])
                empty, too_long = empty + skipped.empty, too_long + skipped.too_long
                tokens += int(lengths[1].sum(where=used, dtype=np.int64))
        counts[:, :, 0] = 0  # the pairs that are left out
        return counts, Skipped(empty, too_long), tokens

    def _batches_of_pass(self, number, first_step):
        windows = range(len(self.windows))
        if self.shuffle:
            windows = np.random.default_rng((self.seed, number)).permutation(windows)
        for window in windows:
            steps = int(self._steps[window].sum())
            if first_step < steps:
                yield from self._batches_of_window(number, window, first_step)
            first_step = max(0, first_step - steps)

    def _batches_of_window(self, number, window, first_step):
        sides = self._read(window)
        order = self._split(sides, window, self._random(number, window, 1 + self._worker))
        if self.shuffle:
            self._random(number, window, 0).shuffle(order)  # the same order for all workers
        for members, shape in order[first_step:]:
            features, target_in, target_out, weight = padded_batch(sides, members, shape)
            yield (features, target_in), target_out, weight

    def _random(self, number, window, use):
        if not self.shuffle:
            return None
        # 1 + use, because `SeedSequence` ignores zeros at the end
        return np.random.default_rng((self.seed, number, int(window), 1 + use))

    def _read(self, window):
        parts = []
        for number in self._shards_of(window):
            pairs = self._shards.entries[number]["pairs"]
            parts.append(self._shards.part(number, *self._part(pairs, window, self._worker)))
        return [type(side[0]).joined(side) for side in zip(*parts, strict=True)]

    def _shards_of(self, window):
        return self.windows[window].shards

    def _part(self, pairs, window, worker):
        """Return (first, end) of the pairs of a shard that a worker reads for a window."""
        _, part, parts = self.windows[window]
        number, count = part * self._workers + worker, parts * self._workers
        return pairs * number // count, pairs * (number + 1) // count

    def _split(self, sides, window, random):
        """Return a list of (pairs, shape) for the batches of a window, as `bucketing` does."""
        lengths = np.stack([rows.lengths for rows in sides])  # -> (2, pairs)
        used = np.flatnonzero(usable(lengths, *self._limits)[0])
        steps = self._steps[window]
        if self.shapes:
            groups = ByTokens(used, lengths.max(axis=0), self.shapes, steps)
        else:
            sentences = (self._batch_sentences, self._sort_batches)
            groups = BySentences(used, lengths, *sentences, steps=int(steps[0]))
        return groups.split(random)


def _windows(pairs, most):
    """Return a list of `ShardWindow`, each of about `most` pairs.

    `pairs` contains the number of pairs in each shard.
    """
    groups = -(-len(pairs) // SPREAD)
    ranges = [range(group, len(pairs), groups) for group in range(groups)]
    parts = [-(-sum(pairs[shard] for shard in shards) // most) for shards in ranges]
    if sum(parts) > MOST_SHARDS:
        raise ValueError(
            f"A corpus can have at most {MOST_SHARDS:,} windows. Received: {sum(pairs):,} pairs "
            f"with windows of {most:,} pairs. Raise `window`."
        )
    return [
        ShardWindow(shards, part, count)
        for shards, count in zip(ranges, parts, strict=True)
        for part in range(count)
    ]
