"""Source for images, given as files, their bytes, or arrays of pixels."""

import functools

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.files.media_forms import Emptiness
from keras_bahdanau.files.whole_file import read_or
from keras_bahdanau.layers.front_ends.image_patches import CELLS, PAPER, ImagePatches, Pixels
from keras_bahdanau.settings import checks
from keras_bahdanau.sources import images
from keras_bahdanau.sources.decoded_rows import DecodedRows, side_by_side
from keras_bahdanau.sources.image_decoding import MOST_BYTES, MOST_PIXELS, PIXEL_BYTES, decoder
from keras_bahdanau.sources.picture import Picture
from keras_bahdanau.sources.source import Source

_HIGHEST, _WIDEST = 1024, 16_384
_LINE = 16  # an image whose width is more than this many times its height is a line of text


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ImageSource(Source):
    """Source for images, which are scaled to a fixed height.

    An input is the bytes of a PNG or JPEG file, its path as an `os.PathLike`, or an array
    `(high, wide)` or `(high, wide, 1 or 3)` of uint8 values from 0 to 255 or floats from 0 to 1,
    with 0 for black.

    An image that would be too wide is scaled to `width` instead and centred vertically. Transparent
    pixels show the paper, and files are rotated according to their EXIF orientation. The following
    inputs count as empty: bytes that are not an image, images with more than 2^24 pixels or bytes
    according to the header, images of a single colour (levels differ by at most 8 of 255), and
    unreadable files.

    Positions are square cells in column-major order; the cell in column x and row y is named "x,y".
    Features are `Pixels`. If `width` is more than 16 times `height`, images are lines of text: the
    front end makes one vector from each column of cells, and an alignment uses the name of the top
    cell.

    Args:
        height: Positive integer, a multiple of `cell`, at most 1024. Height in pixels.
        width: Positive integer, a multiple of `cell`, at most 16,384. Maximum width in pixels.
        channels: 1 for grey, 3 for colour.
        cell: 2, 4, 8, 16, 32 or 64. Height and width of a cell in pixels.
        ink: "dark" for dark ink on white paper, or "light" for light ink on black paper, which the
            model sees inverted.

    Raises:
        ValueError: If an argument is invalid.

    Example:
        >>> source = ImageSource(height=64, width=512)
        >>> source.rows([Path("formula.png"), np.zeros((32, 48))]).lengths  # 8 cells a column
        array([512,  96])
    """

    inputs_are = "files"
    preset = "images"
    unit = "cells"
    page_entry = "image_entry.mjs"

    def __init__(self, height=64, width=512, channels=1, cell=8, ink="dark"):
        self.cell = checks.choice("cell", cell, CELLS)
        self.height = _whole_cells("height", height, cell, _HIGHEST)
        self.width = _whole_cells("width", width, cell, _WIDEST)
        self.channels = checks.choice("channels", channels, (1, 3))
        self.ink = checks.choice("ink", ink, ("dark", "light"))
        self.size = height * cell * channels
        self.grid_height = height // cell
        self.longest = width // cell * self.grid_height
        self.fixed_length = self.whole_columns(min(self.longest, 4096))
        self.inputs = {"image_bytes": tf.TensorSpec((None,), tf.string)}
        self.feature_inputs = {
            "pixels": tf.TensorSpec((None, height, None, channels), tf.uint8),
            "lengths": tf.TensorSpec((None,), tf.int32),
        }
        self.feature_spec = Pixels(
            *(
                tf.TensorSpec(spec.shape, spec.dtype, name=name)
                for name, spec in self.feature_inputs.items()
            )
        )
        self.assets = {}
        self.descriptions = {
            "pixels": (
                f"Pixels, with height {height} and 255 for paper. Paper fills the last column of "
                "cells; the padding after that column may contain any values.",
                ("batch", "height", "width", "channels"),
            ),
            "lengths": (
                f"Number of valid cells: {self.grid_height} for each {cell} columns of pixels.",
                ("batch",),
            ),
        }

    def front_end(self, units, convolutions=None, augmentation=0.0):
        widths = {} if convolutions is None else {"convolutions": tuple(convolutions)}
        return ImagePatches(
            *(self.height, self.channels, units),
            cell=self.cell,
            augmentation=augmentation,
            columns=self.width > _LINE * self.height,
            name="front_end",
            **widths,
        )

    def reading_bytes(self, rows, longest):
        return MOST_PIXELS * PIXEL_BYTES

    @property
    def decoder(self):
        return decoder(self.height, self.width, self.channels, self.cell, self.ink)

    @functools.cached_property
    def edge_cases(self):
        return images.edge_cases()

    @functools.cached_property
    def examples(self):
        lines = [np.full((self.height, columns * self.cell), PAPER, np.uint8) for columns in (1, 2)]
        for line in lines:
            line[self.height // 2] = 0
        return lines

    def check(self, name, inputs):
        images.check(name, inputs)

    def rows(self, inputs):
        inputs = list(inputs)
        columns = functools.partial(images.declared_columns, self.decoder)
        columns = side_by_side(lambda raw: read_or(0, columns, raw), inputs)
        return ImageRows(self, inputs, columns, self.longest)

    def cut(self, inputs, longest):
        short, rows, truncated = super().cut(inputs, longest)
        for row in np.flatnonzero(truncated):  # an image of a single colour is not truncated
            pixels = read_or(None, rows.array, row)
            truncated[row] = pixels is not None and pixels.shape[1] > 0
        return short, rows, truncated

    def limits(self, longest):
        limits = super().limits(longest)
        return {**limits, "max_image_bytes": MOST_BYTES, "max_image_pixels": MOST_PIXELS}

    def requests(self, inputs):
        contents = np.empty(len(inputs), object)
        contents[:] = [read_or(b"", images.content_of, raw) for raw in inputs]
        return {"image_bytes": contents}

    def emptiness(self, raw):
        return read_or(Emptiness(), functools.partial(images.emptiness, self.decoder), raw)

    def labels(self, features):
        height = self.grid_height
        return [
            [f"{cell // height},{cell % height}" for cell in range(length)]
            for length in features.lengths
        ]

    def picture(self, raw, longest=None):
        (values,), (length,) = self.batch([raw], longest)
        if not length:
            return None
        pixels = values[:, : self.width_of(length)] / np.float32(PAPER)
        if self.channels == 1:
            pixels = pixels[..., 0]
        return Picture(pixels, int(length), self.grid_height)

    def key(self, raw):
        return images.key(raw)

    def features(self, image_bytes):
        pixels, columns = self.decoder.rows(image_bytes)
        return self.sanitize(Pixels(pixels, columns * self.grid_height))

    def graph_cut(self, features, longest):
        values, lengths = features
        values = values[:, :, : self.width_of(longest)]
        return Pixels(values, tf.minimum(lengths, longest)), lengths > longest

    def sanitize(self, features):
        values, lengths = features
        width = values.shape[2]
        if width is None or not width or width % self.cell:
            width = tf.shape(values)[2]
            missing = tf.maximum(-(-width // self.cell), 1) * self.cell - width
            frame = [[0, 0], [0, 0], [0, missing], [0, 0]]
            values = tf.pad(values, frame, constant_values=PAPER)
            values = tf.ensure_shape(values, (None, self.height, None, self.channels))
        cells = tf.shape(values)[2] // self.cell * self.grid_height
        return Pixels(values, tf.clip_by_value(lengths, 0, cells))

    def label_tensor(self, features):
        columns = tf.shape(features.values)[2] // self.cell
        cells = tf.range(columns * self.grid_height)
        x, y = (
            tf.strings.as_string(part)
            for part in (cells // self.grid_height, cells % self.grid_height)
        )
        # -> (batch, source_time)
        real = tf.sequence_mask(features.lengths, columns * self.grid_height)
        return tf.where(real, tf.strings.join([x, y], ",")[tf.newaxis], "")

    def batch_spec(self, rows, source_time):
        width = self.width_of(source_time)
        shapes = [(rows, self.height, width, self.channels), (rows,)]
        return Pixels(
            *(
                tf.TensorSpec(shape, spec.dtype, spec.name)
                for shape, spec in zip(shapes, self.feature_spec, strict=True)
            )
        )

    def width_of(self, positions):
        return -(-positions // self.grid_height) * self.cell

    def get_config(self):
        names = "height", "width", "channels", "cell", "ink"
        return {name: getattr(self, name) for name in names}


class ImageRows(DecodedRows):
    """Rows of an `ImageSource`: the images of a list of inputs. Headers are columns of cells."""

    blank = PAPER

    def measured(self, headers, longest):
        cells = np.array(headers, np.int64) * self._source.grid_height
        return np.minimum(cells, longest), cells > longest

    def decoded(self, raw, header, longest):
        return images.read(self._source.decoder, raw)[:, : self._source.width_of(longest)]

    def positions(self, array):
        return array.shape[1] // self._source.cell * self._source.grid_height


def _whole_cells(name, value, cell, most):
    checks.positive_integer(name, "a number of pixels", value, most)
    if value % cell:
        raise ValueError(
            f"`{name}` must be a multiple of `cell`. Received: {name}={value}, cell={cell}"
        )
    return value
