"""One vector for a whole sentence, from the values of its tokens."""

from collections.abc import Callable
from typing import NamedTuple

from keras import ops


def masked_mean(values, mask):
    """The mean of the real values, zero for a sentence that has none.

    Args:
        values: Float tensor `(batch, source_time, values_units)`. Padding is
            not read and may be NaN.
        mask: Bool tensor `(batch, source_time)`, True where a value is real.

    Returns:
        Tensor `(batch, values_units)` in the dtype of the values, summed in float32.
    """
    # mask (batch, source_time, 1), values (batch, source_time, values_units)
    real = ops.where(ops.expand_dims(mask, axis=-1), ops.cast(values, "float32"), 0.0)
    # -> (batch, 1)
    count = ops.maximum(ops.sum(ops.cast(mask, "float32"), axis=1, keepdims=True), 1.0)
    return ops.cast(ops.sum(real, axis=1) / count, values.dtype)


def first_value(values, mask):
    """The value of the first token, zero for a sentence that has none.

    Args:
        values: Float tensor `(batch, source_time, values_units)`.
        mask: Bool tensor `(batch, source_time)`, True where a value is real; padding
            stands on the right.
    """
    return _at_place(values, ops.minimum(_count(mask), 1) - 1)


def last_value(values, mask):
    """The value of the last token, zero for a sentence that has none.

    Args:
        values: Float tensor `(batch, source_time, values_units)`.
        mask: Bool tensor `(batch, source_time)`, True where a value is real; padding
            stands on the right.
    """
    return _at_place(values, _count(mask) - 1)


def _count(mask):
    return ops.sum(ops.cast(mask, "int32"), axis=1)


def _at_place(values, places):
    """Row by row the value at one place, or zero at place -1."""
    # -> (1, source_time)
    steps = ops.expand_dims(ops.arange(ops.shape(values)[1], dtype="int32"), axis=0)
    here = ops.equal(steps, ops.expand_dims(places, axis=1))  # -> (batch, source_time)
    # (batch, source_time, 1) picks of (batch, source_time, units) -> (batch, units)
    return ops.sum(
        ops.where(ops.expand_dims(here, axis=-1), values, ops.zeros_like(values)), axis=1
    )


class Summary(NamedTuple):
    """A function that sums up a source in one vector, and its width.

    Attributes:
        make: Function `(reader, values, mask) -> summary`, of the reader that gave the
            values; the summary is a float tensor `(batch, summary_units)`.
        units: Function `(reader) -> summary_units`.
    """

    make: Callable
    units: Callable


def _mean(reader, values, mask):
    return masked_mean(values, mask)


def _last(reader, values, mask):
    return reader.last(values, mask)


def _backward(reader, values, mask):
    return reader.first_backward(values, mask)


def _output_units(reader):
    return reader.output_units


def _backward_units(reader):
    if not hasattr(reader, "first_backward"):
        raise ValueError(
            "`summary='backward'` needs a reader with a backward direction. Received: "
            f"a {type(reader).__name__}. Take kind='bidirectional', or 'mean' or 'last'."
        )
    return reader.units


SUMMARIES = {
    "mean": Summary(_mean, _output_units),
    "last": Summary(_last, _output_units),
    "backward": Summary(_backward, _backward_units),
}
