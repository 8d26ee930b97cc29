"""Batches for every worker, made with NumPy only: random batches, and Multi30K's ids."""

import pathlib

import numpy as np

PAD, START, END, FIRST_WORD = 0, 2, 3, 4
SEARCH_STEPS_MORE = 4  # a translation has this many tokens more than its source


def random_batch(batch, source_time, target_time, vocabulary, seed=0):
    """Return (source, target_in, target_out), int32 `(batch, time)`, without any padding."""
    random = np.random.default_rng(seed)
    source = random.integers(FIRST_WORD, vocabulary, (batch, source_time), dtype=np.int32)
    target_out = random.integers(FIRST_WORD, vocabulary, (batch, target_time), dtype=np.int32)
    source[:, -1] = target_out[:, -1] = END
    return source, shifted(target_out), target_out


def shifted(target_out):
    """Return `target_in`: `target_out` without end tokens, shifted right, after a start token."""
    target_in = np.full_like(target_out, START)
    target_in[:, 1:] = np.where(target_out == END, PAD, target_out)[:, :-1]
    return target_in


def padded(rows):
    """Return lists of ids as one int32 array, padded to the longest list."""
    filled = np.full((len(rows), max(map(len, rows))), PAD, np.int32)
    for one, row in zip(filled, rows, strict=True):
        one[: len(row)] = row
    return filled


def read_corpus(folder, part):
    """Return (source rows, target rows): the ids that `corpus.py` wrote, with end tokens."""
    with np.load(pathlib.Path(folder) / f"{part}.npz") as arrays:
        return tuple(
            np.split(arrays[f"{side}_ids"], np.cumsum(arrays[f"{side}_lengths"])[:-1])
            for side in ("source", "target")
        )


def real_tokens(rows):
    """Return the number of tokens in rows of ids."""
    return int(sum(map(len, rows)))


def random_order(rows, size, seed):
    """Return lists of `size` row numbers, in random order."""
    order = np.random.default_rng(seed).permutation(len(rows))
    return [order[first : first + size] for first in range(0, len(order), size)]


def bucketed_order(source, target, size, seed, pool=100):
    """Return lists of `size` row numbers of similar length; rows are sorted in pools of batches."""
    random = np.random.default_rng(seed)
    order, found = random.permutation(len(source)), []
    for first in range(0, len(order), size * pool):
        some = order[first : first + size * pool]
        lengths = [(len(source[row]), len(target[row])) for row in some]
        some = some[np.lexsort(np.array(lengths).T[::-1])]
        batches = [some[start : start + size] for start in range(0, len(some), size)]
        found += [batches[number] for number in random.permutation(len(batches))]
    return found


def search_batches(source, size):
    """Yield (padded ids, steps) for batches of sentences sorted by length, as translators do."""
    order = np.argsort([len(row) for row in source], kind="stable")
    for first in range(0, len(order), size):
        rows = [source[row] for row in order[first : first + size]]
        yield padded(rows), len(rows[-1]) + SEARCH_STEPS_MORE


def attention_batch(batch, source_time, target_time, units):
    """Return (query, values, mask, gradient of the context) for row 6.

    Up to half of each row is padding. If `target_time` is None, there is one query per row, without
    a time axis.
    """
    random = np.random.default_rng(0)
    steps = () if target_time is None else (target_time,)
    query, values, upstream = (
        random.standard_normal((batch, *axes, units), np.float32)
        for axes in (steps, (source_time,), steps)
    )
    lengths = random.integers(source_time // 2, source_time + 1, (batch, 1))
    return query, values, np.arange(source_time) < lengths, upstream
