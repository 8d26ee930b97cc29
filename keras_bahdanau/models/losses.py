"""The losses of a token, of a sentence, and of an alignment."""

import keras
from keras import ops

__all__ = ["GuidedAlignment", "SentenceCrossentropy", "TokenCrossentropy"]

SMALLEST_WEIGHT = 1e-7


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class TokenCrossentropy(keras.losses.Loss):
    """Cross-entropy of each target token, in nats, with label smoothing.

    loss = (1 - smoothing) * -log p(y) + smoothing * mean_k -log p(k)

    (Szegedy et al. 2016, section 7; `keras.losses.SparseCategoricalCrossentropy`
    has no label smoothing.) Padding is left out by the sample weights that
    `keras_bahdanau.data.batches` gives, and the mean is over real tokens.

    Args:
        label_smoothing: Float in [0, 1). Share of the probability that goes
            to all tokens alike.
        reduction: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Int tensor `(batch, target_time)`.
        y_pred: Float logits `(batch, target_time, vocabulary)`.
        sample_weight: Float tensor `(batch, target_time)`, 0 at padding.
    """

    _reductions_of_total = "mean_with_sample_weight", "mean", "sum_over_batch_size", "sum"

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

    @property
    def sums_tokens(self):
        """True if `of_total` gives this loss, so that no logits are needed.

        False for a loss without a reduction, and for a subclass with another `call`.
        """
        own = type(self).call is TokenCrossentropy.call
        return own and self.reduction in self._reductions_of_total

    def call(self, y_true, y_pred):
        logits = ops.cast(y_pred, "float32")
        # -log p(y): (batch, target_time)
        loss = ops.sparse_categorical_crossentropy(y_true, logits, from_logits=True)
        if not self.label_smoothing:
            return loss
        # mean_k -log p(k): (batch, target_time)
        uniform = ops.logsumexp(logits, axis=-1) - ops.mean(logits, axis=-1)
        return (1 - self.label_smoothing) * loss + self.label_smoothing * uniform

    def of_total(self, total, sample_weight):
        """The loss of a batch, from the weighted sum of its token losses.

        Args:
            total: Float32 scalar: see `models.output_loss`.
            sample_weight: Float tensor `(batch, target_time)`.

        Returns:
            Float32 scalar, what a call with logits would give.
        """
        if self.reduction == "sum":
            return total
        if self.reduction in ("mean", "sum_over_batch_size"):
            return _mean(total / ops.cast(ops.size(sample_weight), total.dtype))
        return _mean(ops.divide_no_nan(total, self.count(sample_weight)))

    def count(self, sample_weight):
        """The denominator of the mean of a batch, by which the means of its parts add up.

        Args:
            sample_weight: Float tensor `(batch, target_time)`.

        Returns:
            Float32 scalar, the number of real tokens where the weights are 0 and 1.
        """
        return ops.sum(ops.cast(sample_weight, "float32"))

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


def of_layers(model):
    """List of what layers and weights add to the loss, such as regularizers: float32 scalars.

    Each counts once, however many replicas train.
    """
    return [_mean(ops.sum(one)) for one in model.losses]


def _mean(value):
    """The mean of a batch, divided by the number of replicas that train, as Keras does it."""
    return _Given(name="given", dtype="float32")(ops.zeros((1,)), ops.reshape(value, (1,)))


class _Given(keras.losses.Loss):
    """The mean of what is given."""

    def call(self, y_true, y_pred):
        return y_pred


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class SentenceCrossentropy(TokenCrossentropy):
    """The sum of the token losses of a sentence, and its mean over sentences.

    loss = 1/N sum_n sum_i -log p(y_ni)          (Cho et al. 2014, eq. 4)

    So its gradient is as many times as long as a sentence has tokens, and a threshold
    for gradients, or a rate of plain SGD, means something else than with the mean over
    tokens.

    Args:
        label_smoothing: As in `TokenCrossentropy`.

    Call arguments: as in `TokenCrossentropy`. A sentence of padding alone does not count.
    """

    _reductions_of_total = ("sum",)

    def __init__(self, label_smoothing=0.0, name="sentence_crossentropy", **kwargs):
        super().__init__(label_smoothing, **{**kwargs, "reduction": "sum", "name": name})

    def __call__(self, y_true, y_pred, sample_weight=None):
        if sample_weight is None:
            sample_weight = ops.ones(ops.shape(y_true), "float32")
        return self.of_total(super().__call__(y_true, y_pred, sample_weight), sample_weight)

    def of_total(self, total, sample_weight):
        return _mean(total / ops.maximum(ops.cast(self.count(sample_weight), total.dtype), 1.0))

    def count(self, sample_weight):
        """Float32 scalar, the number of sentences that have a real token."""
        real = ops.any(ops.greater(sample_weight, 0), axis=1)  # -> (batch,)
        return ops.sum(ops.cast(real, "float32"))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GuidedAlignment(keras.losses.Loss):
    """Cross-entropy that pulls attention weights towards given ones.

    loss = -1/|rows| sum_i sum_j given_ij log alpha_ij

    over the target tokens i that are linked to any source token (Chen et al.
    2016, "Guided Alignment Training for Topic-Aware Neural Machine Translation";
    Mi et al. 2016, "Supervised Attentions for Neural Machine Translation"). A
    weight below 1e-7 counts as 1e-7 and has no gradient, so loss and gradient
    are finite for weights that are exactly zero.

    Args:
        reduction: As in `keras.losses.Loss`; the default is the mean over the
            rows that have links.

    Call arguments:
        y_true: Float tensor `(batch, target_time, source_time)`, the given
            alignment, each row of which sums to 1, or is all zero where a
            token has no link; see `keras_bahdanau.data.BatchedPairs`.
        y_pred: Float tensor of the same shape, the attention weights.
        sample_weight: Float tensor `(batch, target_time)` of the rows, if they
            do not count alike.
    """

    def __init__(self, reduction="mean_with_sample_weight", name="guided_alignment", **kwargs):
        super().__init__(name=name, reduction=reduction, **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        linked = ops.any(ops.convert_to_tensor(y_true) > 0, axis=-1)  # -> (batch, target_time)
        weight = ops.cast(linked, "float32")
        if sample_weight is not None:
            weight = weight * ops.cast(sample_weight, "float32")
        return super().__call__(y_true, y_pred, sample_weight=weight)

    def call(self, y_true, y_pred):
        weights = ops.maximum(ops.cast(y_pred, "float32"), SMALLEST_WEIGHT)
        # sum over j: (batch, target_time)
        return -ops.sum(ops.cast(y_true, "float32") * ops.log(weights), axis=-1)


def guided_alignment(given, weights):
    """The mean `GuidedAlignment` loss of a batch.

    Args:
        given: Float tensor `(..., target_time, source_time)`.
        weights: Float tensor of the same shape, the attention weights.

    Returns:
        Float32 scalar; 0 if no row of `given` has a link.
    """
    return GuidedAlignment(dtype="float32")(given, weights)


def divergence(logits, others):
    """Divergence of two predictions of the same tokens, in nats.

    D = 1/2 (KL(p || q) + KL(q || p)) = 1/2 sum_k (p_k - q_k) (log p_k - log q_k)

    (R-Drop: Wu et al. 2021, eq. 2.)

    Args:
        logits: Float tensor `(batch, target_time, vocabulary)`.
        others: Float tensor of the same shape.

    Returns:
        Float32 tensor `(batch, target_time)`.
    """
    # log p, log q: (batch, target_time, vocabulary)
    one, other = (ops.log_softmax(ops.cast(each, "float32"), axis=-1) for each in (logits, others))
    return 0.5 * ops.sum((ops.exp(one) - ops.exp(other)) * (one - other), axis=-1)
