"""Orientation of a JPEG file: the way in which its camera was held, in a TensorFlow graph."""

import tensorflow as tf

_EXIF = b"Exif\0\0"  # what begins the part of a file that a camera writes
# tag 274, of one number of 16 bits, with the lower byte first, and with the higher one
_LOWER_FIRST = b"\x12\x01\x03\x00\x01\x00\x00\x00"
_HIGHER_FIRST = b"\x01\x12\x00\x03\x00\x00\x00\x01"
UPRIGHT = 1


def orientation_of(head):
    """Orientation by the header of a JPEG file, as EXIF counts them, from 1 (upright) to 8.

    Args:
        head: String tensor `()`, the beginning of the file.

    Returns:
        Int32 tensor `()`; 1 where the file does not say, or says something else.
    """
    camera = _behind(head, _EXIF)
    low = _byte(_behind(camera, _LOWER_FIRST), 0)
    high = _byte(_behind(camera, _HIGHER_FIRST), 1)
    order = tf.strings.substr(camera, 0, 2)
    found = tf.where(order == b"II", low, tf.where(order == b"MM", high, UPRIGHT))
    return tf.where((found >= 1) & (found <= 8), found, UPRIGHT)


def is_turned(orientation):
    """True if height and width change places when an image is set upright."""
    return orientation >= 5


def upright(pixels, orientation):
    """An image as it was seen: turned and mirrored.

    Args:
        pixels: Tensor `(high, wide, depth)`, in the order of the file.
        orientation: Int32 tensor `()`, from 1 to 8.
    """
    pixels = _if(is_turned(orientation), lambda: tf.transpose(pixels, (1, 0, 2)), pixels)
    mirrored = tf.reduce_any(orientation == [2, 3, 6, 7])
    pixels = _if(mirrored, lambda: tf.reverse(pixels, [1]), pixels)
    upside_down = tf.reduce_any(orientation == [3, 4, 7, 8])
    return _if(upside_down, lambda: tf.reverse(pixels, [0]), pixels)


def _if(condition, changed, pixels):
    return tf.cond(condition, changed, lambda: pixels)


def _behind(content, part):
    """The content behind the first occurrence of a part; "" if there is none."""
    pieces = tf.strings.split(content, part, maxsplit=1)
    return tf.strings.reduce_join(pieces[1:])


def _byte(content, index):
    """A byte of a string as an int32; 0 behind its end."""
    padded = tf.strings.join([content, b"\0\0"])
    return tf.cast(tf.io.decode_raw(tf.strings.substr(padded, index, 1), tf.uint8)[0], tf.int32)
