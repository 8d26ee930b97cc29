"""Images on the host: checks of inputs, and the sizes and pixels of files, bytes and arrays."""

import os
import zlib
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_bahdanau.files import whole_file
from keras_bahdanau.files.media_forms import IMAGE, Emptiness, form_of, refused
from keras_bahdanau.layers.front_ends.image_patches import PAPER
from keras_bahdanau.sources.image_decoding import HEAD, MOST_BYTES, MOST_PIXELS, is_harmless, is_png


def check(name, inputs):
    """Raise TypeError or ValueError unless `inputs`, called `name`, is a list of images."""
    if isinstance(inputs, str | bytes | os.PathLike | np.ndarray):
        raise TypeError(
            f"`{name}` must be a list of images. Received: one {type(inputs).__name__}. "
            "Put it in a list."
        )
    for number, raw in enumerate(inputs):
        demand = _demand(raw)
        if demand:
            raise (TypeError if isinstance(raw, str) else ValueError)(
                f"`{name}` must contain bytes of PNG or JPEG files, paths or arrays. "
                f"Received: {name}[{number}]{demand}"
            )


def _demand(raw):
    """Return the part of an error that says why an input is not an image; "" for an image."""
    if isinstance(raw, bytes):
        return ""
    if isinstance(raw, str):
        return f"={raw!r:.80}. Pass a path as pathlib.Path(...)."
    if isinstance(raw, os.PathLike):
        return "" if Path(raw).is_file() else f"={str(raw)!r:.200}, which is not a file."
    if not isinstance(raw, np.ndarray):
        return f" of type {type(raw).__name__}. Convert it to an array."
    if raw.ndim not in (2, 3) or raw.ndim == 3 and raw.shape[2] not in (1, 3):
        return f" of shape {raw.shape}. Use (high, wide), or (high, wide, 1 or 3)."
    if raw.dtype == np.uint8:
        return ""
    # False for NaN
    if raw.dtype.kind == "f" and (raw.size == 0 or 0 <= raw.min() <= raw.max() <= 1):
        return ""
    return f" of dtype {raw.dtype}. Use uint8, or floats from 0 to 1."


def declared_columns(decoder, raw):
    """Return the number of columns of cells that an input's header declares.

    The result is 0 if there is no valid header, or if the image is rejected.
    """
    if isinstance(raw, bytes | os.PathLike):
        for most in (HEAD, MOST_BYTES):  # a photo may have depth maps before its size
            head = whole_file.content_of(raw, most)
            # a system file, such as one in /proc, may report size 0
            size = max(whole_file.size_of(raw), len(head))
            is_cut = len(head) == most
            if is_cut and size > most and is_png(head):
                head += whole_file.ending_of(raw, HEAD)  # the orientation may be at the end
            try:
                columns = int(decoder.declared_columns(head, size))
            except tf.errors.InvalidArgumentError:
                columns = 0
            if columns or not is_cut or size > MOST_BYTES:
                break
        return columns
    pixels = pixels_of(raw)
    high, wide = pixels.shape[:2]
    if not 1 <= high * wide <= MOST_PIXELS:
        return 0
    rows, columns = (int(side) for side in decoder.scaled(high, wide))
    return -(-columns // decoder.cell) if rows else 0


def read(decoder, raw):
    """Return the pixels of an input, uint8 `(height, width, channels)`, with width 0 if empty."""
    try:
        if isinstance(raw, bytes | os.PathLike):
            return decoder.read(content_of(raw)).numpy()
        if declared_columns(decoder, raw):
            pixels = pixels_of(raw)
            return decoder.draw[pixels.shape[2]](pixels).numpy()
    except tf.errors.InvalidArgumentError:
        pass
    return np.zeros((decoder.height, 0, decoder.channels), np.uint8)


def emptiness(decoder, raw):
    """Return the `Emptiness` of a file without positions."""
    content = content_of(raw)
    form = form_of(content[:HEAD])
    if content and (form is None or form.name not in ("PNG", "JPEG")):
        return refused(form, IMAGE, "PNG or JPEG")
    try:
        decoder.read(content)
        is_blank = declared_columns(decoder, raw) and is_harmless(tf.constant(content))
    except tf.errors.InvalidArgumentError:
        is_blank = False
    return Emptiness("of one colour, so there is nothing to read") if is_blank else Emptiness()


def content_of(raw):
    """Return the bytes of a file, or an array as a PNG file; b"" for an array without pixels."""
    if isinstance(raw, bytes | os.PathLike):
        return whole_file.content_of(raw, MOST_BYTES + 1)  # one more shows that it is too large
    pixels = pixels_of(raw)
    return tf.io.encode_png(pixels).numpy() if pixels.size else b""


def pixels_of(raw):
    """Convert an array to uint8 `(high, wide, 1 or 3)`."""
    array = np.asarray(raw)
    if array.dtype != np.uint8:
        array = np.rint(array.astype(np.float32) * PAPER).astype(np.uint8)
    return array[..., np.newaxis] if array.ndim == 2 else array


def key(raw):
    """Return the CRC-32 of the bytes of a file, or of the shape and pixels of an array."""
    if isinstance(raw, bytes | os.PathLike):
        return zlib.crc32(whole_file.read_or(b"", content_of, raw))
    pixels = pixels_of(raw)
    return zlib.crc32(pixels.tobytes(), zlib.crc32(str(pixels.shape).encode()))


def edge_cases():
    """Return unusual inputs, such as broken files, a single pixel, and tall or wide images."""
    random = np.random.default_rng(0)
    png, jpeg = (
        encode(random.integers(0, 256, (9, 20, 3), np.uint8)).numpy()
        for encode in (tf.io.encode_png, tf.io.encode_jpeg)
    )
    clear = random.integers(0, 256, (12, 20, 4), np.uint8)
    return [
        b"",
        b"no image",
        png[:20],
        jpeg[:30],
        png,
        jpeg,
        tf.io.encode_png(clear).numpy(),
        tf.io.encode_png(np.array([[[40_000]]], np.uint16)).numpy(),
        np.zeros((1, 1), np.uint8),
        random.random((3, 70)),
        random.random((70, 3, 1)),
    ]
