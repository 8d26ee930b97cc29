"""Front end that uses any Keras image model."""

import json

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.front_end import GridCells, ImageFrontEnd, until
from keras_bahdanau.layers.front_ends.image_patches import PAPER
from keras_bahdanau.layers.registry import from_config
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class KerasGrid(ImageFrontEnd):
    """Front end for images: any Keras model with a grid output, as in `keras.applications`.

    Each image is padded with paper to the input width of the model, so that its vectors do not
    depend on the rest of the batch, whatever layers the model has. The channels of the grid are
    projected to `units`, and r_y + p_x is added for each cell. Calls are as in `ImagePatches`.

    `model` is a built `keras.Model` that maps float images `(batch, height, width, channels)` of a
    fixed size, with values from 0 to 255, to a grid `(batch, rows, columns, features)` of square
    cells. Its weights are trained unless `model.trainable` is False.

    Example:
        >>> model = keras.applications.MobileNetV3Small(
        ...     input_shape=(64, 512, 3), include_top=False, weights="my.weights.h5"
        ... )
        >>> front_end = KerasGrid(model, units=256)  # for ImageSource(64, 512, 3, cell=32)
    """

    def __init__(self, model, units, **kwargs):
        super().__init__(**kwargs)
        self.model = model
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.height, self.width, self.channels, self.cell = _sizes(model)
        self.cells = GridCells(self.grid_height, units, name="cells", dtype=self.dtype_policy)

    def build(self, pixels_shape=None):
        self.cells.build(self.model.output_shape)

    def call(self, pixels, training=None):
        values, lengths = pixels
        lengths = ops.cast(lengths, "int32")
        columns = ops.shape(values)[2] // self.cell
        grid = self.model(self._padded(values, lengths), training=training)
        # (batch, rows, the model's columns, features) -> (batch, source_time, units)
        vectors = self.cells(ops.cast(grid, self.compute_dtype)[:, :, :columns])
        return vectors, until(lengths, ops.shape(vectors)[1])

    def _padded(self, values, lengths):
        """Return float images of the model's input size, with paper after the real columns."""
        shape = (ops.shape(values)[0], self.height, self.width, self.channels)
        images = ops.cast(values, "float32")
        paper = ops.full(shape, float(PAPER), "float32")
        images = ops.concatenate([images, paper], axis=2)[:, :, : self.width]
        real = -(-lengths // self.grid_height) * self.cell  # -> (batch,)
        mask = ops.expand_dims(ops.expand_dims(until(real, self.width), axis=1), axis=-1)
        # mask: (batch, 1, width, 1)
        return ops.where(mask, images, paper)

    def get_config(self):
        # without tuples, as after loading from JSON
        model = json.loads(json.dumps(keras.saving.serialize_keras_object(self.model)))
        return {**super().get_config(), "model": model, "units": self.units}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "model": from_config(config["model"])})


def _sizes(model):
    """Return (height, width, channels, cell); raise ValueError if the output is not a grid."""
    inputs, outputs = (tuple(getattr(model, name, ())) for name in ("input_shape", "output_shape"))
    fixed = len(inputs) == len(outputs) == 4 and None not in (*inputs[1:], *outputs[1:])
    if fixed and inputs[1] % outputs[1] == 0:
        cell = inputs[1] // outputs[1]
        if inputs[2] == cell * outputs[2]:
            return (*inputs[1:], cell)
    raise ValueError(
        "`model` must map images (batch, height, width, channels) of a fixed size to a grid "
        f"(batch, rows, columns, features) of square cells. Received: {type(model).__name__} "
        f"from {inputs} to {outputs}. Use an `input_shape` and include_top=False."
    )
