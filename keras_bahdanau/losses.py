"""The loss of a token."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class TokenCrossentropy(keras.losses.Loss):
    """Cross-entropy of each target token, in nats, with label smoothing.

    loss = (1 - smoothing) * -log p(y) + smoothing * mean_k -log p(k)

    (Szegedy et al. 2016, section 7; `keras.losses.SparseCategoricalCrossentropy`
    has no label smoothing.) Padding is left out by the sample weights that
    `keras_bahdanau.text.batches` gives, and the mean is over real tokens.

    Args:
        label_smoothing: Float in [0, 1). Share of the probability that goes
            to all tokens alike.
        reduction: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Int tensor `(batch, target_time)`.
        y_pred: Float logits `(batch, target_time, vocabulary)`.
        sample_weight: Float tensor `(batch, target_time)`, 0 at padding.
    """

    def __init__(
        self,
        label_smoothing=0.0,
        reduction="mean_with_sample_weight",
        name="token_crossentropy",
        **kwargs,
    ):
        super().__init__(name=name, reduction=reduction, **kwargs)
        if not isinstance(label_smoothing, int | float) or not 0 <= label_smoothing < 1:
            raise ValueError(
                "`label_smoothing`, a share of probability, must be in [0, 1). "
                f"Received: label_smoothing={label_smoothing!r}"
            )
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        logits = ops.cast(y_pred, "float32")
        loss = ops.sparse_categorical_crossentropy(y_true, logits, from_logits=True)
        if not self.label_smoothing:
            return loss
        uniform = ops.logsumexp(logits, axis=-1) - ops.mean(logits, axis=-1)
        return (1 - self.label_smoothing) * loss + self.label_smoothing * uniform

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
