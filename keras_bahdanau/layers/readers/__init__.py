"""The ways to read a source sentence, by name."""

import functools

from keras_bahdanau import checks
from keras_bahdanau.layers.readers.convolutional import ConvolutionalReader
from keras_bahdanau.layers.readers.recurrent import BidirectionalRNN, UnidirectionalRNN

READERS = {
    "bidirectional": BidirectionalRNN.stack,
    "unidirectional": UnidirectionalRNN.stack,
    "convolutional": ConvolutionalReader.stack,
    "convolutional-tanh": functools.partial(ConvolutionalReader.stack, activation="tanh"),
}


def new_readers(kind, depth, units, cell, recurrent_dropout, dropout, **kwargs):
    """The layers of an encoder, to be called one after another.

    A reader is a layer `(inputs, lengths, training=None) -> values` with a width
    `output_units`, and a method `last(values, mask)` that gives all it knows at
    the end of a sentence.

    Args:
        kind: A name of `READERS`.
        depth: Positive integer. How often the sentence is read.
        units: Positive integer. Width of each direction.
        cell: See `RecurrentReader`; a convolutional reader has none.
        recurrent_dropout: See `RecurrentReader`.
        dropout: Float in [0, 1). Share dropped inside of a layer that holds several.
        **kwargs: Dtype of the layers.

    Returns:
        List of layers.

    Raises:
        ValueError: If an argument is unknown, or out of its range.
    """
    new = READERS[checks.choice("kind", kind, READERS)]
    return new(depth, units, cell, recurrent_dropout, dropout, **kwargs)
