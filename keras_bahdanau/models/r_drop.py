"""R-Drop: two passes with different dropout that should agree (Wu et al. 2021)."""

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
    """`TrainingOutput` with an axis of passes, from one with consecutive passes."""

    def split(tensor):
        return ops.reshape(tensor, (passes, -1, *ops.shape(tensor)[1:]))

    split_output = TrainingOutput(*tree.map_structure(split, tuple(output)))
    if not is_tensor(split_output.alignment):
        return split_output
    return split_output._replace(alignment=split_output.alignment[0])  # the same for every pass


def divergence(logits, second_logits):
    """D = 1/2 (KL(p || q) + KL(q || p)) `(batch, target_time)`, in nats (Wu et al. 2021, eq. 2).

    D = 1/2 sum_k (p_k - q_k) (log p_k - log q_k); logits are `(batch, target_time, vocabulary)`.
    """
    # log p, log q: (batch, target_time, vocabulary)
    log_p, log_q = (
        ops.log_softmax(ops.cast(tensor, "float32"), axis=-1) for tensor in (logits, second_logits)
    )
    return 0.5 * ops.sum((ops.exp(log_p) - ops.exp(log_q)) * (log_p - log_q), axis=-1)


def divergence_of_rows(log_probs, probs):
    """(KL(p || q) or KL(q || p) of each row, gradient of their sum by the row's logits).

    The rows come in turns, p, q, p, q, ... With s = log p - log q the gradient by the logits
    of p is p (s - KL(p || q)) from the first of the two, and p - q from the second.
    """
    # of (rows * 2, vocabulary), both: -> (rows * 2,), (rows * 2, vocabulary)
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
