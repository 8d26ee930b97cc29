"""What a search returns, and how its buffers are written and read back."""

from typing import Any, NamedTuple

from keras import ops


class SearchResult(NamedTuple):
    """Hypotheses of each sentence, best first; finished ones before cut ones.

    Attributes:
        ids: Int32 tensor `(batch, beam, target_time)`, 0 after the end token.
        lengths: Int32 tensor `(batch, beam)`, tokens with the end token.
        scores: Float32 tensor `(batch, beam)`, log p / length^a.
        alignment: Float32 tensor `(batch, beam, target_time, source_time)`,
            zero behind a hypothesis' length.
        finished: Bool tensor `(batch, beam)`: ended by itself, not cut.
    """

    ids: Any
    lengths: Any
    scores: Any
    alignment: Any
    finished: Any


def write_row(buffer, step, row):
    """The time-major `buffer` `(time, ...)` with `row` at `step`.

    A fixed shape and a `where`, which every runtime has: no tensor list, no scatter.
    """
    steps = ops.arange(ops.shape(buffer)[0], dtype="int32")
    here = ops.reshape(ops.equal(steps, step), (-1, *(1,) * (len(buffer.shape) - 1)))
    return ops.where(here, ops.expand_dims(row, axis=0), buffer)


def take_beams(tensor, beams):
    """Row `beams[b, k]` of `tensor[b]`, for each b and k.

    Args:
        tensor: `(batch, beam, ...)`.
        beams: Int32 `(batch, new_beam)`.
    """
    batch, width, *rest = ops.shape(tensor)
    first = ops.expand_dims(ops.arange(batch, dtype="int32") * width, axis=1)
    return ops.take(ops.reshape(tensor, (-1, *rest)), beams + first, axis=0)


def normalized(log_probs, lengths, exponent):
    """Log p / length^exponent, with the length of an empty hypothesis taken as 1."""
    lengths = ops.cast(ops.maximum(lengths, 1), "float32")
    return log_probs / lengths**exponent
