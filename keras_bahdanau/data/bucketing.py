"""Grouping of pairs into batches: by tokens, in buckets of fixed shapes, or by sentences."""

import dataclasses

import numpy as np

MOST_LENGTHS = 1024  # number of lengths from which the bounds of buckets are chosen


class ByTokens:
    """Buckets of pairs with similar lengths, each with a fixed shape: see `bucket_shapes`."""

    def __init__(self, members, lengths, shapes, steps):
        # (kept pairs,): the first bucket that is long enough for each pair
        bucket_of = np.searchsorted([length for _, length in shapes], lengths[members])
        self._buckets = [
            _Bucket(members[bucket_of == index], length, rows, int(steps[index]))
            for index, (rows, length) in enumerate(shapes)
        ]
        self.shapes = shapes
        self.steps = int(np.sum(steps))

    def split(self, random, lengths=None):
        """Return a list of (pairs, (rows, source_time, target_time)), the shortest first.

        `random` is a `Generator` that shuffles each bucket, or None to keep its order. `lengths` is
        an int array `(2, pairs)` of new lengths, or None.
        """
        batches = []
        # (2, pairs) -> (pairs,): the length of the longer side
        buckets = self._buckets if lengths is None else self._refilled(lengths.max(axis=0))
        for bucket in buckets:
            members = random.permutation(bucket.members) if random else bucket.members
            shape = (bucket.rows, bucket.length, bucket.length)
            if bucket.steps:
                batches += [(part, shape) for part in np.array_split(members, bucket.steps)]
        return batches

    def _refilled(self, lengths):
        """Refill the buckets, shortest pairs first. A bucket grows if a pair is longer than it."""
        members = np.concatenate([bucket.members for bucket in self._buckets])
        members = np.sort(members)  # the order of the pairs, not of the buckets
        members = members[np.argsort(lengths[members], kind="stable")]
        # (buckets,): where each bucket ends in `members`
        ends = np.cumsum([len(bucket.members) for bucket in self._buckets])
        for bucket, part in zip(self._buckets, np.split(members, ends[:-1]), strict=True):
            longest = max(bucket.length, int(lengths[part[-1]]))
            yield dataclasses.replace(bucket, members=part, length=longest)


class BySentences:
    """Batches of `batch_sentences` pairs, where `sort_batches` batches are sorted together.

    See Bahdanau et al. 2015, appendix B.2.
    """

    shapes = ()

    def __init__(self, members, lengths, batch_sentences, sort_batches, steps=None):
        self._members = members
        self._lengths = lengths
        self._sort_batches = sort_batches
        self._fetched = batch_sentences * sort_batches
        self.steps = -(-len(members) // batch_sentences) if steps is None else int(steps)

    def split(self, random, lengths=None):
        """Split as `ByTokens.split` does, but in the order in which the pairs are fetched."""
        batches = []
        lengths = self._lengths if lengths is None else lengths
        members = random.permutation(self._members) if random else self._members
        for part, steps in self._parts(members):
            # by the longer side: (2, pairs of the part) -> (pairs of the part,)
            part = part[np.argsort(lengths[:, part].max(axis=0), kind="stable")]
            for members in np.array_split(part, steps):
                longest = lengths[:, members].max(axis=1, initial=1)  # -> (2,), both sides
                batches.append((members, (max(1, len(members)), *map(int, longest))))
        return batches

    def _parts(self, members):
        """Yield (pairs that are fetched together, number of batches)."""
        parts = np.split(members, range(self._fetched, len(members), self._fetched))
        before = self._sort_batches * (len(parts) - 1)
        for part in parts[:-1]:
            yield part, self._sort_batches
        yield parts[-1], self.steps - before


@dataclasses.dataclass(frozen=True)
class _Bucket:
    members: np.ndarray
    length: int
    rows: int
    steps: int


def bucket_shapes(counts, batch_tokens, buckets):
    """Choose the shapes of buckets.

    `counts` is an int array `(parts, workers, lengths)` of the number of pairs of each length,
    starting from length 0.

    Returns:
        (shapes, steps): a list of (rows, length) for each bucket, shortest first, and the number of
        batches as an int array `(parts, buckets)`.
    """
    bounds = _bounds(counts.sum(axis=(0, 1)), batch_tokens, buckets)
    # number of pairs in each bucket: (parts, workers, buckets)
    sizes = np.diff(counts.cumsum(axis=2)[:, :, bounds], prepend=0)
    rows, _ = _grid(sizes, bounds, batch_tokens)
    rows = rows.max(axis=(0, 1))  # -> (buckets,): XLA compiles once for each shape
    steps = (-(-sizes // rows)).max(axis=1)  # -> (parts, buckets)
    return list(zip(rows.tolist(), bounds.tolist(), strict=True)), steps


def _grid(count, length, batch_tokens):
    """Return the rows and steps of a bucket: the fewest possible steps, filled evenly."""
    steps = -(-count // np.maximum(1, batch_tokens // length))
    return -(-count // np.maximum(1, steps)), steps


def _bounds(counts, batch_tokens, buckets):
    """Find the bucket lengths that minimize the number of positions in all batches.

    Padding counts, too. The minimum is exact: best_k[b] = min_a(best_{k-1}[a] + cost[a, b]), where
    cost[a, b] is the number of positions in a bucket for the lengths from a + 1 to b.
    """
    lengths = np.flatnonzero(counts)
    if len(lengths) > MOST_LENGTHS:  # to bound the n x n tables
        chosen = np.linspace(0, len(lengths) - 1, MOST_LENGTHS).round().astype(int)
        lengths = lengths[chosen]  # each length also stands for those left out below it
    # (n + 1,): number of pairs with the first a of the n lengths
    until = np.concatenate([[0], np.cumsum(counts)[lengths]])
    padded_to = np.concatenate([[1], lengths])[None, :]  # (1, n + 1)
    # rows and steps for each [a, b]: (n + 1, n + 1)
    rows, steps = _grid(np.maximum(0, until[None, :] - until[:, None]), padded_to, batch_tokens)
    cost = np.where(until[:, None] <= until[None, :], rows * steps * padded_to, np.inf)
    best, previous = cost[0], []
    for _ in range(min(buckets, len(lengths)) - 1):
        totals = best[:, None] + cost  # [a, b]: (n + 1, 1) + (n + 1, n + 1)
        previous.append(totals.argmin(axis=0))  # the best a for each b: (n + 1,)
        best = totals.min(axis=0)
    last, ends = len(lengths), {len(lengths)}
    for step in reversed(previous):
        last = int(step[last])
        ends.add(last)
    return lengths[[end - 1 for end in sorted(ends) if end > 0]]
