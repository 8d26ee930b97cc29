"""Losses that a model adds to its own in training, each reduced as that one is."""

from keras import ops

from keras_bahdanau.models.ctc_loss import batch_ctc_loss
from keras_bahdanau.models.losses import (
    TokenCrossentropy,
    guided_alignment,
    of_layers,
)
from keras_bahdanau.models.training_output import given


def with_added(model, loss, x, y, output, sample_weight):
    """The loss of a batch with those that the model's weights ask for.

    (1 - w) ((1 - s) tokens + s teacher) + w CTC, plus guided alignment; what layers
    and weights add to the loss stays whole.

    Args:
        model: `Seq2Seq`.
        loss: Float32 scalar, the loss of the decoder's tokens.
        x: The inputs, for a teacher that reads them, or None.
        y: Int tensor `(batch, target_time)`.
        output: `TrainingOutput`.
        sample_weight: Float tensor `(batch, target_time)`, or None.

    Returns:
        Float32 scalar.
    """
    weight = weight_of(y, sample_weight)
    if model.word_distillation is not None:
        passes = output.readout.shape[0]
        logits = [model.logits(output, one) for one in range(passes)]
        total = model.word_distillation.total(x, logits, weight)
        loss = _mixed(model, loss, total, weight, model.word_distillation.share)
    if given(output.ctc_logits):
        total = batch_ctc_loss(output.ctc_logits, output.mask, y, weight)
        loss = _mixed(model, loss, total, weight, model.ctc_weight)
    if given(output.alignment):
        # -> (passes, batch, target_time, source_time)
        alignment = ops.broadcast_to(output.alignment, ops.shape(output.weights))
        loss = loss + model.guided_alignment * guided_alignment(alignment, output.weights)
    return loss


def _mixed(model, loss, total, weight, share):
    """A loss with the share of another one, whose weighted sum over tokens is the total."""
    own = [reducing(model.loss).of_total(total, weight), *of_layers(model)]
    return (1 - share) * loss + share * ops.sum(ops.stack(own))


def reducing(loss):
    """The loss whose mean, over tokens or sentences, all that is added to it has."""
    return loss if isinstance(loss, TokenCrossentropy) else TokenCrossentropy()


def token_weights(y, sample_weight):
    """The weights of the target tokens, from those of the tokens or of the sentences.

    Args:
        y: Int tensor `(batch, target_time)`.
        sample_weight: Float tensor `(batch, target_time)`; or `(batch,)` or `(batch, 1)`, a number
            for each sentence, which all of its tokens have but padding, id 0; or None.

    Returns:
        Float tensor `(batch, target_time)`, or None.

    Raises:
        ValueError: If the shape is another one.
    """
    if sample_weight is None:
        return None
    shape = tuple(sample_weight.shape)
    if len(shape) == 1 or (len(shape) == 2 and shape[1] == 1):
        real = ops.cast(ops.not_equal(y, 0), sample_weight.dtype)
        return ops.reshape(sample_weight, (-1, 1)) * real
    sizes = zip(shape, y.shape, strict=False)
    if len(shape) != len(y.shape) or any(None not in pair and pair[0] != pair[1] for pair in sizes):
        raise ValueError(
            "`sample_weight` must be a number for each target token, or one for each sentence. "
            f"Received: sample_weight.shape={shape} with targets of shape {tuple(y.shape)}."
        )
    return sample_weight


def weight_of(y, sample_weight):
    """The weights of the target tokens; 1 where none are given."""
    return ops.ones(ops.shape(y)) if sample_weight is None else sample_weight
