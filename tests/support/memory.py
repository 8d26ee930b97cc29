"""Create a `Memory` from the parts that a test needs."""

import tensorflow as tf

from keras_bahdanau.layers import Memory


def memory_of(values, mask, summary, last=None, task=None):
    """Return a `Memory` as an encoder returns it; `last` and `task` are zero by default."""
    values = tf.convert_to_tensor(values)
    last = tf.zeros_like(values[:, 0]) if last is None else last
    task = tf.zeros_like(values[:, 0, :1]) if task is None else task
    return Memory(values, tf.convert_to_tensor(mask), tf.convert_to_tensor(summary), last, task)


def shape_of(values_units, summary_units=None, task_units=1):
    """Return the shape of a `Memory`, for `build`."""
    return Memory(
        values=(None, None, values_units),
        mask=(None, None),
        summary=(None, summary_units or values_units),
        last=(None, values_units),
        task=(None, task_units),
    )
