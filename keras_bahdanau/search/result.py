"""Search results: their buffers, scores and order, and the best tokens of a step."""

from typing import Any, NamedTuple

from keras import ops, tree

from keras_bahdanau.layers.distribution import without
from keras_bahdanau.search.search_options import LENGTH_PENALTIES


class SearchResult(NamedTuple):
    """Hypotheses of each sentence.

    Finished hypotheses come before truncated ones, each sorted best first. Draws are in the order
    in which they were drawn.

    Attributes:
        ids: Int32 tensor `(batch, beam, target_time)`, 0 after the end token.
        lengths: Int32 tensor `(batch, beam)`, number of tokens, including the end token.
        scores: Float32 tensor `(batch, beam)`: log p divided by the length penalty,
            plus the coverage penalty.
        alignment: Float32 tensor `(batch, beam, target_time, source_time)`.
        finished: Bool tensor `(batch, beam)`, True if the end token was reached.
        token_log_probs: Float32 tensor `(batch, beam, target_time)`: log p of each token, in nats.
        token_entropies: Float32 tensor `(batch, beam, target_time)`: entropy of each token's
            distribution, in nats. Like the alignment, both are 0 after the end of a hypothesis.
    """

    ids: Any
    lengths: Any
    scores: Any
    alignment: Any
    finished: Any
    token_log_probs: Any
    token_entropies: Any


def write_row(buffer, step, row):
    """Return the time-major `buffer` `(time, ...)` with `row` written at index `step`.

    Uses `where` instead of a scatter.
    """
    steps = ops.arange(ops.shape(buffer)[0], dtype="int32")
    # (time,) -> (time, 1, ...), with as many axes as the buffer
    is_step = ops.reshape(ops.equal(steps, step), (-1, *(1,) * (len(buffer.shape) - 1)))
    # (time, 1, ...) and (1, batch, ...)
    return ops.where(is_step, ops.expand_dims(row, axis=0), buffer)


def take_beams(tensor, beams):
    """Return row `beams[b, k]` of `tensor[b]` `(beam, ...)` for each b and k; `beams` is int32."""
    batch, width, *inner = ops.shape(tensor)
    # (batch, 1), the index of beam 0 of each row in the flat array
    first = ops.expand_dims(ops.arange(batch, dtype="int32") * width, axis=1)
    # (batch * beam, ...) -> (batch, new_beam, ...)
    return ops.take(ops.reshape(tensor, (-1, *inner)), beams + first, axis=0)


def spread(state, width):
    """Repeat a state `(batch, ...)` for `width` hypotheses in each row: `(batch, width, ...)`."""
    return tree.map_structure(
        lambda leaf: ops.repeat(ops.expand_dims(leaf, axis=1), width, axis=1), state
    )


def normalized(log_probs, lengths, options):
    """Divide log p by the length penalty; an empty hypothesis counts as length 1."""
    lengths = ops.cast(ops.maximum(lengths, 1), "float32")
    penalty = LENGTH_PENALTIES[options.length_penalty]
    return log_probs / penalty(lengths, options.length_normalization)


def best_first(result):
    """Sort a `SearchResult`: finished hypotheses before truncated ones, each best first."""
    _, order = ops.top_k(result.scores, result.scores.shape[1])
    result = SearchResult(*(take_beams(field, ops.cast(order, "int32")) for field in result))
    order = finished_first(result.finished)
    return SearchResult(*(take_beams(field, order) for field in result))


def finished_first(finished):
    """Return the order that puts finished beams first, int32 `(batch, beam)`.

    The order within finished and within unfinished beams is kept.
    """
    beam = finished.shape[1]
    # all keys are distinct, since PyTorch's `top_k` is not stable
    keys = beam * ops.cast(finished, "float32") - ops.arange(beam, dtype="float32")
    return ops.cast(ops.top_k(keys, beam)[1], "int32")


UNSEEN = 1e-7  # a source token counts as having at least this much attention


def coverage_penalty(alignment, source_mask=None):
    """Compute the penalty for real source positions that are not attended to.

    Returns float32 `(batch, beam)`.

    cp = sum_j log(min(sum_i alpha_ij, 1))      (Wu et al. 2016, eq. 14)
    """
    covered = ops.clip(ops.sum(alignment, axis=2), UNSEEN, 1.0)  # sum_i alpha_ij, at most 1
    penalty = ops.log(covered)  # -> (batch, beam, source_time)
    if source_mask is not None:
        # mask -> (batch, 1, source_time)
        penalty = ops.where(ops.expand_dims(source_mask, axis=1), penalty, 0.0)
    return ops.sum(penalty, axis=-1)


def add_coverage(result, factor, source_mask=None):
    """Return the `SearchResult` with `factor` times the coverage penalty added to the scores."""
    penalty = factor * coverage_penalty(result.alignment, source_mask)
    real = ops.greater(result.lengths, 0)
    return result._replace(scores=ops.where(real, result.scores + penalty, result.scores))


SMALLEST, LARGEST = 16, 128  # limits on the number of tokens in a block


def best_tokens(distribution, count):
    """Return the most probable tokens: (log-probabilities, ids), `(..., count)`, best first."""
    logits, ids = top_k_tokens(distribution.logits, count, distribution.unwritten)
    return logits - distribution.log_total, ids


def top_k_tokens(log_probs, count, unwritten=()):
    """Compute `ops.top_k` over the last axis, faster for a large vocabulary.

    Returns (values, int32 ids). Only tokens in the `count` blocks with the largest maxima are
    ranked. Equal values keep their order. `unwritten` tokens are excluded.
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
    values, indices = ops.top_k(few, count)
    indices = ops.cast(indices, "int32")
    # block number * block size + index in the block
    ids = take_beams(chosen, indices // block) * block + indices % block
    return ops.reshape(values, (*leading, count)), ops.reshape(ids, (*leading, count))


def _block(vocabulary, count):
    """Return the block size that leaves the fewest values to rank, or 1 if none divides evenly."""
    sizes = range(SMALLEST, min(LARGEST, vocabulary) + 1)
    dividing = [size for size in sizes if vocabulary % size == 0]
    return min(dividing, key=lambda size: vocabulary // size + count * size, default=1)
