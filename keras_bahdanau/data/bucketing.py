"""Groups of pairs that make a batch: by tokens, in buckets of one shape, or by sentences."""

import dataclasses

import numpy as np


class ByTokens:
    """Buckets of similar length, each with one fixed shape, filled evenly.

    Args:
        kept: Int array, the pairs that take part.
        lengths: Int array, the longer side of every pair.
        batch_tokens: Positive integer, at most how many positions one side of a batch has.
        buckets: Positive integer, the largest number of shapes.
    """

    def __init__(self, kept, lengths, batch_tokens, buckets):
        self._buckets = _bucketed(kept, lengths, batch_tokens, buckets)
        self.shapes = [(bucket.rows, bucket.length) for bucket in self._buckets]
        self.steps = sum(bucket.steps for bucket in self._buckets)

    def order(self, random, lengths=None):
        """List of (pairs, (rows, source_time, target_time)); without `random` as they stand.

        Args:
            random: NumPy `Generator`, or None.
            lengths: Int array `(2, pairs)`, of sources and targets, where this epoch's differ
                from those that the buckets were made for.
        """
        order = []
        # (2, pairs) -> (pairs,), the longer side
        buckets = self._buckets if lengths is None else self._refilled(lengths.max(axis=0))
        for bucket in buckets:
            members = random.permutation(bucket.members) if random else bucket.members
            shape = (bucket.rows, bucket.length, bucket.length)
            order += [(part, shape) for part in np.array_split(members, bucket.steps)]
        if random:
            random.shuffle(order)
        return order

    def _refilled(self, lengths):
        """The same buckets, filled with as many pairs as before, from the shortest to the longest.

        If a pair is longer than its bucket, the bucket grows: no pair is cut.
        """
        kept = np.concatenate([bucket.members for bucket in self._buckets])
        kept = np.sort(kept)  # so that the order is that of the pairs, not of the buckets
        kept = kept[np.argsort(lengths[kept], kind="stable")]
        # (buckets,), where in `kept` each ends
        ends = np.cumsum([len(bucket.members) for bucket in self._buckets])
        for bucket, members in zip(self._buckets, np.split(kept, ends[:-1]), strict=True):
            longest = max(bucket.length, int(lengths[members[-1]]))
            yield dataclasses.replace(bucket, members=members, length=longest)


class BySentences:
    """So many sentences at a time, sorted by length, and cut into batches.

    As in Bahdanau et al. 2015, appendix B.2: 1,600 pairs are fetched, sorted by the longer side
    and split into 20 batches of 80. Each side of a batch is as long as its longest sentence.

    Args:
        kept: Int array, the pairs that take part.
        source_lengths: Int array, of every pair.
        target_lengths: Int array, of every pair.
        batch_sentences: Positive integer, pairs of a batch; what is left at the end is spread
            evenly over as few batches as it needs.
        sort_batches: Positive integer, how many batches are fetched and sorted at once.
    """

    shapes = ()

    def __init__(self, kept, source_lengths, target_lengths, batch_sentences, sort_batches):
        self._kept = kept
        self._lengths = np.stack([source_lengths, target_lengths])
        self._batch_sentences = batch_sentences
        self._fetched = batch_sentences * sort_batches
        self.steps = sum(self._batches_of(part) for part in self._parts(kept))

    def order(self, random, lengths=None):
        """List of (pairs, (rows, source_time, target_time)); without `random` as they stand.

        Args:
            random: NumPy `Generator`, or None.
            lengths: Int array `(2, pairs)`, this epoch's, where they differ.
        """
        order = []
        lengths = self._lengths if lengths is None else lengths
        for part in self._parts(random.permutation(self._kept) if random else self._kept):
            # by the longer side: (2, pairs of the part) -> (pairs of the part,)
            part = part[np.argsort(lengths[:, part].max(axis=0), kind="stable")]
            for members in np.array_split(part, self._batches_of(part)):
                longest = lengths[:, members].max(axis=1)  # -> (2,), source and target
                order.append((members, (len(members), *map(int, longest))))
        if random:
            random.shuffle(order)
        return order

    def _parts(self, members):
        return np.split(members, range(self._fetched, len(members), self._fetched))

    def _batches_of(self, part):
        return -(-len(part) // self._batch_sentences)


@dataclasses.dataclass(frozen=True)
class _Bucket:
    members: np.ndarray
    length: int
    rows: int
    steps: int


def _bucketed(kept, lengths, batch_tokens, buckets):
    """Sort the kept pairs into buckets."""
    bounds = _bounds(lengths[kept], batch_tokens, buckets)
    # (kept pairs,), the first bound that is not shorter
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
    # (n + 1,): pairs of the first a of the n lengths
    until = np.concatenate([[0], np.cumsum(counts)])
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
