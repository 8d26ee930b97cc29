"""Cards: the JSON files in which artefacts say of themselves what people want to know."""

import dataclasses
import hashlib

from keras_bahdanau import __version__
from keras_bahdanau.exporters.parity import Parity, table

CARD = "card.json"


def card_of(translator):
    """Dictionary that the cards of all formats hold: versions, search and vocabulary.

    Args:
        translator: A `Translator`.
    """
    import keras  # a card is read without them
    import tensorflow as tf

    return {
        "keras_bahdanau": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "search": dataclasses.asdict(translator.search),
        "vocabulary_sha256": {
            "source": sha256(translator.tokenizer.source_model),
            "target": sha256(translator.tokenizer.target_model),
        },
    }


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
