"""Base of the front ends, and what several of them do: masks, and widths of convolutions."""

import keras
from keras import ops, tree

from keras_bahdanau.settings import checks

MOST_CONVOLUTIONS = 12


class FrontEnd(keras.layers.Layer):
    """Layer from the features of a source to vectors for the readers: see `front_ends`.

    A subclass writes `call` and `compute_output_shape`, which gives the shapes of vectors and
    mask from those of the features.
    """

    reduction = 1

    def compute_output_spec(self, features, training=None):
        shapes = tree.map_structure(lambda one: tuple(one.shape), features)
        vectors, mask = self.compute_output_shape(shapes)
        return keras.KerasTensor(vectors, self.compute_dtype), keras.KerasTensor(mask, "bool")


def until(lengths, size):
    """Bool tensor `(batch, size)`, True before each length.

    Args:
        lengths: Int tensor `(batch,)`.
        size: Integer, or int32 scalar.
    """
    steps = ops.expand_dims(ops.arange(size, dtype="int32"), axis=0)  # -> (1, size)
    return steps < ops.expand_dims(ops.cast(lengths, "int32"), axis=1)


def zeroed(values, mask):
    """The values, zero where a mask of their first axes is False."""
    while len(mask.shape) < len(values.shape):
        mask = ops.expand_dims(mask, axis=-1)
    return ops.where(mask, values, ops.zeros_like(values))


def widths_of(convolutions, fewest=0):
    """The widths of convolutions as a tuple.

    Args:
        convolutions: Sequence of positive integers.
        fewest: Integer, the fewest that there must be.

    Raises:
        ValueError: If it is none, or there are fewer than that, or more than 12.
    """
    known = isinstance(convolutions, list | tuple)
    if not known or not fewest <= len(convolutions) <= MOST_CONVOLUTIONS:
        raise ValueError(
            f"`convolutions` must be {fewest} to {MOST_CONVOLUTIONS} widths. "
            f"Received: convolutions={convolutions!r}"
        )
    return tuple(
        checks.positive_integer("convolutions", "the width of each", width)
        for width in convolutions
    )
