"""From source ids to the `Memory` that a decoder attends to."""

import keras
from keras import ops

from keras_bahdanau import checks
from keras_bahdanau.layers.front_ends.token_embedding import token_embedding
from keras_bahdanau.layers.memory import Memory
from keras_bahdanau.layers.readers import READERS
from keras_bahdanau.layers.registry import from_config
from keras_bahdanau.layers.summaries import SUMMARIES, first_value
from keras_bahdanau.layers.word_dropout import WordDropout

PAD = 0


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Encoder(keras.Model):
    """Embedding and a stack of readers, bidirectional RNNs by default.

    (Bahdanau et al. 2015, section 3.2.)

    ```python
    encoder = keras_bahdanau.Encoder(vocabulary_size=6000, embedding_units=256, units=256)
    memory = encoder(source)          # .values (batch, source_time, 512), .mask, .summary
    ```

    Args:
        vocabulary_size: Positive integer. Number of source tokens; id 0 is padding.
        embedding_units: Positive integer. Width of a token's embedding.
        units: Positive integer. Width of each direction; the values of a
            bidirectional encoder are twice as wide.
        cell: A name of `layers.CELLS` ("gru", "lstm", ...), or a Keras cell, of which
            each direction takes a copy. A convolutional encoder has none.
        depth: Positive integer. How many layers stand on each other.
        dropout: Float in [0, 1). Share dropped, in training, of the
            embeddings, between layers and of the values.
        embedding_dropout: Float in [0, 1), of embeddings alone; that of `dropout` if None.
        kind: "bidirectional", "unidirectional", "convolutional" (gated linear
            units) or "convolutional-tanh".
        summary: What the first decoder state is made of: "mean", of the real values;
            "backward", the backward direction's state at the first token (the paper's);
            "last", what each direction ends with.
        residual: Bool. Whether a recurrent layer's input is added to its output,
            from the second layer up; convolutions always have that.
        recurrent_dropout: Float in [0, 1). Share of the state that a step does not see
            in training; see `RecurrentReader`.
        word_dropout: Float in [0, 1). Share of tokens hidden in training.

    Call arguments:
        source: Int tensor `(batch, source_time)`, right-padded with 0.
        training: Python bool.

    Output:
        `Memory`: values `(batch, source_time, values_units)`, zero at padding; mask
        `(batch, source_time)`; summary `(batch, summary_units)`; last
        `(batch, values_units)`, what each direction ends with (of convolutions the
        mean); task `(batch, embedding_units)`, without dropout. For an empty
        sentence all of it is zero.

    Raises:
        ValueError: If a size is not a positive integer, a share not in [0, 1), a name
            unknown, or a part asked for that the kind does not have.
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_units,
        units,
        cell="gru",
        depth=1,
        dropout=0.0,
        kind="bidirectional",
        summary="mean",
        residual=False,
        recurrent_dropout=0.0,
        word_dropout=0.0,
        embedding_dropout=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.embedding_units = embedding_units
        self.units = units
        is_layer = isinstance(cell, keras.layers.Layer)
        self.cell = keras.saving.serialize_keras_object(cell) if is_layer else cell
        self.depth = checks.positive_integer("depth", "the number of layers", depth)
        self.dropout = checks.rate("dropout", "the dropout rate", dropout)
        self.kind = kind
        self.summary_name = checks.choice("summary", summary, SUMMARIES)
        self.residual = residual
        self.recurrent_dropout = recurrent_dropout
        embedding_dropout = checks.rate_or(
            dropout, "embedding_dropout", "the dropout rate of the embeddings", embedding_dropout
        )
        checks.rate("word_dropout", "the dropout rate of tokens", word_dropout)
        policy = {"dtype": self.dtype_policy}
        self.embedding = token_embedding(vocabulary_size, embedding_units, self.dtype_policy)
        self.word_dropout = WordDropout(word_dropout, name="word_dropout", **policy)
        self.rnns = READERS.get(kind, depth, units, cell, recurrent_dropout, dropout, **policy)
        rates = [embedding_dropout, *[dropout] * len(self.rnns)]
        self.dropouts = [keras.layers.Dropout(rate, **policy) for rate in rates]
        self.summary_units = SUMMARIES[summary].units(self.rnns[-1])

    @property
    def values_units(self):
        """Width of the values."""
        return self.rnns[-1].output_units

    @property
    def memory_shape(self):
        """The `Memory` of its shapes, batch and time unknown."""
        return Memory(
            values=(None, None, self.values_units),
            mask=(None, None),
            summary=(None, self.summary_units),
            last=(None, self.values_units),
            task=(None, self.embedding_units),
        )

    def build(self, source_shape):
        self.embedding.build(source_shape)
        width = self.embedding_units
        for rnn in self.rnns:
            rnn.build((None, None, width))
            width = rnn.output_units
        self.built = True

    def call(self, source, training=None):
        mask = ops.not_equal(source, PAD)  # -> (batch, source_time)
        embedded = self.embedding(source)  # -> (batch, source_time, embedding_units)
        # h_j: (batch, source_time, values_units)
        values = self._read(embedded, mask, training)
        reader = self.rnns[-1]
        return Memory(
            values,
            mask,
            summary=SUMMARIES[self.summary_name].make(reader, values, mask),
            last=reader.last(values, mask),
            task=first_value(embedded, mask),
        )

    def _read(self, embedded, mask, training):
        """The values, zero at padding."""
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)  # -> (batch,)
        values = self.word_dropout(embedded, training=training)
        values = self.dropouts[0](values, training=training)
        for index, (rnn, dropout) in enumerate(zip(self.rnns, self.dropouts[1:], strict=True)):
            outputs = dropout(rnn(values, lengths, training=training), training=training)
            values = values + outputs if self.residual and index > 0 else outputs
        return ops.where(ops.expand_dims(mask, axis=-1), values, ops.zeros_like(values))

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "embedding_units": self.embedding_units,
            "units": self.units,
            "cell": self.cell,
            "depth": self.depth,
            "dropout": self.dropout,
            "kind": self.kind,
            "summary": self.summary_name,
            "residual": self.residual,
            "recurrent_dropout": self.recurrent_dropout,
            "word_dropout": self.word_dropout.rate,
            "embedding_dropout": self.dropouts[0].rate,
        }

    @classmethod
    def from_config(cls, config):
        if isinstance(config.get("cell"), dict):
            config = {**config, "cell": from_config(config["cell"])}
        return cls(**config)
