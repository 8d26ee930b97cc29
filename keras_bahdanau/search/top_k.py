"""The most probable tokens of a whole vocabulary, without ranking all of it."""

from keras import ops

from keras_bahdanau.layers.distribution import without
from keras_bahdanau.search.result import take_beams

SMALLEST, LARGEST = 16, 128  # tokens of a block


def best_tokens(distribution, count):
    """The most probable tokens: (log-probabilities, ids), each `(..., count)`, best first.

    Args:
        distribution: `Distribution` over `(..., vocabulary)`.
        count: Positive integer, at most `vocabulary`.
    """
    logits, ids = top_k_tokens(distribution.logits, count, distribution.unwritten)
    return logits - distribution.log_total, ids


def top_k_tokens(log_probs, count, unwritten=()):
    """`ops.top_k` over the last axis, faster for a large vocabulary.

    The `count` largest values stand in the `count` blocks with the largest maxima: so the
    maximum of each block comes first, which a processor takes in one pass, and only those
    few blocks are ranked. Tokens that are exactly equal come in the order of their blocks.

    Args:
        log_probs: Float tensor `(..., vocabulary)`.
        count: Positive integer, at most `vocabulary`.
        unwritten: Sequence of integers, tokens that are not taken. Those of the first block cost
            no pass over the vocabulary.

    Returns:
        (values, ids), each `(..., count)`, largest first; ids are int32.
    """
    vocabulary = log_probs.shape[-1]
    block = _block(vocabulary, count)
    blocks = vocabulary // block
    whole = block == 1 or blocks <= 4 * count
    if len(unwritten) and (whole or max(unwritten) >= block):
        log_probs, unwritten = without(log_probs, unwritten), ()
    if whole:
        values, ids = ops.top_k(log_probs, count)
        return values, ops.cast(ids, "int32")
    leading = ops.shape(log_probs)[:-1]
    split = ops.reshape(log_probs, (-1, blocks, block))  # -> (rows, blocks, block)
    maxima = ops.max(split, axis=-1)  # -> (rows, blocks)
    if len(unwritten):
        first = ops.max(without(split[:, 0], unwritten), axis=-1, keepdims=True)  # -> (rows, 1)
        maxima = ops.concatenate([first, maxima[:, 1:]], axis=1)
    _, chosen = ops.top_k(maxima, count)
    chosen = ops.cast(chosen, "int32")  # -> (rows, count)
    few = take_beams(split, chosen)  # -> (rows, count, block)
    if len(unwritten):
        is_first = ops.equal(ops.expand_dims(chosen, axis=-1), 0)  # -> (rows, count, 1)
        few = ops.where(is_first, without(few, unwritten), few)
    few = ops.reshape(few, (-1, count * block))
    values, places = ops.top_k(few, count)
    places = ops.cast(places, "int32")
    # block * its size + place in it
    ids = take_beams(chosen, places // block) * block + places % block
    return ops.reshape(values, (*leading, count)), ops.reshape(ids, (*leading, count))


def _block(vocabulary, count):
    """The size of blocks, within bounds, that leaves the fewest values to rank; 1 if none divides.

    Ranked are the maxima of all blocks, and then the values of `count` blocks.
    """
    sizes = range(SMALLEST, min(LARGEST, vocabulary) + 1)
    dividing = [size for size in sizes if vocabulary % size == 0]
    return min(dividing, key=lambda size: vocabulary // size + count * size, default=1)
