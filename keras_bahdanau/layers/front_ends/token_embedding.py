"""The embedding of tokens, which may also serve as the output layer."""

import keras

from keras_bahdanau import checks


def token_embedding(vocabulary_size, units, dtype):
    """A `keras.layers.ReversibleEmbedding` whose rows have a length of about 1.

    Called with `reverse=True` it projects back to the vocabulary with the same
    weights (Press and Wolf 2017), and rows of length 1 give logits of the size
    that a fresh output layer has.
    """
    checks.positive_integer("vocabulary_size", "the number of tokens", vocabulary_size)
    checks.positive_integer("embedding_units", "the width of an embedding", units)
    return keras.layers.ReversibleEmbedding(
        vocabulary_size,
        units,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=units**-0.5),
        dtype=dtype,
        name="embedding",
    )
