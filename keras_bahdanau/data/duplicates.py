"""Duplicates among any number of pairs: by sorted hashes of 8 bytes, a range of them at a time."""

from hashlib import blake2b

import numpy as np

AT_ONCE = 2**22  # hashes that are sorted together: some 150 MB
LARGEST = 2**64 - 1


def pair_hashes(sources, targets):
    r"""Hashes of pairs, the same in every process and on every machine.

    Two different pairs out of n have one hash with a probability of about n^2 / 2^65: 1 in
    90,000 for 20 million pairs.

    Args:
        sources: List of strings without `\n`.
        targets: List of strings without `\n`.

    Returns:
        Uint64 array `(pairs,)`.
    """
    hashes = [
        blake2b(f"{source}\n{target}".encode(), digest_size=8).digest()
        for source, target in zip(sources, targets, strict=True)
    ]
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)


def find_repeated(read, blocks, pairs, sample=0, at_once=AT_ONCE):
    """Find the pairs whose hash came before, and the smallest hashes, which are a random sample.

    All hashes are read once for each `at_once` pairs: they are 8 bytes a pair on disk, and 25
    bytes for each of those that are sorted together in memory.

    Args:
        read: Function of the number of a block from 0, which returns (hashes, rows): a uint64
            array and an integer array `(pairs,)`.
        blocks: Integer, number of blocks.
        pairs: Integer, number of hashes in all of them.
        sample: Integer, how many different hashes to find.
        at_once: Integer, about how many hashes to sort together.

    Returns:
        (repeated, largest): for each block an integer array of rows, in their order; and the
        largest of the `sample` smallest different hashes, an integer.

    Example:
        >>> hashes = [np.array([7, 5, 7], np.uint64), np.array([5, 9], np.uint64)]
        >>> find_repeated(lambda one: (hashes[one], np.arange(len(hashes[one]))), 2, 5, sample=2)
        ([array([2]), array([0])], 7)
    """
    parts = max(1, -(-pairs // at_once))
    repeated = [[np.zeros(0, np.int64)] for _ in range(blocks)]
    bounds = [LARGEST * part // parts for part in range(parts)] + [LARGEST + 1]
    left, largest = sample, LARGEST
    for low, high in zip(bounds[:-1], bounds[1:], strict=True):
        hashes, rows, ends = _between(read, blocks, low, high)
        order = np.argsort(hashes, kind="stable")  # of equal ones, the first stays the first
        ordered = hashes[order]
        again = np.zeros(len(order), bool)
        again[1:] = ordered[1:] == ordered[:-1]
        found = np.sort(order[again])
        for block, part in enumerate(np.split(found, np.searchsorted(found, ends))[:-1]):
            repeated[block].append(rows[part])
        different = ordered[~again]
        if 0 < left <= len(different):
            largest = int(different[left - 1])
        left -= len(different)
    return [np.sort(np.concatenate(parts)) for parts in repeated], largest


def _between(read, blocks, low, high):
    """(hashes, rows, ends): those from `low` up to but without `high`, and where blocks end."""
    hashes, rows = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for block in range(blocks):
        some, places = read(block)
        here = (some >= np.uint64(low)) & (some <= np.uint64(high - 1))
        hashes.append(some[here])
        rows.append(places[here].astype(np.int64))
    ends = np.cumsum([len(one) for one in rows[1:]], dtype=np.int64)
    return np.concatenate(hashes), np.concatenate(rows), ends
