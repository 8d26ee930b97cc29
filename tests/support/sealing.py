"""Write sealed files in tests."""

import contextlib

import h5py

from keras_bahdanau.files.integrity import seal_of


@contextlib.contextmanager
def sealed_h5(path):
    """Open a new HDF5 file for writing, and seal it at the end of the block."""
    with h5py.File(path, "w") as file:
        yield file
    path.write_bytes(path.read_bytes() + seal_of(path.read_bytes()))


def flips(path, count, random):
    """Flip a random bit in a file `count` times, and yield its byte position; restore the file."""
    whole = path.read_bytes()
    for position in random.integers(len(whole), size=count):
        changed = bytearray(whole)
        changed[position] ^= 1 << random.integers(8)
        path.write_bytes(changed)
        yield int(position)
    path.write_bytes(whole)
