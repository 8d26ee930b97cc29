"""Batches of several corpora, mixed in given proportions."""

import itertools

import numpy as np

from keras_bahdanau.data.epochs import Epochs, Skipped


class MixedBatches(Epochs):
    """Batches of several corpora, mixed batch by batch.

    Each pass has a fixed number of batches from each corpus, in random order. When a corpus ends,
    its next epoch starts. If it does not end within a pass, it continues in the next pass, so that
    all pairs of a corpus occur equally often. Each corpus keeps its buckets and their shapes.

    Args:
        parts: List of `BatchedPairs` or `ShardedBatches`, one for each corpus, with different
            seeds.
        shares: Sequence of positive numbers, one for each corpus, proportional to the corpus's
            number of batches.
        least_steps: Non-negative integer, the minimum number of batches in an epoch: see
            `BatchedPairs`.
        seed: Non-negative integer.

    Attributes:
        counts: Int array `(corpora,)`, the number of batches of each corpus in a pass.
        steps: Integer, the number of batches in an epoch, which is one pass, or several with
            `least_steps`.

    The other attributes are those of `BatchedPairs`, for all corpora together.

    Raises:
        ValueError: If there is not exactly one positive share for each part.

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
        """Return an int array `(steps,)`: the corpus of each batch in a pass."""
        corpora = np.arange(len(self.parts), dtype=np.int16)
        # the third number makes this order differ from the order within a corpus
        random = np.random.default_rng((self.seed, number, len(corpora)))
        return random.permutation(np.repeat(corpora, self.counts))

    def _batches_of_pass(self, number, first_step):
        order = self.order(number)
        before = np.bincount(order[:first_step], minlength=len(self.parts))  # -> (corpora,)
        # the position in each corpus, because all passes have the same counts
        done = number * self.counts + before
        streams = [
            _batches_from(part, int(step)) for part, step in zip(self.parts, done, strict=True)
        ]
        for corpus in order[first_step:]:
            yield next(streams[corpus])


def _batches_from(part, step):
    """Yield the batches of a corpus from `step` on, which is counted over all epochs."""
    number, first_step = divmod(step, part.steps)
    for epoch in itertools.count(number):
        yield from part.arrays(epoch, first_step)
        first_step = 0


def shares_by_size(sizes, temperature: float = 1.0) -> np.ndarray:
    """Compute the share of each corpus from its size, as float64 `(corpora,)`: p_i ~ n_i^(1/T).

    `sizes` contains the numbers of batches n_i in a pass. A higher temperature T increases the
    shares of small corpora (Devlin 2018, multilingual BERT, 1/T = 0.7; Arivazhagan et al. 2019,
    section 4.2, T = 5).
    """
    sizes = np.asarray(sizes, np.float64)
    shares = (sizes / sizes.max()) ** (1 / temperature)
    return shares / shares.sum()


def batches_of_each(steps: int, shares) -> np.ndarray:
    """Return the number of batches of each corpus: its share of the steps, at least one."""
    shares = np.asarray(shares, np.float64)
    wanted = steps * shares / shares.sum()
    counts = np.maximum(1, np.floor(wanted)).astype(np.int64)
    while counts.sum() < steps:  # round up the largest remainders, each at most once
        counts[np.argmax(wanted - counts)] += 1
    while counts.sum() > steps:  # if several corpora have one batch but a smaller share
        counts[np.argmax(np.where(counts > 1, counts - wanted, -np.inf))] -= 1
    return counts


def _checked(shares, number):
    shares = np.asarray(shares, np.float64)
    if shares.shape != (number,) or not np.all(np.isfinite(shares) & (shares > 0)):
        raise ValueError(
            f"`shares` must contain {number} positive numbers, one for each corpus. "
            f"Received: shares={shares.tolist()!r:.80}"
        )
    return shares


def _length(shape):
    return shape[::-1]  # of (rows, length), to sort by length first
