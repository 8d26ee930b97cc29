"""Decoding of PNG and JPEG files to the pixels that a model reads, in a TensorFlow graph.

Decompression bombs are rejected. Each scan of a JPEG file needs a pass over all pixels. In a PNG
file, each compressed text may expand to 8 MB, and the pixels to a thousand times their size.
"""

import functools

import tensorflow as tf

from keras_bahdanau.layers.front_ends.image_patches import PAPER

MOST_BYTES = 2**24  # maximum size of a file
MOST_PIXELS = 2**24  # maximum number of pixels that a file declares
PIXEL_BYTES = 32  # bytes of memory per pixel while an image is read; 24 were measured
HEAD = 2**18  # bytes; most headers are shorter
_MOST_SCANS = 64  # in a JPEG file; ten are usual
_SCAN = b"\xff\xda"  # marker after the header of a JPEG file
_MOST_TEXTS = 8  # zTXt and iTXt chunks in a PNG file, compressed or not
_MOST_CHUNKS = 2**13  # in a PNG file; programs write chunks of 4 kB or more
_SPARE = 2**16  # compressed bytes allowed even for a small image; they expand to at most 68 MB
_CHANNELS = (1, 0, 3, 1, 2, 0, 4)  # by the colour type in the header of a PNG file
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY = (77, 150, 29)  # of 256: luma weights of red, green and blue (ITU-R BT.601)
_EXIF = b"Exif\0\0"  # beginning of the EXIF part of a file
# tag 274 with one 16-bit number, with the low byte first and with the high byte first
_LOWER_FIRST = b"\x12\x01\x03\x00\x01\x00\x00\x00"
_HIGHER_FIRST = b"\x01\x12\x00\x03\x00\x00\x00\x01"
_PNG_EXIF = b"eXIf"  # name of the PNG chunk with the same content
UPRIGHT = 1
FAINTEST = 8  # of 255: the range of levels that JPEG rounding leaves on blank paper


class ImageDecoder:
    """TensorFlow graph functions that decode an image and scale it to a fixed height."""

    def __init__(self, height, width, channels, cell, ink):
        self.height, self.width, self.channels = height, width, channels
        self.cell, self.ink = cell, ink
        text = [tf.TensorSpec((), tf.string)]
        head = [*text, tf.TensorSpec((), tf.int64)]
        self.declared_columns = _graph(self._declared_columns, head)
        self.read = _graph(self._read, text)
        self.rows = _graph(self._rows, [tf.TensorSpec((None,), tf.string)])
        self.draw = {
            depth: _graph(self._drawn, [tf.TensorSpec((None, None, depth), tf.uint8)])
            for depth in (1, 3)
        }

    def scaled(self, high, wide):
        """Return int64 (rows, columns) of an image scaled to fill the height or the width.

        A side of less than half a pixel is 0.
        """
        high, wide = (tf.cast(side, tf.int64) for side in (high, wide))
        rows = (2 * high * self.width + wide) // (2 * wide)
        columns = (2 * wide * self.height + high) // (2 * high)
        return tf.minimum(rows, self.height), tf.minimum(columns, self.width)

    def _rows(self, contents):
        """Decode many files, strings `(batch,)` of any bytes.

        Returns (pixels, columns). `pixels` is uint8 `(batch, height, width, channels)`, as wide as
        the widest image and at least one cell wide. `columns`, int32 `(batch,)`, is the number of
        columns of cells, 0 where no image can be read.
        """
        nothing = tf.data.Dataset.from_tensors(self._nothing())

        def decode(content):
            image = tf.data.Dataset.from_tensors(content).map(self._read)
            return image.ignore_errors().concatenate(nothing).take(1)

        blank = tf.fill((self.height, self.cell, self.channels), tf.constant(PAPER, tf.uint8))
        images = tf.data.Dataset.from_tensor_slices(contents).flat_map(decode)
        images = images.concatenate(tf.data.Dataset.from_tensors(blank))  # at least one row
        counted = images.map(lambda pixels: (pixels, tf.shape(pixels)[1] // self.cell))
        pixels, columns = counted.padded_batch(
            tf.shape(contents, out_type=tf.int64)[0] + 1,
            padded_shapes=((self.height, None, self.channels), ()),
            padding_values=(tf.constant(PAPER, tf.uint8), 0),
        ).get_single_element()
        return pixels[:-1], columns[:-1]

    def _declared_columns(self, head, length):
        """Return the number of columns of cells that a file's header declares; 0 if rejected.

        `head` is the beginning of a file of `length` bytes.
        """
        _, columns = self._picture(head, length)
        return -(-columns // self.cell)

    def _picture(self, content, length):
        """Return (rows, columns) of a file's scaled pixels; both are 0 if the file is rejected."""
        size = tf.cast(_declared_size(content), tf.int64)
        high, wide = tf.maximum(size[0], 1), tf.maximum(size[1], 1)
        rows, columns = self.scaled(high, wide)
        fine = tf.reduce_all(size > 0) & (high * wide <= MOST_PIXELS) & (rows > 0) & (columns > 0)
        fine &= length <= MOST_BYTES
        return [tf.cast(tf.where(fine, side, 0), tf.int32) for side in (rows, columns)]

    def _read(self, content):
        """Return the pixels of one file, without columns if it is rejected.

        A broken file raises an error.
        """
        rows, _ = self._picture(content, tf.strings.length(content))

        def decoded():
            ink = tf.cond(
                is_png(content),
                lambda: self._ink(_decoded_png(content)),
                lambda: self._ink(_decoded_jpeg(content)),
            )
            return self._placed(ink)

        return tf.cond((rows > 0) & is_harmless(content), decoded, self._nothing)

    def _drawn(self, pixels):
        """Scale uint8 pixels `(high, wide, depth)`, with sides above 0, as `_read` does."""
        return self._placed(self._ink(pixels))

    def _ink(self, pixels):
        """Return 256 times the ink on blank paper, uint16 `(high, wide, channels)`."""
        depth = pixels.shape[-1]
        ink = pixels[..., : min(depth, 3)]
        ink = tf.cast(PAPER - ink if self.ink == "dark" else ink, tf.uint16)
        if depth == 4:
            # alpha * ink / 255, rounded: (high, wide, 3)
            ink = ink * tf.cast(pixels[..., 3:], tf.uint16) + 128
            ink = tf.bitwise.right_shift(ink + tf.bitwise.right_shift(ink, 8), 8)
        if self.channels == 1 and depth > 1:
            red, green, blue = (ink[..., index : index + 1] for index in range(3))
            return _GREY[0] * red + _GREY[1] * green + _GREY[2] * blue
        return tf.concat([ink * 256] * (self.channels // ink.shape[-1]), axis=-1)

    def _placed(self, ink):
        """Scale ink and centre it vertically, with paper on the right up to a whole cell.

        An image of a single colour is empty and has no columns.
        """
        most, least = tf.reduce_max(ink, axis=[0, 1]), tf.reduce_min(ink, axis=[0, 1])
        is_blank = tf.reduce_all(most - least <= FAINTEST * 256)  # in each channel
        return tf.cond(is_blank, self._nothing, lambda: self._framed(ink))

    def _framed(self, ink):
        high, wide = tf.unstack(tf.shape(ink)[:2])
        rows, columns = (tf.cast(side, tf.int32) for side in self.scaled(high, wide))
        ink = tf.image.resize(ink, (rows, columns), antialias=True)  # float32
        ink = tf.cast(tf.clip_by_value(tf.round(ink / 256), 0, PAPER), tf.uint8)
        above, right = (self.height - rows) // 2, -columns % self.cell
        frame = [[above, self.height - rows - above], [0, right], [0, 0]]
        return tf.ensure_shape(PAPER - tf.pad(ink, frame), (self.height, None, self.channels))

    def _nothing(self):
        return tf.zeros((self.height, 0, self.channels), tf.uint8)


@functools.lru_cache(maxsize=16)
def decoder(*settings):
    """Return the `ImageDecoder` for these settings; its graphs are traced only once."""
    return ImageDecoder(*settings)


def _graph(function, signature):
    return tf.function(function, input_signature=signature, autograph=False)


def is_png(content):
    """Return True for the bytes of a PNG file."""
    return tf.strings.substr(content, 0, len(_SIGNATURE)) == _SIGNATURE


def _decoded_png(content):
    """Decode a PNG file to uint8 `(high, wide, 4)`.

    Opaque pixels have alpha 255, even if libpng uses fewer bits.
    """
    pixels = tf.io.decode_png(content, channels=4)
    head = tf.strings.split(content, b"IDAT")[0]
    bits = tf.io.decode_raw(tf.strings.substr(head, 24, 1), tf.uint8)  # (1,)
    opaque = tf.reduce_all(bits < 8) & (_count(head, b"tRNS") == 0)
    alpha = tf.where(opaque, tf.constant(PAPER, tf.uint8), pixels[..., 3:])
    return upright(tf.concat([pixels[..., :3], alpha], axis=-1), _orientation(content))


def _decoded_jpeg(content):
    return upright(tf.io.decode_jpeg(content, channels=3), _orientation(content))


def _orientation(content):
    """Return the EXIF orientation of a PNG or JPEG file, from its first EXIF part."""
    camera = tf.cond(
        is_png(content),
        lambda: _behind(content, _PNG_EXIF),
        lambda: _behind(tf.strings.substr(content, 0, HEAD), _EXIF),
    )
    return orientation_of(camera)


def _declared_size(head):
    """Return int32 (high, wide) from a file's header, without decoding the pixels.

    Without a valid header the sides are 0, or an error is raised.
    """
    size = _stored_size(head)
    return tf.where(is_turned(_orientation(head)), size[::-1], size)


def _stored_size(head):
    return tf.cond(
        is_png(head),
        # width and height follow the signature, and the length and name of the first chunk
        lambda: tf.io.decode_raw(tf.strings.substr(head, 16, 8), tf.int32, little_endian=False)[
            ::-1
        ],
        # without this check, libjpeg would write to standard error
        lambda: tf.cond(
            (tf.strings.substr(head, 0, 2) == b"\xff\xd8") & _has(head, _SCAN),
            lambda: tf.io.extract_jpeg_shape(head)[:2],
            lambda: tf.zeros((2,), tf.int32),
        ),
    )


@tf.function(input_signature=[tf.TensorSpec((), tf.string)], autograph=False)
def is_harmless(content):
    """Return True unless a file has scans, texts or pixels that take a long time to decompress."""
    texts = _count(content, b"zTXt") + _count(content, b"iTXt")
    # a marker and the high byte of its length, which random bytes after an image, such as the video
    # of a phone's moving photo, contain once in 16 million
    scans = _count(content, _SCAN + b"\x00")
    return tf.cond(
        is_png(content),
        lambda: (texts <= _MOST_TEXTS) & _pixels_fit(content),
        lambda: scans <= _MOST_SCANS,
    )


def _pixels_fit(content):
    """Return True if the compressed pixels of a PNG file are no longer than its header implies."""
    head = tf.strings.substr(content, 16, 10)
    head = tf.cast(tf.io.decode_raw(tf.strings.join([head, bytes(10)]), tf.uint8), tf.int64)[:10]
    wide, high = (tf.reduce_sum(head[i : i + 4] * [1 << 24, 1 << 16, 256, 1]) for i in (0, 4))
    depth = tf.gather(tf.constant(_CHANNELS, tf.int64), tf.minimum(head[9], 6)) * head[8]  # bits
    # the bytes of a line and its filter type; an interlaced image has more, shorter lines
    most = 2 * high * ((wide * depth + 7) // 8 + 1) + _SPARE
    behind = tf.strings.length(tf.strings.split(content, b"IDAT", maxsplit=1)[-1])
    return tf.cond(
        tf.cast(behind, tf.int64) <= most,
        lambda: tf.constant(True),
        lambda: _count_pixel_bytes(content) <= most,
    )


def _count_pixel_bytes(content):
    """Return the total size of the IDAT chunks of a PNG file, int64 `()`.

    If the file has too many chunks, the result is the size of the file.
    """
    size = tf.cast(tf.strings.length(content), tf.int64)

    def count(number, place, total):
        head = tf.strings.substr(content, place, tf.constant(8, tf.int64))
        length = tf.io.decode_raw(tf.strings.substr(head, 0, 4), tf.uint8)
        length = tf.reduce_sum(tf.cast(length, tf.int64) * [1 << 24, 1 << 16, 256, 1])
        pixels = tf.where(tf.strings.substr(head, 4, 4) == b"IDAT", length, 0)
        is_end = tf.strings.substr(head, 4, 4) == b"IEND"
        return number + 1, tf.where(is_end, size, place + 12 + length), total + pixels

    number, _, total = tf.while_loop(
        lambda number, place, _: (number < _MOST_CHUNKS) & (place + 8 <= size),
        count,
        (tf.constant(0), tf.constant(len(_SIGNATURE), tf.int64), tf.constant(0, tf.int64)),
        maximum_iterations=_MOST_CHUNKS,
    )
    return tf.where(number < _MOST_CHUNKS, total, size)


def _has(content, part):
    return tf.size(tf.strings.split(content, part, maxsplit=1)) > 1


def _count(content, part):
    return tf.size(tf.strings.split(content, part)) - 1


def orientation_of(camera):
    """Return the EXIF orientation, int32 `()`, from the EXIF part of a file; 1 if unknown."""
    low = _byte(_behind(camera, _LOWER_FIRST), 0)
    high = _byte(_behind(camera, _HIGHER_FIRST), 1)
    order = tf.strings.substr(camera, 0, 2)
    value = tf.where(order == b"II", low, tf.where(order == b"MM", high, UPRIGHT))
    return tf.where((value >= 1) & (value <= 8), value, UPRIGHT)


def is_turned(orientation):
    """Return True if height and width are swapped when an image is rotated upright."""
    return orientation >= 5


def upright(pixels, orientation):
    """Rotate and mirror an image `(high, wide, depth)` so that it is upright."""
    pixels = _if(is_turned(orientation), lambda: tf.transpose(pixels, (1, 0, 2)), pixels)
    mirrored = tf.reduce_any(orientation == [2, 3, 6, 7])
    pixels = _if(mirrored, lambda: tf.reverse(pixels, [1]), pixels)
    upside_down = tf.reduce_any(orientation == [3, 4, 7, 8])
    return _if(upside_down, lambda: tf.reverse(pixels, [0]), pixels)


def _if(condition, changed, pixels):
    return tf.cond(condition, changed, lambda: pixels)


def _behind(content, part):
    """Return the content after the first occurrence of `part`; "" if there is none."""
    pieces = tf.strings.split(content, part, maxsplit=1)
    return tf.strings.reduce_join(pieces[1:])


def _byte(content, index):
    """Return a byte of a string as int32; 0 after the end of the string."""
    padded = tf.strings.join([content, b"\0\0"])
    return tf.cast(tf.io.decode_raw(tf.strings.substr(padded, index, 1), tf.uint8)[0], tf.int32)
