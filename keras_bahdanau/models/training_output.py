"""Record that a model returns in training, and the losses that a model adds to its own."""

from typing import Any, NamedTuple

from keras import ops

from keras_bahdanau.models.ctc_loss import batch_ctc_loss
from keras_bahdanau.models.losses import TokenCrossentropy, guided_alignment, layer_losses

_MISUSE = (
    "A TrainingOutput, of model(inputs, training=True), holds the readout of a Seq2Seq, and is no "
    "tensor of logits. Take model.logits(output), or the loss by model.compute_loss(x, y, output)."
)


class TrainingOutput(NamedTuple):
    """Result of `Seq2Seq` with `training=True`: all that the loss needs of the call, or ().

    The logits, the largest tensor of a training step, are not among the fields: `Seq2Seq.logits`
    makes them from the readout, `(passes, batch, target_time, readout_units)`, of a `HardDecoder`
    log-probabilities. `passes` is 2 with R-Drop, otherwise 1.
    """

    readout: Any  # the input of the output layer
    weights: Any = ()  # (passes, batch, target_time, source_time), of the attention
    alignment: Any = ()  # (batch, target_time, source_time), to agree with
    ctc_logits: Any = ()  # (passes, batch, source_time, vocabulary), of the memory
    mask: Any = ()  # bool (passes, batch, source_time), of the memory, for CTC
    copying: Any = ()  # `Copying` of tensors (passes, batch, ...)

    def _refuse(self, *args, **kwargs):
        """Raise TypeError where a tensor is wanted."""
        raise TypeError(_MISUSE)

    __getitem__ = __array__ = __tf_tensor__ = __neg__ = __matmul__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    _keras_mask = property(_refuse)  # which a loss of Keras asks for first

    def __getattr__(self, name):
        if name.startswith("_"):  # Python and Keras ask if a method is there
            raise AttributeError(name)
        raise AttributeError(_MISUSE)


def is_tensor(field):
    """True for a tensor, False for ()."""
    return not isinstance(field, tuple)


def refuse_logits(y_pred):
    """Raise an error where logits would leave out R-Drop's second pass, or another loss."""
    raise ValueError(
        "In training, the loss of a model with `r_drop`, `guided_alignment`, "
        "`word_distillation` or `ctc_weight` must get the `TrainingOutput` of the call. "
        f"Received: y_pred of type {type(y_pred).__name__}. "
        "Hand over what the model gives with training=True, or take the loss with training=False."
    )


def add_training_losses(model, loss, x, y, output, sample_weight):
    """`loss`, of the decoder's tokens, with the losses that the model's weights ask for.

    (1 - w) ((1 - s) tokens + s teacher) + w CTC, plus guided alignment; each reduced as the loss.
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
    """A loss with the share of another one, whose weighted sum over tokens is the total."""
    losses = [reduction_of(model.loss).loss_of_total(total, weight), *layer_losses(model)]
    return (1 - share) * loss + share * ops.sum(ops.stack(losses))


def reduction_of(loss):
    """The loss whose mean, over tokens or sentences, added losses have."""
    return loss if isinstance(loss, TokenCrossentropy) else TokenCrossentropy()


def token_weights(y, sample_weight):
    """The weights of target tokens, from theirs or from sentences', for all tokens but padding."""
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
