"""Groups of pairs that make a batch: by tokens, in buckets of one shape, or by sentences."""

import dataclasses

import numpy as np

MOST_LENGTHS = 1024  # lengths among which the bounds of buckets are chosen


class ByTokens:
    """Buckets of similar length, each with one fixed shape, filled evenly: see `bucket_shapes`."""

    def __init__(self, members, lengths, shapes, steps):
        # (kept pairs,), the first bucket that is long enough
        bucket_of = np.searchsorted([length for _, length in shapes], lengths[members])
        self._buckets = [
            _Bucket(members[bucket_of == index], length, rows, int(steps[index]))
            for index, (rows, length) in enumerate(shapes)
        ]
        self.shapes = shapes
        self.steps = int(np.sum(steps))

    def split(self, random, lengths=None):
        """List of (pairs, (rows, source_time, target_time)), the shortest first.

        `random`, a `Generator`, mixes each bucket; None keeps its order. `lengths` int
        `(2, pairs)`.
        """
        batches = []
        # (2, pairs) -> (pairs,), the longer side
        buckets = self._buckets if lengths is None else self._refilled(lengths.max(axis=0))
        for bucket in buckets:
            members = random.permutation(bucket.members) if random else bucket.members
            shape = (bucket.rows, bucket.length, bucket.length)
            if bucket.steps:
                batches += [(part, shape) for part in np.array_split(members, bucket.steps)]
        return batches

    def _refilled(self, lengths):
        """Refill the buckets, shortest pairs first; a bucket grows for a pair longer than it."""
        members = np.concatenate([bucket.members for bucket in self._buckets])
        members = np.sort(members)  # keeps the order of the pairs, not of the buckets
        members = members[np.argsort(lengths[members], kind="stable")]
        # (buckets,), where in `members` each ends
        ends = np.cumsum([len(bucket.members) for bucket in self._buckets])
        for bucket, part in zip(self._buckets, np.split(members, ends[:-1]), strict=True):
            longest = max(bucket.length, int(lengths[part[-1]]))
            yield dataclasses.replace(bucket, members=part, length=longest)


class BySentences:
    """Batches of `batch_sentences` pairs, `sort_batches` at a time (Bahdanau et al. 2015, B.2)."""

    shapes = ()

    def __init__(self, members, lengths, batch_sentences, sort_batches, steps=None):
        self._members = members
        self._lengths = lengths
        self._sort_batches = sort_batches
        self._fetched = batch_sentences * sort_batches
        self.steps = -(-len(members) // batch_sentences) if steps is None else int(steps)

    def split(self, random, lengths=None):
        """As `ByTokens.split`, in the order in which the pairs are fetched."""
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
        """Yield (pairs that are fetched together, number of their batches)."""
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
    """(shapes, steps): (rows, length) of buckets, shortest first, and int `(parts, buckets)`.

    `counts`, int `(parts, workers, lengths)`, holds the number of pairs of each length from 0 on.
    """
    bounds = _bounds(counts.sum(axis=(0, 1)), batch_tokens, buckets)
    # pairs of each bucket: (parts, workers, buckets)
    sizes = np.diff(counts.cumsum(axis=2)[:, :, bounds], prepend=0)
    rows, _ = _grid(sizes, bounds, batch_tokens)
    rows = rows.max(axis=(0, 1))  # -> (buckets,): XLA compiles once for each shape
    steps = (-(-sizes // rows)).max(axis=1)  # -> (parts, buckets)
    return list(zip(rows.tolist(), bounds.tolist(), strict=True)), steps


def _grid(count, length, batch_tokens):
    """Rows and steps of a bucket: as few steps as `batch_tokens` allows, evenly filled."""
    steps = -(-count // np.maximum(1, batch_tokens // length))
    return -(-count // np.maximum(1, steps)), steps


def _bounds(counts, batch_tokens, buckets):
    """The bucket lengths with the fewest positions, real and padded, in all batches.

    Exact: best_k[b] = min over a of best_{k-1}[a] + cost[a, b], cost[a, b] for lengths a + 1 to b.
    """
    lengths = np.flatnonzero(counts)
    if len(lengths) > MOST_LENGTHS:  # the tables have n x n numbers
        chosen = np.linspace(0, len(lengths) - 1, MOST_LENGTHS).round().astype(int)
        lengths = lengths[chosen]  # each also for the lengths left out below it
    # (n + 1,): pairs of the first a of the n lengths
    until = np.concatenate([[0], np.cumsum(counts)[lengths]])
    padded_to = np.concatenate([[1], lengths])[None, :]  # (1, n + 1)
    # pairs, rows and steps of each [a, b]: (n + 1, n + 1)
    rows, steps = _grid(np.maximum(0, until[None, :] - until[:, None]), padded_to, batch_tokens)
    cost = np.where(until[:, None] <= until[None, :], rows * steps * padded_to, np.inf)
    best, previous = cost[0], []
    for _ in range(min(buckets, len(lengths)) - 1):
        totals = best[:, None] + cost  # [a, b]: (n + 1, 1) + (n + 1, n + 1)
        previous.append(totals.argmin(axis=0))  # the best a of each b: (n + 1,)
        best = totals.min(axis=0)
    last, ends = len(lengths), {len(lengths)}
    for step in reversed(previous):
        last = int(step[last])
        ends.add(last)
    return lengths[[end - 1 for end in sorted(ends) if end > 0]]
