"""Encoder and decoder as one model: `fit` for training, two functions for search."""

import keras
from keras import ops

from keras_bahdanau.layers import Memory
from keras_bahdanau.layers.serialization import unbuilt


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Seq2Seq(keras.Model):
    """An attention encoder-decoder that Keras trains as it is.

    ```python
    model = keras_bahdanau.Seq2Seq(encoder, decoder)
    model.compile(optimizer="adam", loss=keras_bahdanau.losses.TokenCrossentropy())
    model.fit(keras_bahdanau.text.batches(pairs, tokenizer), epochs=20, shuffle=False)
    ```

    Args:
        encoder: An `Encoder`.
        decoder: A `Decoder`.
        share_embeddings: Bool. Whether both languages, which then have one
            vocabulary, share one embedding. With the decoder's
            `tie_embeddings` the output layer is the third to share it.

    Call arguments:
        inputs: Pair (source, target_in) of int tensors `(batch, source_time)`
            and `(batch, target_time)`, right-padded with 0.
        return_attention_scores: Python bool. Whether the weights come too.
        training: Python bool.

    Output:
        What the decoder gives: float32 logits `(batch, target_time, vocabulary)`,
        or the pair (logits, weights `(batch, target_time, source_time)`).

    Raises:
        ValueError: If embeddings of different shapes are to be shared.
    """

    def __init__(self, encoder, decoder, share_embeddings=False, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder
        self.share_embeddings = share_embeddings
        if share_embeddings:
            _check_shareable(encoder, decoder)
            decoder.use_embedding(encoder.embedding)

    def build(self, inputs_shape=None):
        if not self.encoder.built:
            self.encoder.build((None, None))
        if not self.decoder.built:
            width = self.encoder.values_units
            self.decoder.build((None, None), Memory((None, None, width), None, (None, width)))
        self.built = True

    def encode(self, source, training=None):
        """A prepared `Memory` of the source ids `(batch, source_time)`, for `decode_step`."""
        if not self.built:
            self.build()
        return self.decoder.prepare(self.encoder(source, training=training))

    def first_state(self, memory):
        """The decoder's state before the first token."""
        return self.decoder.first_state(memory)

    def decode_step(self, tokens, state, memory):
        """Log-probabilities of the next token, in float32.

        Args:
            tokens: Int tensor `(batch,)` or `(batch, beam)`, the tokens chosen last.
            state: `DecoderState` with the same leading axes.
            memory: From `encode`; it has no beam axis.

        Returns:
            (log_probs `(batch, [beam,] vocabulary)`, the next state).
        """
        logits, state = self.decoder.step(tokens, state, memory)
        return ops.log_softmax(logits, axis=-1), state

    def call(self, inputs, return_attention_scores=False, training=None):
        source, target_in = inputs
        memory = self.encoder(source, training=training)
        return self.decoder(
            target_in, memory, return_attention_scores=return_attention_scores, training=training
        )

    def get_config(self):
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "decoder": keras.saving.serialize_keras_object(self.decoder),
            "share_embeddings": self.share_embeddings,
        }

    @classmethod
    def from_config(cls, config):
        parts = {part: unbuilt(config[part]) for part in ("encoder", "decoder")}
        return cls(**{**config, **parts})


def _check_shareable(encoder, decoder):
    source = (encoder.vocabulary_size, encoder.embedding_units)
    target = (decoder.vocabulary_size, decoder.embedding_units)
    if source != target:
        raise ValueError(
            "`share_embeddings=True` needs one vocabulary and one embedding width on both "
            f"sides. Received: encoder (vocabulary_size, embedding_units)={source}, "
            f"decoder={target}. Train a joint vocabulary, or leave sharing out."
        )
