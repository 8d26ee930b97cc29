"""Read the card and vocabularies packed in a .tflite file, and check them against their hashes."""

import hashlib
import json
import os
import struct
import zipfile
import zlib

_SEAL = 64  # length in bytes of the seal at the end of a file
_MOST_POSITIONS = 100_000  # maximum number of source positions
_KERAS_WEIGHTS = "model.weights.h5"  # part of every .keras file
_UNREADABLE = (  # errors of `zipfile` and `json` on damaged content
    *(EOFError, IndexError, NotImplementedError, OSError, OverflowError, RuntimeError),
    *(ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)


def unpack(path):
    """Return the card of a file, and the files packed after the model.

    Raises ValueError if any of them has changed since the export.
    """
    with open(path, "rb") as file:
        try:
            return _read(file)
        except _UNREADABLE as error:
            raise ValueError(
                "A .tflite file to translate with must contain its vocabulary, and be unchanged "
                f"since its export. Received: path={str(path)!r} ({error}). Copy it again, or "
                "write it with export_litert."
            ) from None


def _read(file):
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if _KERAS_WEIGHTS in archive.namelist():
            raise ValueError(
                "it is a .keras file: `keras-bahdanau export` makes a .tflite file from it, and "
                "`keras-bahdanau translate`, `read` and `transcribe` accept it directly"
            )
        if sum(entry.file_size for entry in entries) > size:
            raise ValueError("its archive decompresses to more bytes than the file contains")
        files = {entry.filename: archive.read(entry) for entry in entries}
    card = json.loads(files.get("card.json", b"null"))
    _check_card(card, files)
    _check_hashes(card, files, file, min(entry.header_offset for entry in entries))
    return card, files


def _check_card(card, files):
    """Raise ValueError unless the card says how to run the model, and names its vocabularies."""
    if not isinstance(card, dict):
        raise ValueError("it has no card.json, or one that is not an object")
    names = card.get("vocabularies")
    if not isinstance(card.get("verb"), str) or not isinstance(names, dict):
        raise ValueError("its card.json does not say how to run it")
    if "target" not in names or not all(isinstance(name, str) for name in names.values()):
        raise ValueError("its card.json does not name its vocabularies")
    if not {*names.values()} <= files.keys():
        raise ValueError("it lacks a vocabulary that its card.json names")
    for name, usual in (("max_source_length", None), ("reduction", 1)):
        value = card.get(name, usual)
        if type(value) is not int or not 1 <= value <= _MOST_POSITIONS:
            raise ValueError(f"its card.json states {name}={value!r:.40}")
    if not isinstance(card.get("sha256", {}), dict):
        raise ValueError("`sha256` in its card.json is not a dictionary")


def _check_hashes(card, files, file, model_size):
    """Raise ValueError if a byte has changed since the export."""
    if card.get("sealed"):  # the last bytes are the sha256 of all preceding bytes
        length = file.seek(-_SEAL, os.SEEK_END)
        seal = file.read().decode("ascii", "replace")
        if seal != _sha256(file, length):
            raise ValueError("damaged or modified: its last 64 bytes are not its sha256")
        return
    expected = card.get("sha256", {})  # files of version 0.1.0 have no seal
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    hashes["model"] = _sha256(file, model_size)
    if any(hashes.get(name) != digest for name, digest in expected.items()):
        raise ValueError("damaged or modified: its card.json has a different sha256")


def _sha256(file, length):
    """Return the SHA-256 of the first bytes of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0:
        chunk = file.read(min(length, 2**20))
        digest.update(chunk)
        length -= len(chunk)
    return digest.hexdigest()
