"""Ids in a TensorFlow graph: unknown ones, padding, and the end of a sentence."""

import tensorflow as tf

from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN


def known_ids(ids, vocabulary_size) -> tf.Tensor:
    """The same ids as int32, unknown in place of those outside of the vocabulary."""
    ids = tf.convert_to_tensor(ids)
    inside = (ids >= 0) & (ids < tf.cast(vocabulary_size, ids.dtype))
    return tf.cast(tf.where(inside, ids, tf.cast(UNKNOWN, ids.dtype)), tf.int32)


def graph_is_text(ids) -> tf.Tensor:
    """True for ids that stand for text: before the first end token, no padding, no start token.

    Args:
        ids: Int32 tensor `(..., time)`.

    Returns:
        Bool tensor of the same shape.
    """
    before_end = tf.cumsum(tf.cast(ids == END, tf.int32), axis=-1) == 0
    return before_end & (ids != PAD) & (ids != START)


def at_least_one(ids) -> tf.Tensor:
    """Ids `(batch, time)`, padded to one column if they have none."""
    missing = tf.maximum(1 - tf.shape(ids)[1], 0)
    return tf.pad(ids, [[0, 0], [0, missing]], constant_values=PAD)


def requested_ids(ids, lengths, vocabulary_size) -> tf.Tensor:
    """The ids of a request, of which the first `lengths` of each row count.

    A server pads the rows that it merges with the first id of a row, not with 0.

    Args:
        ids: Int32 tensor `(batch, time)`, any numbers.
        lengths: Int32 tensor `(batch,)`, any numbers.
        vocabulary_size: Integer.

    Returns:
        Int32 tensor `(batch, time)`, right-padded with 0, with at least one column.
    """
    ids = known_ids(at_least_one(ids), vocabulary_size)
    return tf.where(tf.sequence_mask(lengths, tf.shape(ids)[1]), ids, PAD)


def graph_cut_ids(ids, longest):
    """Rows of at most `longest` ids; the last one of a row that had more is the end token.

    Args:
        ids: Int32 tensor `(batch, time)`, right-padded with 0.
        longest: Positive integer.

    Returns:
        (ids, longer): int32 `(batch, time)`, and bool `(batch,)`, which rows had more.
    """
    longer = tf.reduce_any(ids[:, longest:] != PAD, axis=1)
    ids = ids[:, :longest]
    last = tf.range(tf.shape(ids)[1]) == longest - 1
    return tf.where(longer[:, tf.newaxis] & last, END, ids), longer
