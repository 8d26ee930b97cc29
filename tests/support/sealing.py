"""Files with a seal that a test writes by itself."""

import contextlib

import h5py

from keras_bahdanau.files.integrity import seal_of


@contextlib.contextmanager
def sealed_h5(path):
    """A new HDF5 file to write to within the block, sealed at its end."""
    with h5py.File(path, "w") as file:
        yield file
    path.write_bytes(path.read_bytes() + seal_of(path.read_bytes()))


def flips(path, count, random):
    """Yield so many times a file with one flipped bit, and its position; it is restored then."""
    whole = path.read_bytes()
    for position in random.integers(len(whole), size=count):
        changed = bytearray(whole)
        changed[position] ^= 1 << random.integers(8)
        path.write_bytes(changed)
        yield int(position)
    path.write_bytes(whole)
