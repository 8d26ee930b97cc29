"""Text cut in bytes, in a TensorFlow graph."""

import tensorflow as tf


def graph_cut_to_bytes(text, most):
    """As `byte_limit.cut_to_bytes`, for many texts of any bytes.

    Args:
        text: String tensor `(batch,)`.
        most: Integer, 4 or more.

    Returns:
        (text, longer): strings `(batch,)`, and bool `(batch,)`, which of them were longer.
    """
    longer = tf.strings.length(text) > most
    first = tf.where(longer, most - 3, 0)
    # (batch, 4), the bytes up to the first one that is left out, that one first
    window = tf.strings.substr(text, first, tf.fill(tf.shape(first), 4))
    bytes = tf.io.decode_raw(window, tf.uint8, fixed_length=4)[:, ::-1]
    within = tf.cast((bytes >= 0x80) & (bytes < 0xC0), tf.int32)
    # -> (batch,), how many bytes of a character stand before the limit
    inside = tf.reduce_sum(tf.math.cumprod(within, axis=1), axis=1) % 4
    kept = tf.where(longer, most - inside, tf.strings.length(text))
    return tf.strings.substr(text, tf.zeros_like(kept), kept), longer
