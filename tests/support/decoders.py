"""Decoders from flat options: those of the decoder cell and those of the decoder together."""

import inspect

from keras_bahdanau import Decoder, HardDecoder, layers

OF_DECODER = {*inspect.signature(Decoder).parameters, "name", "dtype", "trainable"} - {"cell"}


def new_decoder(vocabulary_size, embedding_units, units, attention="bahdanau", **options):
    """A `Decoder`, whose options that are none of its own make its cell."""
    return _decoder(Decoder, vocabulary_size, embedding_units, units, attention, options)


def new_hard_decoder(vocabulary_size, embedding_units, units, attention, **options):
    """The same of a `HardDecoder`."""
    options = {"when": "apart", **options}
    return _decoder(HardDecoder, vocabulary_size, embedding_units, units, attention, options)


def _decoder(kind, vocabulary_size, embedding_units, units, attention, options):
    options = dict(options)
    when = options.pop("when", "before")
    of_cell = {name: options.pop(name) for name in [*options] if name not in OF_DECODER}
    policy = {"dtype": options["dtype"]} if "dtype" in options else {}
    if when == "blocks":
        of_cell = {"cell": "gru", "dropout": options.get("dropout", 0.0), **of_cell}
    cell = layers.DECODER_CELLS.get(when, units, attention, **of_cell, **policy)
    return kind(vocabulary_size, embedding_units, cell, **options)
