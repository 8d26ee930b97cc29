"""Base classes and helpers for front ends, and vectors for the cells of a grid."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.registry import CompositeLayer
from keras_bahdanau.settings import checks

MOST_CONVOLUTIONS = 12


class FrontEnd(CompositeLayer):
    """Base class of layers that map features to vectors: see `front_ends`."""

    reduction = 1

    def compute_output_spec(self, features, training=None):
        shapes = tree.map_structure(lambda tensor: tuple(tensor.shape), features)
        vectors, mask = self.compute_output_shape(shapes)
        return keras.KerasTensor(vectors, self.compute_dtype), keras.KerasTensor(mask, "bool")


class ImageFrontEnd(FrontEnd):
    """Base class of front ends for images, with `height`, `channels`, `cell` and `units`."""

    @property
    def grid_height(self):
        """Number of cells in a column."""
        return self.height // self.cell

    @property
    def source_size(self):
        """Number of values in a column of cells."""
        return self.height * self.cell * self.channels

    def compute_output_shape(self, pixels_shape):
        batch, width = pixels_shape[0][0], pixels_shape[0][2]
        time = None if width is None else width // self.cell * self.grid_height
        return (batch, time, self.units), (batch, time)


def until(lengths, size):
    """Return bool `(batch, size)`, True at positions below the int `lengths` `(batch,)`."""
    steps = ops.expand_dims(ops.arange(size, dtype="int32"), axis=0)  # -> (1, size)
    return steps < ops.expand_dims(ops.cast(lengths, "int32"), axis=1)


def zeroed(values, mask):
    """Set values to zero where a mask over their first axes is False."""
    while len(mask.shape) < len(values.shape):
        mask = ops.expand_dims(mask, axis=-1)
    return ops.where(mask, values, ops.zeros_like(values))


def widths_of(convolutions, fewest=0):
    """Return the widths of convolutions as a tuple.

    Raises ValueError unless they are a list or tuple of `fewest` to 12 positive integers.
    """
    known = isinstance(convolutions, list | tuple)
    if not known or not fewest <= len(convolutions) <= MOST_CONVOLUTIONS:
        raise ValueError(
            f"`convolutions` must be a list of {fewest} to {MOST_CONVOLUTIONS} widths. "
            f"Received: convolutions={convolutions!r}"
        )
    return tuple(
        checks.positive_integer("convolutions", "the width of each", width)
        for width in convolutions
    )


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GridCells(keras.layers.Layer):
    """Layer that turns a grid into a sequence of vectors with positions, in column order.

    v_xy = W g_yx + b + r_y + p_x,   at position x * grid_height + y

    r_y is a learned embedding of the row; the number of rows is fixed. p_x is the sinusoid of the
    column (Vaswani et al. 2017, section 3.5), which also works for grids wider than in training. A
    call maps `(batch, grid_height, columns, channels)` to `(batch, columns * grid_height, units)`.
    """

    def __init__(self, grid_height, units, **kwargs):
        super().__init__(**kwargs)
        self.grid_height = checks.positive_integer("grid_height", "the rows of a grid", grid_height)
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.projection = keras.layers.Dense(units, name="projection", dtype=self.dtype_policy)

    def build(self, grid_shape):
        self.projection.build(grid_shape)
        self.rows = self.add_weight(
            name="rows",
            shape=(self.grid_height, self.units),
            initializer=keras.initializers.RandomNormal(stddev=self.units**-0.5),
        )

    def call(self, grid):
        # -> (batch, columns, grid_height, units)
        vectors = ops.transpose(self.projection(grid), (0, 2, 1, 3))
        batch, columns = ops.shape(vectors)[0], ops.shape(vectors)[1]
        # r_y: (grid_height, units) + p_x: (columns, 1, units)
        positions = self.rows + ops.expand_dims(
            ops.cast(self.sinusoids(columns), self.rows.dtype), 1
        )
        vectors = vectors + ops.cast(positions, vectors.dtype)
        return ops.reshape(vectors, (batch, columns * self.grid_height, self.units))

    def sinusoids(self, columns):
        """Return p_x for all columns, float32 `(columns, units)`: sines, then cosines."""
        half = -(-self.units // 2)
        rates = 10_000.0 ** (-ops.arange(half, dtype="float32") / half)
        steps = ops.cast(ops.arange(columns, dtype="int32"), "float32")
        angles = ops.expand_dims(steps, axis=1) * rates  # -> (columns, half)
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=1)[:, : self.units]

    def compute_output_shape(self, grid_shape):
        columns = grid_shape[2]
        time = None if columns is None else columns * self.grid_height
        return (grid_shape[0], time, self.units)

    def get_config(self):
        return {**super().get_config(), "grid_height": self.grid_height, "units": self.units}
