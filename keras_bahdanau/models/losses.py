"""Losses over tokens, sentences and alignments, and for distillation from a teacher."""

import keras
from keras import ops

from keras_bahdanau.layers.recurrence import loops_without_gradient
from keras_bahdanau.settings import checks

__all__ = ["GuidedAlignment", "SentenceCrossentropy", "TokenCrossentropy"]

SMALLEST_WEIGHT = 1e-7


def float32_logits(y_pred):
    """Return logits in float32.

    Raises ValueError if `y_pred` is the output of a Keras softmax or sigmoid.
    """
    if hasattr(y_pred, "_keras_logits"):
        raise ValueError(
            "`y_pred` must be logits. Received: probabilities from a softmax or sigmoid. Leave out "
            "that activation, or use a loss that expects probabilities, such as "
            "keras.losses.SparseCategoricalCrossentropy()."
        )
    return ops.cast(y_pred, "float32")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class TokenCrossentropy(keras.losses.Loss):
    """Cross-entropy of each target token, in nats, with label smoothing.

    loss = (1 - smoothing) * -log p(y) + smoothing * mean_k -log p(k)

    (Szegedy et al. 2016, section 7.) The mean is over real tokens, since
    `keras_bahdanau.data.batches` gives padding a sample weight of 0. `label_smoothing`, in [0, 1),
    is the probability that is spread evenly over all tokens.

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
                "`label_smoothing`, a probability, must be in [0, 1). "
                f"Received: label_smoothing={label_smoothing!r}"
            )
        self.label_smoothing = label_smoothing

    @property
    def sums_tokens(self):
        """True if the loss can be computed without logits: `call` is not overridden."""
        is_plain = type(self).call is TokenCrossentropy.call
        return is_plain and self.reduction in self._reductions_of_total

    def call(self, y_true, y_pred):
        logits = float32_logits(y_pred)
        # -log p(y): (batch, target_time)
        loss = ops.sparse_categorical_crossentropy(y_true, logits, from_logits=True)
        if not self.label_smoothing:
            return loss
        # mean_k -log p(k): (batch, target_time)
        uniform = ops.logsumexp(logits, axis=-1) - ops.mean(logits, axis=-1)
        return (1 - self.label_smoothing) * loss + self.label_smoothing * uniform

    def loss_of_total(self, total, sample_weight):
        """Return the loss of a batch, a float32 scalar, from the total of `models.output_loss`."""
        if self.reduction == "sum":
            return total
        if self.reduction in ("mean", "sum_over_batch_size"):
            return batch_mean(total / ops.cast(ops.size(sample_weight), total.dtype))
        return batch_mean(ops.divide_no_nan(total, self.count(sample_weight)))

    def count(self, sample_weight):
        """Return the denominator of a batch's mean, a float32 scalar.

        It is also the weight of a part of a batch in the mean over parts.
        """
        return ops.sum(ops.cast(sample_weight, "float32"))

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


def layer_losses(model):
    """Return the losses added by layers and weights, float32 scalars, scaled for replicas."""
    return [batch_mean(ops.sum(loss)) for loss in model.losses]


def batch_mean(value):
    """Return the mean of a batch divided by the number of replicas, as in Keras."""
    return _Identity(name="identity", dtype="float32")(ops.zeros((1,)), ops.reshape(value, (1,)))


class _Identity(keras.losses.Loss):
    """Loss that returns the mean of the predictions."""

    def call(self, y_true, y_pred):
        return y_pred


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class SentenceCrossentropy(TokenCrossentropy):
    """Sum of the token losses of a sentence, averaged over sentences.

    loss = 1/N sum_n sum_i -log p(y_ni)          (Cho et al. 2014, eq. 4)

    Compared with the mean over tokens, the gradient is larger by a factor of the number of tokens
    per sentence. Sentences that contain only padding are not counted. The arguments are as in
    `TokenCrossentropy`.
    """

    _reductions_of_total = ("sum",)

    def __init__(self, label_smoothing=0.0, name="sentence_crossentropy", **kwargs):
        super().__init__(label_smoothing, **{**kwargs, "reduction": "sum", "name": name})

    def __call__(self, y_true, y_pred, sample_weight=None):
        if sample_weight is None:
            sample_weight = ops.ones(ops.shape(y_true), "float32")
        return self.loss_of_total(super().__call__(y_true, y_pred, sample_weight), sample_weight)

    def loss_of_total(self, total, sample_weight):
        return batch_mean(
            total / ops.maximum(ops.cast(self.count(sample_weight), total.dtype), 1.0)
        )

    def count(self, sample_weight):
        real = ops.any(ops.greater(sample_weight, 0), axis=1)  # -> (batch,)
        return ops.sum(ops.cast(real, "float32"))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GuidedAlignment(keras.losses.Loss):
    """Cross-entropy between known alignments and attention weights.

    loss = -1/|rows| sum_i sum_j given_ij log alpha_ij

    The sum is over the target tokens i that are linked to at least one source token (Chen et al.
    2016, "Guided Alignment Training"; Mi et al. 2016, "Supervised Attentions"). Weights below 1e-7
    count as 1e-7 and have no gradient.

    `y_true` and `y_pred` are float `(batch, target_time, source_time)`. The rows of `y_true` sum to
    1, or are 0 for a token without links (see `keras_bahdanau.data.BatchedPairs`). `y_pred` are the
    attention weights. `sample_weight` is `(batch, target_time)`, or None.
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


def guided_alignment(alignment, weights):
    """Return a batch's mean `GuidedAlignment` loss, a float32 scalar; 0 if there are no links."""
    return GuidedAlignment(dtype="float32")(alignment, weights)


class WordDistillation:
    """Word-level knowledge distillation: a student learns a teacher's distribution of each token.

    loss_i = -sum_k q(k | y_1 ... y_{i-1}, x) log p(k | y_1 ... y_{i-1}, x)

    where q is the distribution of the teacher and p that of the student, and both read the true
    tokens (Kim and Rush 2016, section 3.1, L_WORD-KD). The teacher, a `Seq2Seq` or an `Ensemble`,
    runs without dropout and is not trained. The loss of the student is (1 - share) times its token
    loss plus `share` times this loss; `share` is from 0 to 1. Raises ValueError if the vocabularies
    of teacher and student differ.

    Example:
        >>> student.word_distillation = WordDistillation(teacher, 0.8)
        >>> student.fit(data.batches(pairs, source, target), epochs=10)
    """

    def __init__(self, teacher, share):
        self.teacher = teacher
        self.share = checks.fraction("share", "the share of a teacher's loss", share)

    def check(self, student):
        """Raise ValueError if a `Seq2Seq` can't learn from this teacher."""
        sizes = [
            (model.source_limits.size, model.target_vocabulary_size)
            for model in (self.teacher, student)
        ]
        if sizes[0] != sizes[1]:
            raise ValueError(
                "Teacher and student must have the same vocabularies. Received: (source, target) "
                f"sizes {sizes[0]} for the teacher, and {sizes[1]} for the student. Train both "
                "with the same vocabularies."
            )

    def total(self, inputs, logits, weight):
        """Return the weighted sum of a batch's losses, averaged over passes, as a float32 scalar.

        `weight` is `(batch, target_time)`. `logits` is a list with one tensor
        `(batch, target_time, vocabulary)` for each pass.
        """
        if inputs is None:
            raise ValueError(
                "A teacher reads the inputs of its student. Received: compute_loss(x=None) of a "
                "model with `word_distillation`. Pass the inputs to compute_loss."
            )
        with loops_without_gradient():
            teacher_logits = self.teacher(tuple(inputs[:2]), training=False)
        # q: (batch, target_time, vocabulary)
        probs = ops.stop_gradient(ops.softmax(ops.cast(teacher_logits, "float32"), axis=-1))
        log_probs = sum(
            ops.log_softmax(ops.cast(student_logits, "float32"), axis=-1)
            for student_logits in logits
        )
        losses = -ops.sum(probs * log_probs, axis=-1) / len(logits)  # -> (batch, target_time)
        return ops.sum(ops.cast(weight, "float32") * losses)
