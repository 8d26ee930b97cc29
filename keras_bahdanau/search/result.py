"""Search results: their buffers, their scores and their order."""

from typing import Any, NamedTuple

from keras import ops, tree

from keras_bahdanau.search.penalties import LENGTH_PENALTIES


class SearchResult(NamedTuple):
    """Hypotheses of each sentence, best first; finished ones before cut ones.

    Draws at random come as they are drawn.

    Attributes:
        ids: Int32 tensor `(batch, beam, target_time)`, 0 after the end token.
        lengths: Int32 tensor `(batch, beam)`, tokens with the end token.
        scores: Float32 tensor `(batch, beam)`: log p over the length penalty,
            plus the coverage penalty.
        alignment: Float32 tensor `(batch, beam, target_time, source_time)`,
            zero behind a hypothesis' length.
        finished: Bool tensor `(batch, beam)`: ended by itself, not cut.
        token_log_probs: Float32 tensor `(batch, beam, target_time)`: what each token adds to
            log p, in nats; 0 behind a hypothesis' length.
        token_entropies: Float32 tensor `(batch, beam, target_time)`: the entropy of what each
            token was chosen from, in nats; 0 behind a hypothesis' length.
    """

    ids: Any
    lengths: Any
    scores: Any
    alignment: Any
    finished: Any
    token_log_probs: Any
    token_entropies: Any


def write_row(buffer, step, row):
    """The time-major `buffer` `(time, ...)` with `row` at `step`.

    A fixed shape and a `where`, which every runtime has: no tensor list, no scatter.
    """
    steps = ops.arange(ops.shape(buffer)[0], dtype="int32")
    # (time,) -> (time, 1, ...), as many axes as the buffer
    here = ops.reshape(ops.equal(steps, step), (-1, *(1,) * (len(buffer.shape) - 1)))
    # (time, 1, ...) and (1, batch, ...)
    return ops.where(here, ops.expand_dims(row, axis=0), buffer)


def take_beams(tensor, beams):
    """Row `beams[b, k]` of `tensor[b]`, for each b and k.

    Args:
        tensor: `(batch, beam, ...)`.
        beams: Int32 `(batch, new_beam)`.
    """
    batch, width, *rest = ops.shape(tensor)
    # (batch, 1), the place of row b's beam 0 in the flat array
    first = ops.expand_dims(ops.arange(batch, dtype="int32") * width, axis=1)
    # (batch * beam, ...) -> (batch, new_beam, ...)
    return ops.take(ops.reshape(tensor, (-1, *rest)), beams + first, axis=0)


def spread(state, width):
    """A state `(batch, ...)` for `width` hypotheses in each row: `(batch, width, ...)`."""
    return tree.map_structure(
        lambda leaf: ops.repeat(ops.expand_dims(leaf, axis=1), width, axis=1), state
    )


def normalized(log_probs, lengths, options):
    """Log p over the length penalty, with the length of an empty hypothesis taken as 1."""
    lengths = ops.cast(ops.maximum(lengths, 1), "float32")
    penalty = LENGTH_PENALTIES[options.length_penalty]
    return log_probs / penalty(lengths, options.length_normalization)


def best_first(result):
    """The `SearchResult` with finished hypotheses before cut ones, each best first."""
    _, order = ops.top_k(result.scores, result.scores.shape[1])
    result = SearchResult(*(take_beams(field, ops.cast(order, "int32")) for field in result))
    order = finished_first(result.finished)
    return SearchResult(*(take_beams(field, order) for field in result))


def finished_first(finished):
    """Places of a beam, those that are True before the others, and each kind in its order.

    Args:
        finished: Bool tensor `(batch, beam)`.

    Returns:
        Int32 tensor `(batch, beam)`.
    """
    beam = finished.shape[1]
    # no two keys are equal, for `top_k` of PyTorch keeps no order of equals
    keys = beam * ops.cast(finished, "float32") - ops.arange(beam, dtype="float32")
    return ops.cast(ops.top_k(keys, beam)[1], "int32")


UNSEEN = 1e-7  # of attention, the least that a source token counts as having got


def coverage_penalty(alignment, source_mask=None):
    """Coverage penalty of hypotheses that leave parts of the source unattended.

    cp = sum_j log(min(sum_i alpha_ij, 1))      (Wu et al. 2016, eq. 14)

    Args:
        alignment: Float32 tensor `(batch, beam, target_time, source_time)`,
            zero behind a hypothesis' length.
        source_mask: Bool tensor `(batch, source_time)`, which source tokens
            are real: all if left out.

    Returns:
        Float32 tensor `(batch, beam)`, 0 where each source token got a whole
        target token's attention, and less elsewhere.
    """
    covered = ops.clip(ops.sum(alignment, axis=2), UNSEEN, 1.0)  # sum_i alpha_ij, at most 1
    penalty = ops.log(covered)  # -> (batch, beam, source_time)
    if source_mask is not None:
        # mask -> (batch, 1, source_time)
        penalty = ops.where(ops.expand_dims(source_mask, axis=1), penalty, 0.0)
    return ops.sum(penalty, axis=-1)


def add_coverage(result, factor, source_mask=None):
    """The `SearchResult` with `factor` times the penalty added to the scores."""
    penalty = factor * coverage_penalty(result.alignment, source_mask)
    real = ops.greater(result.lengths, 0)
    return result._replace(scores=ops.where(real, result.scores + penalty, result.scores))
