"""From source ids to the `Memory` that a decoder attends to."""

import keras
from keras import ops

from keras_bahdanau.layers import Memory, checks
from keras_bahdanau.layers.attention import masked_mean
from keras_bahdanau.layers.bidirectional import BidirectionalRNN
from keras_bahdanau.models.embedding import token_embedding

PAD = 0


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Encoder(keras.Model):
    """Embedding and a stack of bidirectional RNNs (Bahdanau et al. 2015, section 3.2).

    ```python
    encoder = keras_bahdanau.Encoder(vocabulary_size=6000, embedding_units=256, units=256)
    memory = encoder(source)          # .values (batch, source_time, 512), .mask, .summary
    ```

    Args:
        vocabulary_size: Positive integer. Number of source tokens; id 0 is padding.
        embedding_units: Positive integer. Width of a token's embedding.
        units: Positive integer. Width of each direction; the values are twice as wide.
        cell: "gru" or "lstm".
        depth: Positive integer. How many bidirectional layers stand on each other.
        dropout: Float in [0, 1). Share dropped, in training, of the
            embeddings, between layers and of the values.

    Call arguments:
        source: Int tensor `(batch, source_time)`, right-padded with 0.
        training: Python bool.

    Output:
        `Memory`: values `(batch, source_time, 2 * units)`, zero at padding;
        mask `(batch, source_time)`; summary `(batch, 2 * units)`, the mean of
        the real values (zero for an empty sentence).

    Raises:
        ValueError: If a size is not a positive integer, or `dropout` not in [0, 1).
    """

    def __init__(
        self, vocabulary_size, embedding_units, units, cell="gru", depth=1, dropout=0.0, **kwargs
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.embedding_units = embedding_units
        self.units = units
        self.cell = cell
        self.depth = checks.positive_integer("depth", "the number of layers", depth)
        self.dropout = checks.share("dropout", "the share dropped", dropout)
        self.embedding = token_embedding(vocabulary_size, embedding_units, self.dtype_policy)
        self.dropouts = [
            keras.layers.Dropout(dropout, dtype=self.dtype_policy) for _ in range(depth + 1)
        ]
        self.rnns = [
            BidirectionalRNN(units, cell, dtype=self.dtype_policy, name=f"rnn_{index}")
            for index in range(depth)
        ]

    @property
    def values_units(self):
        """Width of the values."""
        return 2 * self.units

    def build(self, source_shape):
        self.embedding.build(source_shape)
        width = self.embedding_units
        for rnn in self.rnns:
            rnn.build((None, None, width))
            width = self.values_units
        self.built = True

    def call(self, source, training=None):
        mask = ops.not_equal(source, PAD)
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
        values = self.dropouts[0](self.embedding(source), training=training)
        for rnn, dropout in zip(self.rnns, self.dropouts[1:], strict=True):
            values = dropout(rnn(values, lengths), training=training)
        values = values * ops.expand_dims(ops.cast(mask, values.dtype), axis=-1)
        return Memory(values, mask, summary=masked_mean(values, mask))

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "embedding_units": self.embedding_units,
            "units": self.units,
            "cell": self.cell,
            "depth": self.depth,
            "dropout": self.dropout,
        }
