"""The record that a model returns in training, and the additional training losses."""

from typing import Any, NamedTuple

from keras import ops

from keras_bahdanau.models.ctc_loss import batch_ctc_loss
from keras_bahdanau.models.losses import TokenCrossentropy, guided_alignment, layer_losses

_MISUSE = (
    "A TrainingOutput, from model(inputs, training=True), contains the readout of a Seq2Seq, not "
    "logits. Use model.logits(output), or model.compute_loss(x, y, output) for the loss."
)


class TrainingOutput(NamedTuple):
    """Result of `Seq2Seq` with `training=True`, with the tensors that the loss needs.

    Tensors that are not needed are (). The logits, the largest tensor of a training step, are not
    included: `Seq2Seq.logits` computes them from the readout, which is
    `(passes, batch, target_time, readout_units)`. The readout of a `HardDecoder` is
    log-probabilities. `passes` is 2 with R-Drop, and 1 otherwise.
    """

    readout: Any  # the input of the output layer
    weights: Any = ()  # (passes, batch, target_time, source_time), attention weights
    alignment: Any = ()  # (batch, target_time, source_time), the target of these weights
    ctc_logits: Any = ()  # (passes, batch, source_time, vocabulary)
    mask: Any = ()  # bool (passes, batch, source_time), mask of the memory, for CTC
    copying: Any = ()  # `Copying` of tensors (passes, batch, ...)

    def _refuse(self, *args, **kwargs):
        """Raise TypeError where a tensor is expected."""
        raise TypeError(_MISUSE)

    __getitem__ = __array__ = __tf_tensor__ = __neg__ = __matmul__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    _keras_mask = property(_refuse)  # the first attribute that a Keras loss reads

    def __getattr__(self, name):
        if name.startswith("_"):  # Python and Keras look up optional methods
            raise AttributeError(name)
        raise AttributeError(_MISUSE)


def is_tensor(field):
    """Return True for a tensor, and False for ()."""
    return not isinstance(field, tuple)


def refuse_logits(y_pred):
    """Raise ValueError because logits would omit R-Drop's second pass, or another loss."""
    raise ValueError(
        "In training, the loss of a model with `r_drop`, `guided_alignment`, "
        "`word_distillation` or `ctc_weight` needs the `TrainingOutput` of the call. "
        f"Received: y_pred of type {type(y_pred).__name__}. Pass the output of the model with "
        "training=True, or compute the loss with training=False."
    )


def add_training_losses(model, loss, x, y, output, sample_weight):
    """Return `loss`, the loss of the decoder's tokens, combined with the other training losses.

    The result is (1 - w) ((1 - s) tokens + s teacher) + w CTC, plus guided alignment. All losses
    use the same reduction.
    """
    weight = weight_of(y, sample_weight)
    if model.word_distillation is not None:
        passes = output.readout.shape[0]
        logits = [model.logits(output, index) for index in range(passes)]
        total = model.word_distillation.total(x, logits, weight)
        loss = _mixed(model, loss, total, weight, model.word_distillation.share)
    if is_tensor(output.ctc_logits):
        total = batch_ctc_loss(output.ctc_logits, output.mask, y, weight)
        loss = _mixed(model, loss, total, weight, model.ctc_weight)
    if is_tensor(output.alignment):
        # -> (passes, batch, target_time, source_time)
        alignment = ops.broadcast_to(output.alignment, ops.shape(output.weights))
        loss = loss + model.guided_alignment * guided_alignment(alignment, output.weights)
    return loss


def _mixed(model, loss, total, weight, share):
    """Return (1 - share) times `loss` plus `share` times the loss whose weighted sum is `total`."""
    losses = [reduction_of(model.loss).loss_of_total(total, weight), *layer_losses(model)]
    return (1 - share) * loss + share * ops.sum(ops.stack(losses))


def reduction_of(loss):
    """Return the loss whose mean, over tokens or sentences, additional losses also use."""
    return loss if isinstance(loss, TokenCrossentropy) else TokenCrossentropy()


def token_weights(y, sample_weight):
    """Return weights for target tokens, from weights for tokens or for sentences, 0 at padding."""
    if sample_weight is None:
        return None
    shape = tuple(sample_weight.shape)
    if len(shape) == 1 or (len(shape) == 2 and shape[1] == 1):
        real = ops.cast(ops.not_equal(y, 0), sample_weight.dtype)
        return ops.reshape(sample_weight, (-1, 1)) * real
    sizes = zip(shape, y.shape, strict=False)
    if len(shape) != len(y.shape) or any(None not in pair and pair[0] != pair[1] for pair in sizes):
        raise ValueError(
            "`sample_weight` must have one value per target token, or one per sentence. "
            f"Received: sample_weight.shape={shape} with targets of shape {tuple(y.shape)}."
        )
    return sample_weight


def weight_of(y, sample_weight):
    """Return the weights of the target tokens, all 1 if `sample_weight` is None."""
    return ops.ones(ops.shape(y)) if sample_weight is None else sample_weight
