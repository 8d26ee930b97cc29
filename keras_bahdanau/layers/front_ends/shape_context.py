"""Shape context: the ink around each pen position, including ink drawn later."""

import math

import keras
import numpy as np
from keras import ops

from keras_bahdanau.layers.front_ends.front_end import zeroed
from keras_bahdanau.layers.registry import CompositeLayer
from keras_bahdanau.settings import checks

RINGS = 5  # with radii of 1/4, 1/2, 1, 2 and 4 times the size of a stroke
INNERMOST = 0.25
DIRECTIONS = 8
TENTH = 10.0  # an `InkSource` divides positions by 10
HELD = 48  # measured number of values in memory per position and point
SMALL = 1e-6  # keeps the distance of a point to itself above 0


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ShapeContext(CompositeLayer):
    """Layer that describes the ink around a position as a vector, by rings and directions.

    For a position p and the points q of the ink, with distance r = |q - p| and direction
    u = (q - p) / r:

    h_kap = sum_q relu(1 - |log2(r / r_k)|) relu(u . e_a)^2     q in one plane
    z     = W_2 relu(W_1 log(1 + h) + b_1)

    Ring k has the radius r_k, from 1/4 to 4 times the size of a stroke. e_a is one of 8 directions.
    There are two planes: the stroke of p, and all other strokes. The histograms follow Belongie et
    al. (2002, "Shape matching and object recognition using shape contexts", section 3.1), but with
    overlapping bins. W_2 is initialized to zero. A call maps `frames` `(batch, time, size)` to
    `(batch, ceil(time / every), units)`.
    """

    def __init__(self, units, every=4, **kwargs):
        super().__init__(autocast=False, **kwargs)  # positions need float32
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.every = checks.positive_integer("every", "the frames between positions", every)
        policy = {"dtype": self.dtype_policy}
        self.hidden = keras.layers.Dense(units, activation="relu", name="hidden", **policy)
        self.output_layer = keras.layers.Dense(
            units, use_bias=False, kernel_initializer="zeros", name="output", **policy
        )

    def build(self, frames_shape=None):
        self.hidden.build((None, None, 2 * RINGS * DIRECTIONS))
        self.output_layer.build((None, None, self.units))

    def call(self, frames, mask=None):
        counts = self.histograms(ops.cast(frames, "float32"), mask)
        return self.output_layer(self.hidden(ops.cast(ops.log1p(counts), self.compute_dtype)))

    def histograms(self, frames, mask=None):
        """Return the sums h, float32 `(batch, positions, 2 * rings * directions)`."""
        if mask is None:
            mask = ops.ones(ops.shape(frames)[:2], "bool")
        points = frames[:, :, :2] * TENTH
        up = zeroed(frames[:, :, -1], mask)
        strokes = ops.cumsum(up, axis=1) - up  # (batch, time), index of the stroke
        positions, ink = points[:, :: self.every], points[:, ::2]
        # -> (batch, positions, points, 2), (batch, positions, points)
        moves = ops.expand_dims(ink, 1) - ops.expand_dims(positions, 2)
        distances = ops.sqrt(ops.sum(ops.square(moves), axis=-1) + SMALL)
        # -> (batch, positions, points, directions)
        angles = 2 * math.pi * np.arange(DIRECTIONS) / DIRECTIONS
        compass = np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
        cosines = ops.matmul(moves / ops.expand_dims(distances, -1), compass)
        directions = ops.square(ops.relu(cosines))
        # -> (batch, positions, 1, rings, points)
        steps = ops.log(ops.maximum(distances, INNERMOST) / INNERMOST) / math.log(2.0)
        radii = np.arange(RINGS, dtype=np.float32)[:, np.newaxis]
        rings = ops.expand_dims(ops.relu(1 - ops.abs(ops.expand_dims(steps, 2) - radii)), 2)
        same_stroke = ops.expand_dims(strokes[:, :: self.every], 2) - ops.expand_dims(
            strokes[:, ::2], 1
        )
        same_stroke = ops.cast(ops.abs(same_stroke) < 0.5, "float32")
        real = ops.expand_dims(ops.cast(mask[:, ::2], "float32"), 1)
        # -> (batch, positions, 2, 1, points)
        planes = ops.expand_dims(
            ops.stack([same_stroke * real, (1 - same_stroke) * real], axis=2), 3
        )
        shape = ops.shape(rings)
        chosen = ops.reshape(rings * planes, (shape[0], shape[1], 2 * RINGS, shape[4]))
        sums = ops.matmul(chosen, directions)  # -> (batch, positions, 2 * rings, directions)
        return ops.reshape(sums, (shape[0], shape[1], 2 * RINGS * DIRECTIONS))

    def compute_output_shape(self, frames_shape, mask_shape=None):
        batch, time = frames_shape[:2]
        return batch, None if time is None else -(-time // self.every), self.units

    def get_config(self):
        return {**super().get_config(), "units": self.units, "every": self.every}
