"""Dropout of whole words."""

import keras

from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class WordDropout(keras.layers.Layer):
    """Hide whole tokens in training: their embeddings become zero.

    The others are scaled by 1 / (1 - rate), so that their mean stays. (Gal and
    Ghahramani 2016, section 4.2; per token, not per type, as Sennrich et al.
    2016, "Edinburgh neural machine translation systems for WMT 16".)

    Args:
        rate: Float in [0, 1). Share of the tokens hidden.
        seed: Integer, for the same choice in each run.

    Call arguments:
        embedded: Float tensor `(..., embedding_units)`.
        training: Python bool. True if any token is hidden.

    Output:
        Tensor of the shape of `embedded`.

    Raises:
        ValueError: If `rate` is not in [0, 1).
    """

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = checks.rate("rate", "the dropout rate of tokens", rate)
        self.seed = seed
        if rate:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True

    def call(self, embedded, training=None):
        if not training or not self.rate:
            return embedded
        one_a_token = (*(None for _ in embedded.shape[:-1]), 1)
        return keras.random.dropout(
            embedded, self.rate, noise_shape=one_a_token, seed=self.seed_generator
        )

    def compute_output_shape(self, embedded_shape):
        return embedded_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
