"""Weights of a `.keras` archive in 16 bits, which takes less than half of the place."""

import io
import zipfile

_WEIGHTS = "model.weights.h5"  # Keras' own name
_LARGEST = 65504.0  # of float16


def halve_weights(path):
    """Store the float32 weights of a `.keras` archive as float16, compressed.

    Keras loads them into float32 variables. A weight keeps 11 significant bits, so that its
    relative error is at most 2^-11; one below 2^-14 has an absolute error of at most 2^-25.

    Args:
        path: Path of an archive that `keras.Model.save` wrote. It is written again.

    Raises:
        ValueError: If a weight is too large for float16. The archive stays as it was.
    """
    with zipfile.ZipFile(path) as archive:
        members = {entry: archive.read(entry) for entry in archive.namelist()}
    members[_WEIGHTS] = _halved(members[_WEIGHTS])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _halved(content):
    """The bytes of an HDF5 file with float16 in the place of float32."""
    import h5py  # which takes its time

    memory = io.BytesIO()
    with h5py.File(io.BytesIO(content)) as old, h5py.File(memory, "w") as new:
        new.attrs.update(old.attrs)
        old.visititems(lambda name, item: _copy(name, item, new))
    return memory.getvalue()


def _copy(name, item, new):
    import h5py
    import numpy as np

    if isinstance(item, h5py.Dataset):
        values = item[()]
        if values.dtype == np.float32:
            _check_size(name, values)
            values = values.astype(np.float16)
        copied = new.create_dataset(name, data=values)
    else:
        copied = new.require_group(name)
    copied.attrs.update(item.attrs)


def _check_size(name, values):
    largest = float(abs(values).max(initial=0.0))
    if largest > _LARGEST:
        raise ValueError(
            "A weight in 16 bits must be at most 65,504 in size. "
            f"Received: {name}={largest:.6g}. Save the weights as float32."
        )
