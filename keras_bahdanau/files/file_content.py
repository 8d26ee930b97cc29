"""Bytes of inputs that are files, and files that the system can't read."""

import os


def content_of(one, most):
    """The first bytes of an input.

    Args:
        one: Bytes, or the path of a file.
        most: Integer, so many suffice.

    Raises:
        OSError: If the system can't read the file.
    """
    if isinstance(one, bytes):
        return one[:most]
    with open(one, "rb") as file:
        return file.read(most)


def size_of(one):
    """Number of bytes of an input, as the system says it of a file.

    Raises:
        OSError: As in `content_of`.
    """
    return len(one) if isinstance(one, bytes) else os.path.getsize(one)


def read_or(otherwise, read, one):
    """The result of a function of an input; `otherwise` if the system can't read its file.

    A file may be gone, or its reader may lack the permission, or its disk be damaged: an input
    without a position, as one that is broken, so that the others are read and this one is named.
    """
    try:
        return read(one)
    except OSError:
        return otherwise
