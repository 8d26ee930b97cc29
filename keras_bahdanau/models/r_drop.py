"""R-Drop: a loss that makes two passes with different dropout agree (Wu et al. 2021)."""

from keras import ops, tree

from keras_bahdanau.models.training_output import TrainingOutput, is_tensor


def repeat_inputs(inputs, passes):
    """Repeat the sentences of a batch for each pass, one pass after another."""
    if passes == 1:
        return inputs
    # (batch, ...) -> (passes * batch, ...)
    return tree.map_structure(
        lambda tensor: ops.concatenate([tensor] * passes, axis=0), tuple(inputs)
    )


def split_passes(output, passes):
    """Return a `TrainingOutput` with an axis of passes, from one with concatenated passes."""

    def split(tensor):
        return ops.reshape(tensor, (passes, -1, *ops.shape(tensor)[1:]))

    split_output = TrainingOutput(*tree.map_structure(split, tuple(output)))
    if not is_tensor(split_output.alignment):
        return split_output
    # the alignment is the same for every pass
    return split_output._replace(alignment=split_output.alignment[0])


def divergence(logits, second_logits):
    """Return D = 1/2 (KL(p || q) + KL(q || p)) in nats, `(batch, target_time)` (Wu et al. 2021).

    D = 1/2 sum_k (p_k - q_k) (log p_k - log q_k). The logits are `(batch, target_time,
    vocabulary)`.
    """
    # log p, log q: (batch, target_time, vocabulary)
    log_p, log_q = (
        ops.log_softmax(ops.cast(tensor, "float32"), axis=-1) for tensor in (logits, second_logits)
    )
    return 0.5 * ops.sum((ops.exp(log_p) - ops.exp(log_q)) * (log_p - log_q), axis=-1)


def divergence_of_rows(log_probs, probs):
    """Return (KL(p || q) or KL(q || p) for each row, gradients of their sum for the row's logits).

    The rows alternate between p and q. With s = log p - log q, the gradient for the logits of p is
    p (s - KL(p || q)) from KL(p || q), plus p - q from KL(q || p).
    """
    # both arguments are (rows * 2, vocabulary) -> (rows * 2,), (rows * 2, vocabulary)
    pairs = (-1, 2, probs.shape[-1])
    both = ops.reshape(log_probs, pairs)  # -> (rows, 2, vocabulary)
    difference = both - _swapped(both)  # s, -s
    probs = ops.reshape(probs, pairs)
    # KL(p || q), KL(q || p): (rows, 2, 1)
    divergences = ops.sum(probs * difference, axis=-1, keepdims=True)
    slopes = probs * (difference - divergences + 1) - _swapped(probs)
    return ops.reshape(divergences, (-1,)), ops.reshape(slopes, (-1, pairs[-1]))


def _swapped(pairs):
    return ops.stack([pairs[:, 1], pairs[:, 0]], axis=1)
