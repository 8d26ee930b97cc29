"""Work on many inputs, in batches that fit in memory, with as many under way as cores."""

import concurrent.futures

import numpy as np

from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import BATCH_SIZE, MOST_SEARCH_NUMBERS, SEARCH_NUMBERS
from keras_bahdanau.settings.option import check_value


def in_batches(rows, batch_size, work, memory, tell=None):
    """Results of `work(members, features)` for each member, in the order of the rows.

    As many batches are under way as there are cores: one batch alone leaves cores idle, since
    the steps of a search follow each other.

    Args:
        rows: Rows of a `Source`.
        batch_size: Positive integer, most rows of a batch.
        work: Function `(members, features) -> iterable`, one result for each number in the int
            array `members`; called in several threads.
        memory: `SearchMemory` of the work.
        tell: Function of an integer, the rows that are done so far; None for none.

    Returns:
        List, one result a row.

    Raises:
        ValueError: If `batch_size` is out of range, or a row alone does not fit in memory.

    Example:
        >>> rows, memory = source.rows(["one", "one two"]), SearchMemory(model, options)
        >>> in_batches(rows, 64, lambda members, ids: ids.shape[1:] * len(members), memory)
        [3, 3]
    """
    check_value("batch_size", batch_size, BATCH_SIZE)
    results = [None] * len(rows.lengths)
    order = np.argsort(-rows.lengths, kind="stable")  # so that no core waits long at the end
    batches, done = [*_batches(order, rows.lengths, batch_size, memory)], 0

    def run(members):
        # as wide as its longest: (batch, source_time, ...)
        shape = (len(members), max(1, int(rows.lengths[members].max())))
        return [*work(members, rows.padded(members, shape))]

    with concurrent.futures.ThreadPoolExecutor(usable_cores()) as pool:
        for members, batch_results in zip(batches, pool.map(run, batches), strict=True):
            for member, result in zip(members, batch_results, strict=True):
                results[member] = result
            done += len(members)
            if tell is not None:
                tell(done)
    return results


def _batches(order, lengths, batch_size, memory):
    """Parts of `order`, the longest inputs first: smaller ones for a search that takes more."""
    while order.size:
        longest = int(lengths[order[0]])
        numbers = memory.numbers(longest)
        if numbers > MOST_SEARCH_NUMBERS:
            raise ValueError(
                f"A search must fit in memory: {MOST_SEARCH_NUMBERS:,} scores and weights. "
                f"Received: an input of {longest:,} positions, "
                f"beam_width={memory.options.beam_width}, "
                f"max_length={memory.options.max_length}, "
                f"which take {numbers:,}. Lower one of them."
            )
        rows = min(batch_size, max(1, SEARCH_NUMBERS // numbers))
        yield order[:rows]
        order = order[rows:]
