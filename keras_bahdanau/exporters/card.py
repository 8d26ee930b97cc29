"""Cards: the JSON files in which artefacts say of themselves what people want to know."""

import dataclasses
import hashlib

from keras_bahdanau import __version__
from keras_bahdanau.exporters.parity import Parity, table

CARD = "card.json"
TARGET = "target.spm"


def card_of(pipeline):
    """Dictionary that the cards of all formats hold: versions, search and vocabularies.

    Args:
        pipeline: A `Pipeline`.
    """
    import keras  # a card is read without them
    import tensorflow as tf

    files, vocabularies = vocabulary_files(pipeline)
    return {
        "keras_bahdanau": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "search": dataclasses.asdict(pipeline.search),
        "verb": pipeline.verb,
        "vocabularies": vocabularies,
        "vocabulary_sha256": {
            side: sha256(files[file_name]) for side, file_name in vocabularies.items()
        },
    }


def vocabulary_files(pipeline):
    """The files of a pipeline that clients read, and the sides that they belong to.

    One file serves both sides if both have the same vocabulary.

    Args:
        pipeline: A `Pipeline`.

    Returns:
        (files, vocabularies): dictionaries from a file name to its bytes, and from "source",
        "target" or another side to a file name.
    """
    files = dict(pipeline.source.assets)
    vocabularies = {name.partition(".")[0]: name for name in files}
    same = [name for name, content in files.items() if content == pipeline.target.model]
    vocabularies["target"] = same[0] if same else TARGET
    return {vocabularies["target"]: pipeline.target.model, **files}, vocabularies


def sha256(content):
    """The hash of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def table_of(rows):
    """A list of `Parity` as JSON holds it."""
    return [dataclasses.asdict(row) for row in rows]


def describe_search(card):
    """Line of text with the search options of a card."""
    return "search: " + ", ".join(f"{name} {value}" for name, value in card["search"].items())


def describe_parity(card):
    """Lines of text with the table of parity of a card."""
    return table([Parity(**row) for row in card["parity"]])
