"""Batches of several corpora, mixed so that each corpus has its share."""

import itertools

import numpy as np

from keras_bahdanau.data.epochs import Epochs, Skipped


class MixedBatches(Epochs):
    """The batches of several corpora, mixed batch by batch.

    Each pass has the same number of batches of each corpus, in a random order. A corpus that ends
    starts its next epoch; one that does not end continues in the next pass. So no pair of a corpus
    occurs more often than another. Each corpus keeps its buckets and their shapes.

    Args:
        parts: List of `BatchedPairs` or `ShardedBatches`, one for each corpus, with different
            seeds.
        shares: Sequence of positive numbers, one for each corpus, in proportion to its batches.
        least_steps: Non-negative integer, least batches of an epoch: see `BatchedPairs`.
        seed: Non-negative integer.

    Attributes:
        counts: Int array `(corpora,)`, batches of each corpus in a pass.
        steps: Integer, batches in an epoch: one pass, or several with `least_steps`.

    Other attributes: those of `BatchedPairs`, of all corpora.

    Raises:
        ValueError: If there are not as many positive shares as parts.

    Example:
        >>> german, french = BatchedPairs(...), BatchedPairs(..., seed=1)
        >>> data = MixedBatches([german, french], shares=[0.7, 0.3])
    """

    def __init__(self, parts, shares, *, least_steps=0, seed=0):
        self.parts, self.seed = list(parts), seed
        steps = sum(part.steps for part in self.parts)
        self.counts = batches_of_each(steps, _checked(shares, len(self.parts)))
        self.tokens = sum(part.tokens for part in self.parts)
        self.shapes = sorted({shape for part in self.parts for shape in part.shapes}, key=_length)
        self.skipped = Skipped(
            sum(part.skipped.empty for part in self.parts),
            sum(part.skipped.too_long for part in self.parts),
        )
        lengths = [np.asarray(part.source_lengths, np.int64) for part in self.parts]
        self.source_lengths = np.concatenate(lengths)
        super().__init__(steps, least_steps, self.parts[0].feature_spec)

    @property
    def broken(self):
        return self._rows_of_all([part.broken for part in self.parts])

    @property
    def too_long(self):
        return self._rows_of_all([part.too_long for part in self.parts])

    def _rows_of_all(self, rows):
        sizes = [len(part.source_lengths) for part in self.parts]
        firsts = itertools.accumulate(sizes[:-1], initial=0)
        pairs = zip(rows, firsts, strict=True)
        return np.concatenate([np.asarray(part, np.int64) + first for part, first in pairs])

    def require_readable(self):
        for part in self.parts:
            part.require_readable()

    def lengths(self):
        for part in self.parts:
            yield from part.lengths()

    def pathless(self, reduction):
        return sum(part.pathless(reduction) for part in self.parts)

    def order(self, number: int) -> np.ndarray:
        """Int array `(steps,)`: the corpus of each batch of a pass."""
        corpora = np.arange(len(self.parts), dtype=np.int16)
        # a third number, so that it differs from the order within a corpus
        random = np.random.default_rng((self.seed, number, len(corpora)))
        return random.permutation(np.repeat(corpora, self.counts))

    def _batches_of_pass(self, number, first_step):
        order = self.order(number)
        before = np.bincount(order[:first_step], minlength=len(self.parts))  # -> (corpora,)
        # all passes have the same counts, which give the position in each corpus
        done = number * self.counts + before
        streams = [
            _batches_from(part, int(step)) for part, step in zip(self.parts, done, strict=True)
        ]
        for corpus in order[first_step:]:
            yield next(streams[corpus])


def _batches_from(part, step):
    """Yield the batches of a corpus from a step on, counted over all its epochs."""
    number, first_step = divmod(step, part.steps)
    for epoch in itertools.count(number):
        yield from part.arrays(epoch, first_step)
        first_step = 0


def shares_by_size(sizes, temperature: float = 1.0) -> np.ndarray:
    """Shares of corpora by their sizes, float64 `(corpora,)`: p_i ~ n_i^(1/T).

    `sizes` are the batches n_i of a pass. A higher T lifts the small corpora (Devlin 2018,
    multilingual BERT, 1/T = 0.7; Arivazhagan et al. 2019, section 4.2, T = 5).
    """
    sizes = np.asarray(sizes, np.float64)
    shares = (sizes / sizes.max()) ** (1 / temperature)
    return shares / shares.sum()


def batches_of_each(steps: int, shares) -> np.ndarray:
    """Batches of each corpus in an epoch: its share of the steps, rounded, at least one."""
    shares = np.asarray(shares, np.float64)
    wanted = steps * shares / shares.sum()
    counts = np.maximum(1, np.floor(wanted)).astype(np.int64)
    while counts.sum() < steps:  # at most once for each corpus: the largest remainders
        counts[np.argmax(wanted - counts)] += 1
    while counts.sum() > steps:  # if several corpora have one batch though their share is smaller
        counts[np.argmax(np.where(counts > 1, counts - wanted, -np.inf))] -= 1
    return counts


def _checked(shares, number):
    shares = np.asarray(shares, np.float64)
    if shares.shape != (number,) or not np.all(np.isfinite(shares) & (shares > 0)):
        raise ValueError(
            f"`shares` must be {number} positive numbers, one for each corpus. "
            f"Received: shares={shares.tolist()!r:.80}"
        )
    return shares


def _length(shape):
    return shape[::-1]  # (rows, length), shortest first
