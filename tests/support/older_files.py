"""A .tflite file of release 0.1.0, whose answers have no confidence and nothing of their tokens."""

import json
from pathlib import Path

from keras_bahdanau.exporters.card import CARD
from keras_bahdanau.exporters.litert.tflite_file import pack, unpack

RELEASED = Path(__file__).parents[1] / "golden" / "0.1.0" / "translator.tflite"


def sealed(path):
    """Write it with the seal that programs of today ask for; return the path."""
    contents = unpack(RELEASED.read_bytes())
    card = json.loads(contents.files.pop(CARD))
    path.write_bytes(pack(contents.model, contents.files, card))
    return path
