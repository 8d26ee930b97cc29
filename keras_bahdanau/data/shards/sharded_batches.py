"""Batches of a corpus that stays on disk: read by windows, in a new order each epoch."""

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

WINDOW = 2**19  # pairs that are read and shuffled together: some 100 MB of ids, 15 MB of files
SPREAD = 256  # shards that a window is read from, which bounds the open files


class ShardWindow(NamedTuple):
    """The pairs read at once: part `part` of `parts` of each shard in `shards`, spread evenly."""

    shards: range
    part: int
    parts: int


class ShardedBatches(Epochs):
    """Batches of pairs of similar length, from shards of ids on disk.

    They are like those of `BatchedPairs`, with the same shapes for the whole corpus. A window of
    bounded size has the same share of each shard, or of every G-th where there are more than 256: a
    sample of the whole corpus. An epoch reads one window at a time, in a random order, and shuffles
    the pairs inside it. Memory does not grow with the corpus, and to resume an epoch, no earlier
    window is read.

    With `shard`, each worker reads a part of every shard: no pair is left out, none is read twice,
    and at each step the batches of all workers have one shape; padding has weight 0.

    Args:
        shards: `Shards`.
        shuffle: False to keep the order of the pairs and of the windows.
        window: Positive integer, about how many pairs a window has for each worker.
        shard: Integers (index, count): which part of the pairs, of how many.

    Other arguments, and the attributes `shapes` and `steps`: as in `BatchedPairs`.

    Attributes:
        skipped: `Skipped`, how many pairs were left out and why, of all workers.
        source_lengths, too_long, broken: Empty: shards keep neither names nor broken sources.
        tokens: Integer, real target tokens in a pass over the pairs, of all workers.
        windows: List of `ShardWindow`.

    Raises:
        ValueError: If a setting is not as above, a shard is damaged, or no pair is left.

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
            pairs = counts.sum(axis=2).max(axis=1)  # -> (windows,), of the worker with the most
            self._steps = -(-pairs // batch_sentences)[:, None]
        super().__init__(int(self._steps.sum()), least_steps, shards.source.feature_spec)

    def require_readable(self):
        """Do nothing: see `broken`."""

    def lengths(self):
        """Yield the lengths of the used pairs of each shard, as `BatchedPairs` does."""
        for number in range(len(self._shards.entries)):
            source, target = self._shards.lengths(number)
            used, _ = usable((source, target), *self._limits)
            yield source[used], target[used]

    def pathless(self, reduction):
        """Pairs with too few positions for CTC, as in `BatchedPairs`; reads all targets."""
        total = 0
        for number in range(len(self._shards.entries)):
            sides = self._shards.shard(number)
            used, _ = usable([rows.lengths for rows in sides], *self._limits)
            total += count_pathless(sides, used, reduction)
        return total

    def _passed_over(self):
        """Counts `(windows, workers, lengths)` of pairs, `Skipped`, and the target tokens."""
        stored = max(max(entry["longest"]) for entry in self._shards.entries)
        longest = min(stored + 1, max(self._limits))  # a tag may precede a source
        counts = np.zeros((len(self.windows), self._workers, longest + 1), np.int64)
        empty = too_long = tokens = 0
        # windows over the same shards, which are read once for all of these
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
            self._random(number, window, 0).shuffle(order)  # the same for all workers
        for members, shape in order[first_step:]:
            features, target_in, target_out, weight = padded_batch(sides, members, shape)
            yield (features, target_in), target_out, weight

    def _random(self, number, window, use):
        if not self.shuffle:
            return None
        # `SeedSequence` ignores zeros at the end: 1 + use, or two uses had one stream
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
        """(first, end): the pairs of a shard that a worker reads for a window."""
        _, part, parts = self.windows[window]
        number, count = part * self._workers + worker, parts * self._workers
        return pairs * number // count, pairs * (number + 1) // count

    def _split(self, sides, window, random):
        """List of (pairs, shape) of the batches of a window, as `bucketing` gives it."""
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
    """List of `ShardWindow` of about so many pairs, from the numbers of pairs of all shards."""
    groups = -(-len(pairs) // SPREAD)
    ranges = [range(group, len(pairs), groups) for group in range(groups)]
    parts = [-(-sum(pairs[shard] for shard in shards) // most) for shards in ranges]
    if sum(parts) > MOST_SHARDS:
        raise ValueError(
            f"A corpus has at most {MOST_SHARDS:,} windows. Received: {sum(pairs):,} pairs with "
            f"windows of {most:,}. Raise `window`."
        )
    return [
        ShardWindow(shards, part, count)
        for shards, count in zip(ranges, parts, strict=True)
        for part in range(count)
    ]
