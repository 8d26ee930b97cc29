"""Record that a model returns in training, for its loss and its metrics."""

from typing import Any, NamedTuple

from keras import ops, tree


class TrainingOutput(NamedTuple):
    """Result of `Seq2Seq` with `training=True`: all that the loss needs of the call.

    The logits `(batch, target_time, vocabulary)` are the largest tensor of a training step,
    and the loss can do without them, so they are not among the fields: `Seq2Seq.logits`
    makes them. `passes` is 2 with R-Drop, otherwise 1.

    Attributes:
        readout: Float tensor `(passes, batch, target_time, readout_units)`, the input of
            the output layer; of a `HardDecoder` log-probabilities, as wide as the vocabulary.
        weights: Float tensor `(passes, batch, target_time, source_time)`, the attention
            weights, if they were requested or guide the attention, otherwise ().
        alignment: Float tensor like one pass of `weights`, the alignment that the weights
            shall agree with, or ().
        ctc_logits: Float tensor `(passes, batch, source_time, vocabulary)`, of the encoder's
            values, for the CTC loss, or ().
        mask: Bool tensor `(passes, batch, source_time)`, True where these values are real, or ().
        copying: `Copying` of tensors `(passes, batch, ...)`, by which the decoder copies
            tokens of the source, or ().
    """

    readout: Any
    weights: Any = ()
    alignment: Any = ()
    ctc_logits: Any = ()
    mask: Any = ()
    copying: Any = ()


def given(tensor):
    """True for a tensor, False for the () that stands for none."""
    return not isinstance(tensor, tuple)


def split_passes(output, passes):
    """`TrainingOutput` with an axis of passes, from one whose batches follow each other."""

    def split(one):
        return ops.reshape(one, (passes, -1, *ops.shape(one)[1:]))

    split_output = TrainingOutput(*tree.map_structure(split, tuple(output)))
    if not given(split_output.alignment):
        return split_output
    return split_output._replace(alignment=split_output.alignment[0])  # the same for every pass


def refuse_logits(y_pred):
    """Raise an error where logits would leave out R-Drop's second pass, or another loss."""
    raise ValueError(
        "In training, the loss of a model with `r_drop`, `guided_alignment`, "
        "`word_distillation` or `ctc_weight` must get the `TrainingOutput` of the call. "
        f"Received: y_pred of type {type(y_pred).__name__}. "
        "Hand over what the model gives with training=True, or take the loss with training=False."
    )
