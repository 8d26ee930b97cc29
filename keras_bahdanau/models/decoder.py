"""From the teacher's tokens, or one token at a time, to logits."""

import keras
from keras import ops

from keras_bahdanau.layers import (
    BahdanauAttention,
    DecoderCell,
    FixedContext,
    Memory,
    Readout,
    checks,
    scan,
)
from keras_bahdanau.layers.serialization import unbuilt
from keras_bahdanau.models.embedding import token_embedding


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Decoder(keras.Model):
    """Attention decoder: whole target sentences in training, one step in search.

    ```python
    decoder = keras_bahdanau.Decoder(
        vocabulary_size=6000, embedding_units=256, units=512,
        attention=keras_bahdanau.layers.BahdanauAttention(256),
    )
    logits = decoder(target_in, memory)
    ```

    Args:
        vocabulary_size: Positive integer. Number of target tokens; id 0 is padding.
        embedding_units: Positive integer. Width of a token's embedding, and of the readout.
        units: Positive integer. Width of the decoder state.
        attention: A `BahdanauAttention`, of the decoder's width when left out; or None
            for the fixed context of an encoder-decoder without attention.
        cell: "gru" or "lstm".
        dropout: Float in [0, 1). Share of embeddings and readout dropped in training.
        tie_embeddings: Bool. Whether the output layer is the embedding, transposed.

    Call arguments:
        target_in: Int tensor `(batch, target_time)`: the start token and the
            teacher's tokens, right-padded with 0.
        memory: `Memory` from an `Encoder`.
        return_attention_scores: Python bool. Whether the weights come too.
        training: Python bool.

    Output:
        Float32 logits `(batch, target_time, vocabulary)`; with
        `return_attention_scores=True` the pair (logits, weights
        `(batch, target_time, source_time)`).

    Raises:
        ValueError: If a size is not a positive integer, or `dropout` not in [0, 1).
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_units,
        units,
        attention="bahdanau",
        cell="gru",
        dropout=0.0,
        tie_embeddings=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.embedding_units = embedding_units
        self.units = checks.positive_integer("units", "the width of the decoder state", units)
        self.dropout = checks.share("dropout", "the share dropped", dropout)
        self.tie_embeddings = tie_embeddings
        policy = {"dtype": self.dtype_policy}
        self.embedding = token_embedding(vocabulary_size, embedding_units, self.dtype_policy)
        self.embedding_dropout = keras.layers.Dropout(dropout, **policy)
        if attention == "bahdanau":
            attention = BahdanauAttention(units, name="attention", **policy)
        elif attention is None:
            attention = FixedContext(name="no_attention", **policy)
        self.cell = DecoderCell(units, attention, cell, name="cell", **policy)
        self.readout = Readout(embedding_units, dropout, name="readout", **policy)
        self.output_layer = None
        if not tie_embeddings:
            self.output_layer = keras.layers.Dense(vocabulary_size, name="output", **policy)

    def build(self, target_in_shape, memory_shape):
        memory_shape = Memory(*memory_shape)  # a saved model has it as a plain list
        embedded = (None, None, self.embedding_units)
        self.embedding.build(target_in_shape)
        self.cell.build(embedded, memory_shape=memory_shape)
        self.readout.build((None, self.units), memory_shape.values, embedded)
        if self.output_layer is not None:
            self.output_layer.build((None, self.embedding_units))
        self.built = True

    def use_embedding(self, embedding):
        """Takes another model's embedding layer in place of its own, before it is built."""
        if self.built:
            raise ValueError(
                "Embeddings must be shared before the decoder is built. Received: a built "
                f"decoder, name={self.name!r}. Make a new one."
            )
        del self.embedding  # or Keras would go on saving the replaced layer
        self.embedding = embedding

    def prepare(self, memory):
        """The `Memory` with what no step changes computed once."""
        return self.cell.prepare(memory)

    def first_state(self, memory):
        """The `DecoderState` before the first token."""
        return self.cell.first_state(memory)

    def embed(self, tokens, training=None):
        """Embeddings `(..., embedding_units)` of token ids."""
        return self.embedding_dropout(self.embedding(tokens), training=training)

    def logits(self, states, embedded, training=None):
        """Float32 logits from the states of one step, or of all steps at once."""
        read = self.readout(states.cell[0], states.context, embedded, training=training)
        if self.output_layer is None:
            return ops.cast(self.embedding(read, reverse=True), "float32")
        return ops.cast(self.output_layer(read), "float32")

    def step(self, tokens, state, memory):
        """One step of a search.

        Args:
            tokens: Int tensor `(batch,)` or `(batch, beam)`, the tokens chosen last.
            state: `DecoderState` with the same leading axes.
            memory: `Memory` from `prepare`.

        Returns:
            (logits `(batch, [beam,] vocabulary)`, the next state).
        """
        embedded = self.embed(tokens)
        state = self.cell(embedded, state, memory)
        return self.logits(state, embedded), state

    def call(self, target_in, memory, return_attention_scores=False, training=None):
        memory = self.prepare(memory)
        embedded = self.embed(target_in, training=training)
        states = scan(
            lambda state, x: self.cell.step(x, state, memory, training=training),
            self.first_state(memory),
            self.cell.project(embedded),
        )
        logits = self.logits(states, embedded, training=training)
        return (logits, states.weights) if return_attention_scores else logits

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "embedding_units": self.embedding_units,
            "units": self.units,
            "attention": keras.saving.serialize_keras_object(self.cell.attention),
            "cell": self.cell.cell_name,
            "dropout": self.dropout,
            "tie_embeddings": self.tie_embeddings,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "attention": unbuilt(config["attention"])})
