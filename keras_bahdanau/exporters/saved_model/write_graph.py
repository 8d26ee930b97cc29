"""A graph with its weights on the disk, or one line of error."""

import contextlib

import tensorflow as tf

_NO_ROOM = (tf.errors.OutOfRangeError, tf.errors.ResourceExhaustedError)  # TensorFlow's names


def write_graph(module, path, functions):
    """Save the signatures of a graph, and the weights that they read, as a SavedModel.

    Args:
        module: `tf.Module` that holds the weights.
        path: Path of the directory.
        functions: Dictionary from a signature's name to a concrete function.

    Raises:
        OSError: If the disk is full, or does not take files of that size.
    """
    with whole(path):
        tf.saved_model.save(module, str(path), signatures=functions)


@contextlib.contextmanager
def whole(path):
    """Turn TensorFlow's errors of a disk into those of Python.

    Args:
        path: Path of the directory or file that TensorFlow writes in the `with` block.

    Raises:
        OSError: If the disk is full, or does not take files of that size.
    """
    try:
        yield
    except _NO_ROOM as error:
        reason = error.message.rpartition("; ")[2].partition("\n")[0].partition(" [Op:")[0]
        raise OSError(
            f"An export must reach the disk as a whole. Received: path={str(path)!r} ({reason}). "
            "Make room or choose another place, and run it again: nothing is left of it."
        ) from None
