"""Work on many inputs, in batches that fit in memory, with as many under way as cores."""

import concurrent.futures

import numpy as np

from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import BATCH_SIZE, MOST_SEARCH_NUMBERS, SEARCH_NUMBERS
from keras_bahdanau.settings.option import check_value


def in_batches(
    rows,
    batch_size,
    work,
    options,
    vocabulary_size,
    reduction=1,
    held=None,
    read=None,
    tell=None,
):
    """Results of `work(members, features)` for each member, in the order of the rows.

    There are as many batches under way as cores: one batch alone leaves cores idle, as
    the steps of a search follow each other.

    Args:
        rows: Rows of a `Source`.
        batch_size: Positive integer, most rows of a batch.
        work: Function `(members, features) -> iterable`, one result for each number in the int
            array `members`; called in several threads.
        options: `SearchOptions` of the work, which say how much memory a row takes.
        vocabulary_size: Integer, number of target ids.
        reduction: Positive integer, number of positions of the source for one of the memory.
        held: Function of the positions of a memory: the numbers that a step of the model holds
            for a hypothesis beside logits and weights; None for none.
        read: Function of the same: the numbers that the encoder holds for a row; None for none.
        tell: Function of an integer, the rows that are done so far; None for none.

    Returns:
        List, one result a row.

    Raises:
        ValueError: If `batch_size` is out of range, or a row alone does not fit in memory.

    Example:
        >>> rows = source.rows(["one", "one two"])
        >>> in_batches(rows, 64, lambda members, ids: ids.shape[1:] * len(members), options, 48)
        [3, 3]
    """
    check_value("batch_size", batch_size, BATCH_SIZE)
    results = [None] * len(rows.lengths)
    order = np.argsort(-rows.lengths, kind="stable")  # so that no core waits long at the end
    sizes = vocabulary_size, reduction, held, read
    batches, done = [*_batches(order, rows.lengths, batch_size, options, *sizes)], 0

    def worked(members):
        # as wide as its longest: (batch, source_time, ...)
        shape = (len(members), max(1, int(rows.lengths[members].max())))
        return [*work(members, rows.padded(members, shape))]

    with concurrent.futures.ThreadPoolExecutor(usable_cores()) as pool:
        for members, of_members in zip(batches, pool.map(worked, batches), strict=True):
            for member, one in zip(members, of_members, strict=True):
                results[member] = one
            done += len(members)
            if tell is not None:
                tell(done)
    return results


def _batches(
    order,
    lengths,
    batch_size,
    options,
    vocabulary_size,
    reduction=1,
    held=None,
    read=None,
):
    """Parts of `order`, the longest inputs first: smaller ones for a search that takes more."""
    while order.size:
        longest = int(lengths[order[0]])
        source_time = -(-longest // reduction)
        of_hypothesis = held(source_time) if held else 0
        numbers = options.numbers(source_time, vocabulary_size, of_hypothesis)
        numbers += read(source_time) if read else 0
        if numbers > MOST_SEARCH_NUMBERS:
            raise ValueError(
                f"A search must fit in memory: {MOST_SEARCH_NUMBERS:,} scores and weights. "
                f"Received: an input of {longest:,} positions, "
                f"beam_width={options.beam_width}, max_length={options.max_length}, "
                f"which take {numbers:,}. Lower one of them."
            )
        rows = min(batch_size, max(1, SEARCH_NUMBERS // numbers))
        yield order[:rows]
        order = order[rows:]
