"""Front end for images: residual convolutions, then a vector for each cell or column of cells."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.augmentation import moved_images
from keras_bahdanau.layers.front_ends.front_end import (
    GridCells,
    ImageFrontEnd,
    until,
    widths_of,
    zeroed,
)
from keras_bahdanau.layers.registry import CompositeLayer
from keras_bahdanau.settings import checks

PAPER = 255  # value of a pixel without ink
CELLS = (2, 4, 8, 16, 32, 64)


class Pixels(NamedTuple):
    """Features of an image source.

    An image is a grid of square cells in column order, so that the cell in column x and row y has
    the position x * grid_height + y.

    Attributes:
        values: Uint8 tensor `(batch, height, width, channels)`, where 255 is paper. The width is a
            multiple of the cell width.
        lengths: Int32 tensor `(batch,)`, the number of real cells in each row.
    """

    values: Any
    lengths: Any


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ImagePatches(ImageFrontEnd):
    """Front end for images: residual convolutions, then a vector for each cell or column of cells.

    x^0     = 1 - pixels / 255                                 0 for paper
    u       = relu(norm(conv(x^{l-1})))                stride 2 in the first log2(cell) stages
    x^l     = relu(u + norm(conv(u)))                          from the second stage on
    v_xy    = W x^L_yx + b + r_y + p_x      r: learned, p: sinusoid
    v_x     = W [x^L_1x; ...; x^L_nx] + b + r + p_x               with `columns`, for a line of text

    The stages follow He et al. (2016). The first log2(cell) stages halve the height and width.
    Kernels are 5 x 5 pixels in the first stage and 3 x 3 in the later ones. Normalization is over
    the channels of one position (Ba et al. 2016), and padding is set to zero after each
    convolution, so a vector depends neither on padding nor on other images.

    Args:
        height: Positive integer, a multiple of `cell`. Height of an image in pixels.
        channels: Positive integer. Number of values per pixel.
        units: Positive integer. Width of a vector.
        convolutions: Sequence of at least log2(cell) positive integers, the widths of the stages.
            Stages after the first log2(cell) do not change the size.
        cell: 2, 4, 8, 16, 32 or 64. Height and width of a cell in pixels.
        augmentation: Float in [0, 1]. Strength of random shear, rotation, zoom and translation in
            training, around the center of each image.
        seed: Integer for reproducible random changes.
        columns: Bool. True for one vector per column of cells, from left to right (Shi et al.
            2017). `reduction` is then the number of cells in a column.

    The inputs are `Pixels`, whose padding may have any value. The output is the pair (vectors,
    mask): `(batch, cells / reduction, units)` and `(batch, cells / reduction)`.

    Example:
        >>> front_end = ImagePatches(height=64, channels=1, units=256)
        >>> encoder = keras_bahdanau.Encoder(front_end=front_end, units=128)
    """

    def __init__(
        self,
        height,
        channels,
        units,
        convolutions=(32, 64, 96),
        cell=8,
        augmentation=0.0,
        seed=None,
        columns=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.columns = bool(columns)
        self.height = checks.positive_integer("height", "the pixels of a column", height)
        self.channels = checks.positive_integer("channels", "the numbers of a pixel", channels)
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.cell = checks.choice("cell", cell, CELLS)
        self.augmentation = checks.fraction("augmentation", "the strength of changes", augmentation)
        self.convolutions = widths_of(convolutions, self.cell.bit_length() - 1)
        self.seed = seed
        if augmentation:
            self.seed_generator = keras.random.SeedGenerator(seed)
            self.supports_jit = False  # XLA does not support TensorFlow's affine transform
        if height % cell:
            raise ValueError(
                f"`height` must be a multiple of `cell`. Received: height={height}, cell={cell}"
            )
        policy = {"dtype": self.dtype_policy}
        halvings = cell.bit_length() - 1
        self.stages = [
            Stage(width, 5 if index == 0 else 3, 2 if index < halvings else 1, index > 0, **policy)
            for index, width in enumerate(self.convolutions)
        ]
        self.cells = GridCells(self.grid_height, units, name="cells", **policy)

    @property
    def grid_height(self):
        """Number of vectors per column of cells."""
        return 1 if self.columns else self.height // self.cell

    @property
    def reduction(self):
        """Number of cells per vector."""
        return self.height // self.cell // self.grid_height

    def build(self, pixels_shape=None):
        width = self.channels
        for stage in self.stages:
            stage.build((None, None, None, width))
            width = stage.units
        self.cells.build((None, self.grid_height, None, self.reduction * width))

    def call(self, pixels, training=None):
        values, lengths = pixels
        lengths = -(-ops.cast(lengths, "int32") // self.reduction)  # number of vectors per row
        real = -(-lengths // self.grid_height) * self.cell  # in columns of pixels: (batch,)
        ink = ops.cast(self.ink(values, real, training), self.compute_dtype)
        for stage in self.stages:
            ink, real = stage(ink, real)
        if self.columns:
            # (batch, rows, columns, width) -> (batch, 1, columns, rows * width)
            ink = ops.transpose(ink, (0, 2, 1, 3))
            ink = ops.reshape(ink, (-1, 1, ops.shape(ink)[1], self.reduction * ink.shape[3]))
        vectors = self.cells(ink)  # (batch, source_time, units)
        return vectors, until(lengths, ops.shape(vectors)[1])

    def ink(self, values, real, training=None):
        """Return the ink x^0 of pixels, float32, zero after the real columns of each image."""
        ink = _up_to(real, 1.0 - ops.cast(values, "float32") / PAPER)
        if training and self.augmentation:
            ink = moved_images(ink, real, self.augmentation, self.seed_generator)
            ink = _up_to(real, ink)
        return ink

    def get_config(self):
        return {
            **super().get_config(),
            "height": self.height,
            "channels": self.channels,
            "units": self.units,
            "convolutions": list(self.convolutions),
            "cell": self.cell,
            "augmentation": self.augmentation,
            "seed": self.seed,
            "columns": self.columns,
        }


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Stage(CompositeLayer):
    """One stage of `ImagePatches`, with one convolution, or with two if `residual` is True.

    A call takes images `(batch, height, width, channels)` and the number of their real columns,
    int32 `(batch,)`, and returns the same pair after the stage. Height and width are divided by
    `strides`, 1 or 2.
    """

    def __init__(self, units, kernel_size, strides, residual, **kwargs):
        super().__init__(**kwargs)
        self.units, self.kernel_size = units, kernel_size
        self.strides, self.residual = strides, residual
        policy = {"dtype": self.dtype_policy}
        sizes = [(kernel_size, strides), (3, 1)][: 1 + residual]
        self.convolutions = [
            keras.layers.Conv2D(
                units,
                size,
                strides,
                padding="same",
                data_format="channels_last",
                use_bias=False,  # the norm has a bias
                kernel_initializer="he_normal",
                **policy,
            )
            for size, strides in sizes
        ]
        self.norms = [keras.layers.LayerNormalization(**policy) for _ in sizes]

    def build(self, inputs_shape, real_shape=None):
        shapes = [inputs_shape, (*inputs_shape[:-1], self.units)]
        for shape, convolution, norm in zip(shapes, self.convolutions, self.norms, strict=False):
            convolution.build(shape)
            norm.build(shapes[1])

    def call(self, inputs, real):
        real = real // self.strides
        outputs = _up_to(real, ops.relu(self.norms[0](self.convolutions[0](inputs))))
        if self.residual:
            changed = outputs + self.norms[1](self.convolutions[1](outputs))
            outputs = _up_to(real, ops.relu(changed))
        return outputs, real

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "residual": self.residual,
        }


def _up_to(real, images):
    """Set images `(batch, height, width, channels)` to zero after their real columns."""
    # (batch, width) -> (batch, 1, width)
    return zeroed(images, ops.expand_dims(until(real, ops.shape(images)[2]), axis=1))
