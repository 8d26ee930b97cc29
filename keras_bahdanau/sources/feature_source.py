"""Source for frames of values, such as measurements or speech features."""

import zlib

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.layers.front_ends.frames import FrameProjection, Frames
from keras_bahdanau.settings import checks
from keras_bahdanau.sources.picture import Picture
from keras_bahdanau.sources.source import Source, refuse_convolutions

_EDGE_LENGTHS = (0, 1, 2, 7, 40)
LARGEST = 1e12  # largest value, so that products with weights and their squares don't overflow


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FeatureSource(Source):
    """Source for sequences of frames, each of which is a vector of `size` values.

    An input is an array `(time, size)` of finite values, which are clipped to ±1e12. Features are
    `Frames`: float32 values `(batch, source_time, size)` and int32 lengths `(batch,)`. Raises
    ValueError if `size` is not a positive integer.

    Example:
        >>> source = FeatureSource(40)
        >>> source.rows([np.zeros((120, 40)), np.zeros((80, 40))]).lengths
        array([120,  80])
    """

    unit = "frames"
    longest = 4096

    def __init__(self, size):
        self.size = checks.positive_integer("size", "the values of a frame", size)
        specs = {
            "values": tf.TensorSpec((None, None, size), tf.float32),
            "lengths": tf.TensorSpec((None,), tf.int32),
        }
        self.inputs = self.feature_inputs = specs
        self.feature_spec = Frames(
            *(tf.TensorSpec(spec.shape, spec.dtype, name=name) for name, spec in specs.items())
        )
        self.assets = {}
        self.descriptions = {
            "values": (
                "Frames, padded at the end with any values.",
                ("batch", "source_time", "size"),
            ),
            "lengths": ("Number of valid frames.", ("batch",)),
        }
        random = np.random.default_rng(0)
        self.edge_cases = [
            random.normal(size=(length, size)).astype(np.float32) for length in _EDGE_LENGTHS
        ]
        self.examples = self.edge_cases[1:3]

    def front_end(self, units, convolutions=None, augmentation=0.0):
        refuse_convolutions(type(self).__name__, convolutions, augmentation)
        return FrameProjection(self.size, units, name="front_end")

    def check(self, name, inputs):
        if isinstance(inputs, np.ndarray) and inputs.ndim == 2:
            raise TypeError(
                f"`{name}` must be a list of arrays (time, {self.size}). "
                f"Received: one array of shape {inputs.shape}. Put it in a list."
            )
        for number, raw in enumerate(inputs):
            array = _array(raw)
            if array is None:
                received = f"={raw!r:.80}"
            elif array.ndim != 2 or array.shape[1] != self.size:
                received = f" of shape {array.shape}"
            elif not np.isfinite(array).all():
                received = f" of shape {array.shape}, with NaN or infinity"
            else:
                continue
            raise ValueError(
                f"`{name}` must contain arrays (time, {self.size}) of values finite in float32. "
                f"Received: {name}[{number}]{received}."
            )

    def rows(self, inputs):
        return FrameRows(inputs, self.size)

    def requests(self, inputs):
        return self.named(self.batch(inputs))

    def labels(self, features):
        return [[str(index) for index in range(length)] for length in features.lengths]

    def picture(self, raw, longest=None):
        (values,), (length,) = self.batch([raw], longest)
        return Picture.heat_map(values[:length], "frames")

    def key(self, raw):
        return zlib.crc32(np.ascontiguousarray(raw, np.float32).tobytes())

    def features(self, values, lengths):
        return self.sanitize(Frames(values, lengths))

    def graph_cut(self, features, longest):
        values, lengths = features
        return Frames(values[:, :longest], tf.minimum(lengths, longest)), lengths > longest

    def sanitize(self, features):
        values, lengths = features
        # at least (batch, 1, size)
        values = tf.pad(values, [[0, 0], [0, tf.maximum(1 - tf.shape(values)[1], 0)], [0, 0]])
        values = tf.where(tf.abs(values) <= tf.float32.max, values, 0.0)  # NaN too; LiteRT has it
        values = tf.clip_by_value(values, -LARGEST, LARGEST)
        return Frames(values, tf.clip_by_value(lengths, 0, tf.shape(values)[1]))

    def label_tensor(self, features):
        time = tf.shape(features.values)[1]
        # -> (batch, source_time)
        real = tf.sequence_mask(features.lengths, time)
        return tf.where(real, tf.strings.as_string(tf.range(time))[tf.newaxis], "")

    def get_config(self):
        return {"size": self.size}


def _array(raw):
    """Return an input as float32, or None if it is not an array of real numbers."""
    try:
        if np.iscomplexobj(raw):
            return None
        with np.errstate(over="ignore"):  # `check` finds values that overflow to infinity
            return np.asarray(raw, np.float32)
    except (TypeError, ValueError):
        return None


class FrameRows:
    """Rows of a `FeatureSource`: the unpadded frames of many inputs, and their `lengths`."""

    def __init__(self, inputs, size):
        arrays = (np.asarray(raw, np.float32).reshape(-1, size) for raw in inputs)
        self._inputs = [np.clip(array, -LARGEST, LARGEST) for array in arrays]
        self._size = size
        self.lengths = np.array([len(raw) for raw in self._inputs], np.int64)

    def cut(self, longest):
        return FrameRows([raw[:longest] for raw in self._inputs], self._size)

    def padded(self, members, shape):
        """Return the rows `members` as `Frames`, padded with 0; `shape` is `(rows, time)`."""
        values = np.zeros((*shape, self._size), np.float32)
        lengths = np.zeros(shape[0], np.int32)
        for row, member in enumerate(members):
            lengths[row] = self.lengths[member]
            values[row, : lengths[row]] = self._inputs[member]
        return Frames(values, lengths)
