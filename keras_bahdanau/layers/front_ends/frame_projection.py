"""A linear projection of frames: vectors of numbers, such as measurements or features."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.front_end import FrontEnd, until, zeroed
from keras_bahdanau.settings import checks


class Frames(NamedTuple):
    """The features of a source that is a sequence of frames.

    Attributes:
        values: Float tensor `(batch, source_time, frame_size)`.
        lengths: Int32 tensor `(batch,)`, the number of real frames of each row.
    """

    values: Any
    lengths: Any


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FrameProjection(FrontEnd):
    """Front end of frames: x_j = W frame_j + b.

    Args:
        frame_size: Positive integer. Number of values of a frame.
        units: Positive integer. Width of a vector.

    Call arguments:
        frames: `Frames`. The values behind a row's length may be anything, NaN too.

    Output:
        (vectors, mask): float tensor `(batch, source_time, units)`, and bool tensor
        `(batch, source_time)`, True where a frame is real.

    Raises:
        ValueError: If a size is not a positive integer.
    """

    def __init__(self, frame_size, units, **kwargs):
        super().__init__(**kwargs)
        self.frame_size = checks.positive_integer("frame_size", "the values of a frame", frame_size)
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.projection = keras.layers.Dense(units, name="projection", dtype=self.dtype_policy)

    @property
    def source_size(self):
        """Number of values of a frame of the source."""
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
