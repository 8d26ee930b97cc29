"""Metrics over tokens, and functions to update them in training."""

import keras
from keras import ops

from keras_bahdanau.models.losses import float32_logits

__all__ = ["Perplexity"]


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Perplexity(keras.metrics.Mean):
    """Perplexity exp(mean -log p(y)) over real tokens, without label smoothing.

    Use it as a weighted metric, so that padding is excluded:
    `model.compile(..., weighted_metrics=[keras_bahdanau.models.metrics.Perplexity()])`.
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        logits = float32_logits(y_pred)
        # -log p(y): (batch, target_time)
        losses = ops.sparse_categorical_crossentropy(y_true, logits, from_logits=True)
        return self.update_from_losses(losses, sample_weight)

    def update_from_losses(self, losses, sample_weight=None):
        """Update the metric from -log p(y), `(batch, target_time)`, instead of logits."""
        if sample_weight is not None:
            sample_weight = ops.reshape(sample_weight, (-1,))  # -> (batch * target_time,)
        # flattened, since Keras' mean would give each row the same weight, regardless of length
        return keras.metrics.Mean.update_state(
            self, ops.reshape(losses, (-1,)), sample_weight=sample_weight
        )

    def result(self):
        return ops.exp(super().result())


def build_compiled(metrics, targets, vocabulary_size):
    """Create the metrics of `compile` and their variables, if they don't exist yet."""
    if not metrics.built:
        shape = (*targets.shape, vocabulary_size)
        metrics.build(targets, keras.KerasTensor(shape, "float32"))


def update_compiled(metrics, targets, sample_weight, vocabulary_size, logits, token_losses=None):
    """Update the metrics of `compile`.

    `logits` is a function that returns the logits, called only if a metric needs them.
    `token_losses` is -log p(y), `(batch, target_time)`, or None.
    """
    build_compiled(metrics, targets, vocabulary_size)
    from_losses = all(hasattr(metric, "update_from_losses") for metric in metrics.metrics)
    if token_losses is None or not from_losses:
        metrics.update_state(targets, ops.stop_gradient(logits()), sample_weight)
        return
    token_losses = ops.stop_gradient(token_losses)
    for weight, group in (
        (None, metrics._flat_metrics),
        (sample_weight, metrics._flat_weighted_metrics),
    ):
        for metric in [metric for each in group if each for metric in each.metrics]:
            metric.update_from_losses(token_losses, weight)
