"""Token embedding, which can also serve as the output layer."""

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.front_end import FrontEnd
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.limits import MOST_TOKENS

PAD = 0


def token_embedding(vocabulary_size, units, dtype):
    """Return a `ReversibleEmbedding` with rows of norm about 1, to keep initial logits small."""
    checks.positive_integer("vocabulary_size", "the number of tokens", vocabulary_size, MOST_TOKENS)
    checks.positive_integer("embedding_units", "the width of an embedding", units)
    return keras.layers.ReversibleEmbedding(
        vocabulary_size,
        units,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=units**-0.5),
        dtype=dtype,
        name="embedding",
    )


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class TokenEmbedding(FrontEnd):
    """Front end for text: embeddings of `vocabulary_size` tokens, where id 0 is padding.

    The inputs are ids `(batch, source_time)`. The output is the pair (vectors, mask):
    `(batch, source_time, units)` and `(batch, source_time)`.
    """

    def __init__(self, vocabulary_size, units, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.embedding = token_embedding(vocabulary_size, units, self.dtype_policy)

    @property
    def source_size(self):
        return self.vocabulary_size

    def ids(self, source):
        return source

    def build(self, source_shape=None):
        self.embedding.build((None, None))

    def call(self, source, training=None):
        # -> (batch, source_time, units), (batch, source_time)
        return self.embedding(source), ops.not_equal(source, PAD)

    def compute_output_shape(self, source_shape):
        return (*source_shape, self.units), tuple(source_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "units": self.units,
        }
