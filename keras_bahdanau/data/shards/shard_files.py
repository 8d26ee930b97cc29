"""The files of a corpus in shards: its card, and arrays that are mapped into memory."""

import os
import re
import shutil
from pathlib import Path

import numpy as np

from keras_bahdanau.files.integrity import Damage, check_fields, read_sealed_json, sha256_of
from keras_bahdanau.files.whole_file import open_regular, replacing

CARD = "card.json"
FORMAT = 1
SIDES = ("source", "target")
OF_IDS = ("ids", "lengths")
OF_FILES = ("bytes", "sizes", "lengths")
_NAME = re.compile(r"\d{5}")
_CARD_FORMS = {
    **{"format": int, "pairs": int, "shards": [dict]},
    **{"source": dict, "target": dict, "settings": dict, "inputs": str},
}
_ENTRY_FORMS = {
    **{"name": str, "pairs": int, "source_tokens": int, "target_tokens": int},
    **{"longest": [int], "sha256": {str: str}},
}


def parts_of(inputs):
    """Return the parts of each side of a shard, for a form of inputs: see `Source.inputs_are`."""
    return {"source": OF_FILES if inputs == "files" else OF_IDS, "target": OF_IDS}


def names_of(inputs):
    """Return the names of the files of a shard."""
    return [f"{side}.{part}.npy" for side, parts in parts_of(inputs).items() for part in parts]


def parsed_card(path):
    """Read the card of a corpus as a dictionary. Raises `Damage` for missing or wrong values."""
    card = read_sealed_json(path)
    check_fields(card, _CARD_FORMS)
    if card["format"] != FORMAT:
        raise Damage(f"its format is {card['format']}, not {FORMAT}")
    if card["inputs"] not in ("lines", "files"):
        raise Damage("its 'inputs' are neither lines nor files")
    for number, entry in enumerate(card["shards"]):
        _check_entry(entry, number, names_of(card["inputs"]))
    if not card["pairs"] == sum(entry["pairs"] for entry in card["shards"]) > 0:
        raise Damage("its number of pairs is 0, or not the sum of its shards")
    return card


def file_of(entry, side, part):
    """Return the path of a shard's file within the corpus. `part` is one of `parts_of`."""
    return Path(entry["name"]) / f"{side}.{part}.npy"


def has_checksum(file, checksum):
    """Return True if an open `.npy` file has a given sha256.

    The content is not read if its length does not match the header.
    """
    header = re.search(rb"'descr': '[<|][iu](\d)', .*'shape': \((\d{1,18}),\)", file.read(128))
    if header is None or file.seek(0, os.SEEK_END) != 128 + int(header[1]) * int(header[2]):
        return False
    file.seek(0)
    return sha256_of(file) == checksum


def mapped_array(path, size, dtype="<i4"):
    """Map the array of a `.npy` file with `size` elements, "<i4" or "|u1", into memory."""
    with open_regular(path) as file:
        np.lib.format.read_magic(file)
        length = int.from_bytes(file.read(2), "little")
        header = file.read(length).decode("latin-1").rstrip()
        begin, end = file.tell(), file.seek(0, os.SEEK_END)
        if header != f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({size},), }}":
            name = np.dtype(dtype).name
            raise Damage(f"its header is {header[:80]!r}, but the card says {name} ({size},)")
        expected = size * np.dtype(dtype).itemsize
        if end - begin != expected:
            raise Damage(f"it has {end - begin} bytes of content, but the card says {expected}")
        array = np.memmap(file, dtype, mode="r", offset=begin, shape=(size,))
    return array.view(np.ndarray)  # which is cheaper to slice than a `memmap`


def write_arrays(directory, arrays):
    """Write a dictionary of arrays to a directory, completely or not at all.

    Returns a dictionary from file names to sha256 sums.
    """
    unfinished = directory.with_name(f".unfinished-{directory.name}")
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a killed process
    try:
        unfinished.mkdir(parents=True)
        sums = {name: _written(unfinished / name, array) for name, array in arrays.items()}
        shutil.rmtree(directory, ignore_errors=True)
        os.replace(unfinished, directory)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return sums


def _written(path, array):
    """Write an array to disk and return its checksum."""
    with replacing(path, path.with_name(f"{path.name}.unfinished")) as unfinished:
        with open(unfinished, "wb") as file:
            array = array if array.dtype == np.uint8 else array.astype("<i4")
            np.save(file, array, allow_pickle=False)
    with open(path, "rb") as file:
        return sha256_of(file)


def _check_entry(entry, number, names):
    check_fields(entry, _ENTRY_FORMS)
    if not _NAME.fullmatch(entry["name"]) or int(entry["name"]) != number:
        raise Damage(f"its shard {number} has the name {entry['name']!r}")
    counts = (entry["pairs"], entry["source_tokens"], entry["target_tokens"], *entry["longest"])
    if min(counts) < 0 or not entry["pairs"] or len(entry["longest"]) != 2:
        raise Damage(f"its shard {number} has impossible numbers")
    if set(entry["sha256"]) != set(names):
        raise Damage(f"its shard {number} has the checksums of other files")
