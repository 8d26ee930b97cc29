"""Front ends for frames from pens, sensors or movements: a projection, or convolutions."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.front_end import FrontEnd, until, widths_of, zeroed
from keras_bahdanau.layers.front_ends.shape_context import HELD, ShapeContext
from keras_bahdanau.settings import checks


class Frames(NamedTuple):
    """Features of a frame source.

    Attributes:
        values: Float tensor `(batch, source_time, frame_size)`.
        lengths: Int32 tensor `(batch,)`, the number of real frames in each row.
    """

    values: Any
    lengths: Any


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FrameProjection(FrontEnd):
    """Front end for frames: x_j = W frame_j + b.

    The inputs are `Frames` with `frame_size` values each, whose padding may have any value, even
    NaN. The output is the pair (vectors, mask): `(batch, source_time, units)` and
    `(batch, source_time)`.
    """

    def __init__(self, frame_size, units, **kwargs):
        super().__init__(**kwargs)
        self.frame_size = checks.positive_integer("frame_size", "the values of a frame", frame_size)
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.projection = keras.layers.Dense(units, name="projection", dtype=self.dtype_policy)

    @property
    def source_size(self):
        return self.frame_size

    def build(self, frames_shape=None):
        self.projection.build((None, None, self.frame_size))

    def call(self, frames, training=None):
        values, lengths = frames
        mask = until(lengths, ops.shape(values)[1])  # -> (batch, source_time)
        values = zeroed(values, mask)
        return self.projection(values), mask  # (batch, source_time, units), (batch, source_time)

    def compute_output_shape(self, frames_shape):
        batch_and_time = tuple(frames_shape[0][:2])
        return (*batch_and_time, self.units), batch_and_time

    def get_config(self):
        return {**super().get_config(), "frame_size": self.frame_size, "units": self.units}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FrameConvolutions(FrontEnd):
    """Front end for frames: residual convolutions in stages that each halve the time axis.

    x^0     = frames
    u_j     = relu(norm(conv(x^{l-1})_{2j}))      5 frames, with stride 2
    x^l     = relu(u + norm(conv(u)))             3 frames
    vectors = W x^L_j + b

    The stages follow He et al. (2016). Normalization is over the channels of one position (Ba et
    al. 2016), and padding is set to zero before each convolution, so a vector depends neither on
    padding nor on other rows.

    In training, `augmentation` changes the first `2 * planes` values of a frame. These are `planes`
    vectors (x, y) in the same plane, such as the position and the movement of a pen. A random
    matrix for each row rotates, shears and scales all of these vectors.

    Args:
        frame_size: Positive integer. Number of values in a frame.
        units: Positive integer. Width of a vector.
        convolutions: Tuple of at most 12 positive integers, the widths of the stages.
        augmentation: Float in [0, 1]. Strength of the random changes in training.
        planes: Integer. Number of vectors (x, y) at the beginning of a frame.
        surroundings: Bool. True to add the `ShapeContext` of frames from an `InkSource`.
        seed: Integer for reproducible random changes.

    Calls are as in `FrameProjection`, but return ceil(source_time / reduction) vectors.

    Example:
        >>> front_end = FrameConvolutions(8, units=128, convolutions=(64, 128))
        >>> encoder = keras_bahdanau.Encoder(front_end=front_end, units=128)
    """

    def __init__(
        self,
        frame_size,
        units,
        convolutions=(64, 128),
        augmentation=0.0,
        planes=0,
        surroundings=False,
        seed=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # positions need float32
        self.frame_size = checks.positive_integer("frame_size", "the values of a frame", frame_size)
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.augmentation = checks.fraction("augmentation", "the strength of changes", augmentation)
        self.widths = widths_of(convolutions)
        self.planes = _planes(planes, frame_size)
        self.surroundings = bool(surroundings)
        self.seed = seed
        if augmentation:
            self.seed_generator = keras.random.SeedGenerator(seed)
        policy = {"dtype": self.dtype_policy}
        plain = {"use_bias": False, "data_format": "channels_last", **policy}
        self.stages = [
            (
                keras.layers.Conv1D(width, 5, 2, **plain),
                keras.layers.LayerNormalization(**policy),
                keras.layers.Conv1D(width, 3, **plain),
                keras.layers.LayerNormalization(**policy),
            )
            for width in self.widths
        ]
        self.projection = keras.layers.Dense(units, name="projection", **policy)
        self.context = (
            ShapeContext(units, self.reduction, name="context", **policy) if surroundings else None
        )

    @property
    def source_size(self):
        return self.frame_size

    @property
    def reduction(self):
        return 2 ** len(self.widths)

    def row_numbers(self, time):
        """Return how many values a row of `time` frames needs in memory for pairs of positions."""
        if self.context is None:
            return 0
        return HELD * -(-time // self.context.every) * -(-time // 2)

    def build(self, frames_shape=None):
        width = self.frame_size
        for (shrinking, norm, residual, residual_norm), units in zip(
            self.stages, self.widths, strict=True
        ):
            shrinking.build((None, None, width))
            norm.build((None, None, units))
            residual.build((None, None, units))
            residual_norm.build((None, None, units))
            width = units
        self.projection.build((None, None, width))
        if self.context is not None:
            self.context.build((None, None, self.frame_size))

    def call(self, frames, training=None):
        values, lengths = frames
        mask = until(lengths, ops.shape(values)[1])  # -> (batch, source_time)
        values = zeroed(values, mask)
        if training and self.augmentation and self.planes:
            values = self._changed(values)
        around = None if self.context is None else self.context(values, mask)
        values = ops.cast(values, self.compute_dtype)
        for shrinking, norm, residual, residual_norm in self.stages:
            # pad two frames per side, to get ceil(n / 2) for any n
            values = shrinking(ops.pad(values, ((0, 0), (2, 2), (0, 0))))
            mask = mask[:, ::2]  # -> (batch, ceil(time / 2))
            values = zeroed(ops.relu(norm(values)), mask)
            changed = residual(ops.pad(values, ((0, 0), (1, 1), (0, 0))))
            values = zeroed(ops.relu(values + residual_norm(changed)), mask)
        vectors = self.projection(values)
        return vectors if around is None else vectors + around, mask

    def _changed(self, values):
        """Rotate, shear and scale the vectors of each row with a random matrix per row."""
        shape = (ops.shape(values)[0], 2, 2)
        # a matrix A = 1 + noise for each row: (batch, 2, 2)
        noise = keras.random.normal(shape, stddev=0.2 * self.augmentation, seed=self.seed_generator)
        matrix = ops.cast(ops.eye(2) + ops.clip(noise, -0.5, 0.5), values.dtype)
        time = ops.shape(values)[1]
        plane = ops.reshape(values[:, :, : 2 * self.planes], (-1, time * self.planes, 2))
        plane = ops.reshape(ops.matmul(plane, matrix), (-1, time, 2 * self.planes))
        return ops.concatenate([plane, values[:, :, 2 * self.planes :]], axis=-1)

    def compute_output_shape(self, frames_shape):
        batch, time = frames_shape[0][:2]
        time = None if time is None else -(-time // self.reduction)
        return (batch, time, self.units), (batch, time)

    def get_config(self):
        return {
            **super().get_config(),
            "frame_size": self.frame_size,
            "units": self.units,
            "convolutions": list(self.widths),
            "augmentation": self.augmentation,
            "planes": self.planes,
            "surroundings": self.surroundings,
            "seed": self.seed,
        }


def _planes(planes, frame_size):
    if not isinstance(planes, int) or isinstance(planes, bool) or not 0 <= 2 * planes <= frame_size:
        raise ValueError(
            "`planes` must be an integer from 0 to half the frame size. "
            f"Received: planes={planes!r}, frame_size={frame_size}"
        )
    return planes
