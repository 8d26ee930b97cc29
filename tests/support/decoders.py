"""Build decoders from a flat list of options for the decoder and for its cell."""

import inspect

from keras_bahdanau import Decoder, HardDecoder, layers

OF_DECODER = {*inspect.signature(Decoder).parameters, "name", "dtype", "trainable"} - {"cell"}


def new_decoder(vocabulary_size, embedding_units, units, attention="bahdanau", **options):
    """Return a `Decoder`; the options that it doesn't have itself are passed to its cell."""
    return _decoder(Decoder, vocabulary_size, embedding_units, units, attention, options)


def new_hard_decoder(vocabulary_size, embedding_units, units, attention, **options):
    """Return a `HardDecoder`, with options as in `new_decoder`."""
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
