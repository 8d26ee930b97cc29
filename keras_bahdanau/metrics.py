"""Metrics of a token."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Perplexity(keras.metrics.Mean):
    """exp(mean -log p(y)) over real tokens, without label smoothing.

    Use it as a weighted metric, so that padding is left out:
    `model.compile(..., weighted_metrics=[keras_bahdanau.metrics.Perplexity()])`.

    Call arguments of `update_state`:
        y_true: Int tensor `(batch, target_time)`.
        y_pred: Float logits `(batch, target_time, vocabulary)`.
        sample_weight: Float tensor `(batch, target_time)`, 0 at padding.
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        logits = ops.cast(y_pred, "float32")
        losses = ops.sparse_categorical_crossentropy(y_true, logits, from_logits=True)
        return self.update_from_losses(losses, sample_weight)

    def update_from_losses(self, losses, sample_weight=None):
        """Updates from -log p(y), `(batch, target_time)`, where no logits are kept."""
        if sample_weight is not None:
            sample_weight = ops.reshape(sample_weight, (-1,))
        # flat, since of rows Keras' mean counts each alike, however many tokens it has
        return keras.metrics.Mean.update_state(
            self, ops.reshape(losses, (-1,)), sample_weight=sample_weight
        )

    def result(self):
        return ops.exp(super().result())
