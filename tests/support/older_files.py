"""A .tflite file of release 0.1.0, which returns neither a confidence nor per-token values."""

import json
from pathlib import Path

from keras_bahdanau.exporters.card import CARD
from keras_bahdanau.exporters.litert.tflite_file import pack, unpack

RELEASED = Path(__file__).parents[1] / "golden" / "0.1.0" / "translator.tflite"


def sealed(path):
    """Write the file to `path` with the seal that current programs require; return the path."""
    contents = unpack(RELEASED.read_bytes())
    card = json.loads(contents.files.pop(CARD))
    path.write_bytes(pack(contents.model, contents.files, card))
    return path
