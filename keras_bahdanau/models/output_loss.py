"""Output layer fused with its loss, computed a few rows at a time, without storing all logits."""

from typing import Any, NamedTuple

from keras import ops, tree

from keras_bahdanau.layers.recurrence import loop
from keras_bahdanau.models.r_drop import divergence_of_rows

LOGITS_AT_A_TIME = 2**21  # 8 MB of float32, which stay in a processor's cache
FEWEST_ROWS = 128  # with fewer rows, most of the time goes to summing the kernel's gradients


class OutputLoss(NamedTuple):
    """Loss of a batch."""

    total: Any  # float32 scalar, weighted sum of the token losses, with a gradient
    negative_log_probs: Any  # float32 like the targets, -log p(y), without a gradient


def output_loss(read, kernel, bias, tied, targets, weights, label_smoothing=0.0, r_drop=0.0):
    """Return the cross-entropy of `softmax(read kernel + bias)`, without storing all logits.

    total = sum_i w_i ((1 - smoothing) (log Z_i - l_iy) + smoothing (log Z_i - mean_k l_ik))

    where l_i are the logits of row i, and log Z_i = log sum_k exp(l_ik). This is the sum of
    `TokenCrossentropy`. The gradient of the logits, w (softmax - (1 - smoothing) onehot - smoothing
    / V), is computed in the same pass as its two matrix products, so that all of them stay in the
    cache (Grave et al. 2017).

    With `r_drop`, there are two passes over each sentence, p and q, and

    total = 1/2 sum_i w_i (loss(p_i) + loss(q_i) + r_drop / 2 (KL(p_i || q_i) + KL(q_i || p_i)))

    which is half of eq. 3 of Wu et al. (2021), as large as the loss of a single pass.

    `read` is `(passes, batch, time, units)`. `kernel` is `(units, vocabulary)`, or an embedding
    `(vocabulary, units)` if `tied`. `targets` is int and `weights` float, both `(batch, time)`.
    """
    dtype, shape = read.dtype, ops.shape(targets)
    # copies are tensors: a custom gradient does not accept variables
    variables = [ops.copy(variable) for variable in (kernel, bias) if variable is not None]
    targets = ops.cast(ops.reshape(targets, (-1,)), "int32")  # -> (batch * time,)
    weights = ops.cast(ops.reshape(weights, (-1,)), "float32")

    @ops.custom_gradient
    def summed(read, kernel, bias=None):
        step = _Rows(ops.cast(kernel, dtype), bias, label_smoothing, tied, r_drop)
        # scalar, (batch * time,), and gradients of the shapes of read, kernel, bias
        total, log_probs, gradients = _chunked_loss(step, read, targets, weights)

        def gradient(*args, upstream=None):
            # upstream: (1 + batch * time,); the first element belongs to the total
            upstream = (args[0] if upstream is None else upstream)[0]  # Torch passes it by name
            return tuple(
                ops.cast(ops.cast(upstream, slope.dtype) * slope, tensor.dtype)
                for slope, tensor in zip(gradients, (read, kernel, bias), strict=True)
                if tensor is not None
            )

        # one tensor, since Keras' custom gradient has one output on Torch
        # -> (1 + batch * time,)
        return ops.concatenate([ops.reshape(total, (1,)), log_probs]), gradient

    # (passes, batch, time, units) -> (batch * time, passes, units)
    rows = ops.reshape(read, (2 if r_drop else 1, -1, read.shape[-1]))
    total_first = summed(ops.transpose(rows, (1, 0, 2)), *variables)
    negative = ops.reshape(total_first[1:], shape)  # -> (batch, time)
    return OutputLoss(total_first[0], ops.stop_gradient(negative))


class _Rows:
    """Function that computes the loss and gradients of a few rows `(rows, passes, units)`."""

    def __init__(self, kernel, bias, label_smoothing, tied, r_drop):
        self.kernel, self.bias = kernel, bias
        self.smoothing, self.tied, self.r_drop = label_smoothing, tied, r_drop
        self.vocabulary = kernel.shape[0 if tied else 1]

    def __call__(self, passes, targets, weights):
        """Return (total, negative log-probabilities, gradients of passes, kernel and bias)."""
        shape = (-1, *passes.shape[1:])
        count = passes.shape[1]
        read = ops.reshape(passes, (-1, passes.shape[-1]))  # -> (rows * passes, units)
        # -> (rows * passes,)
        targets, weights = ops.repeat(targets, count), ops.repeat(weights / count, count)
        # l_ik: (rows * passes, vocabulary)
        logits = ops.matmul(read, ops.transpose(self.kernel) if self.tied else self.kernel)
        logits = ops.cast(logits, "float32")
        if self.bias is not None:
            logits = logits + ops.cast(self.bias, "float32")
        # the largest l_ik of a row becomes 0: exp does not overflow, and the softmax is the same
        logits = logits - ops.max(logits, axis=-1, keepdims=True)
        # pairs (row, target): (rows * passes, 2)
        indices = ops.stack([ops.arange(ops.shape(targets)[0], dtype="int32"), targets], axis=-1)
        # l_iy: (rows * passes,)
        target_logits = ops.squeeze(
            ops.take_along_axis(logits, ops.expand_dims(targets, axis=-1), axis=-1), axis=-1
        )
        exponents = ops.exp(logits)
        normalizer = ops.sum(exponents, axis=-1)  # Z_i of these l_ik: (rows * passes,)
        log_normalizer = ops.log(normalizer)
        negative = log_normalizer - target_logits  # -log p(y)
        losses = negative
        if self.smoothing:
            uniform = log_normalizer - ops.mean(logits, axis=-1)
            losses = (1 - self.smoothing) * negative + self.smoothing * uniform

        # w softmax: (rows * passes, vocabulary)
        slopes = exponents * ops.expand_dims(weights / normalizer, axis=-1)
        # w (softmax - (1 - smoothing)) at y: (rows * passes,)
        at_targets = weights * (ops.exp(-negative) - (1 - self.smoothing))
        slopes = ops.scatter_update(slopes, indices, at_targets)
        if self.smoothing:
            slopes = slopes - ops.expand_dims(weights * (self.smoothing / self.vocabulary), axis=-1)
        if self.r_drop:
            log_probs = logits - ops.expand_dims(log_normalizer, axis=-1)
            probs = exponents / ops.expand_dims(normalizer, axis=-1)
            # (rows * passes,), (rows * passes, vocabulary)
            divergences, divergence_slopes = divergence_of_rows(log_probs, probs)
            losses = losses + self.r_drop / 2 * divergences
            factor = ops.expand_dims(self.r_drop / 2 * weights, axis=-1)
            slopes = slopes + factor * divergence_slopes
        read_slopes, *variable_slopes = self._gradients(read, slopes)
        # mean of the passes: (rows,)
        negative = ops.mean(ops.reshape(negative, (-1, count)), axis=1)
        gradients = (ops.reshape(read_slopes, shape), *variable_slopes)
        return ops.sum(weights * losses), negative, gradients

    def _gradients(self, read, slopes):
        low = ops.cast(slopes, read.dtype)
        back = self.kernel if self.tied else ops.transpose(self.kernel)  # -> (vocabulary, units)
        # the product of the pair has the shape of the kernel
        pair = (ops.transpose(low), read) if self.tied else (ops.transpose(read), low)
        bias_slopes = () if self.bias is None else ops.sum(slopes, axis=0)  # -> (vocabulary,)
        return ops.matmul(low, back), ops.cast(ops.matmul(*pair), "float32"), bias_slopes


def _chunked_loss(step, read, targets, weights):
    """Return (total, negative log-probabilities, gradients), computed in chunks of rows."""
    rows, passes = ops.shape(read)[0], read.shape[1]
    # `count` chunks of `size` rows
    count = passes * rows // max(FEWEST_ROWS, LOGITS_AT_A_TIME // step.vocabulary) + 1
    size = -(-rows // count)
    order = ops.arange(count * size, dtype="int32")
    real = ops.cast(order < rows, "float32")
    order = ops.minimum(order, rows - 1)  # the last row is repeated without weight

    def chunked(rows):
        picked = ops.take(rows, order, axis=0)
        # (count * size, ...) -> (count, size, ...)
        return ops.reshape(picked, (count, size, *rows.shape[1:]))

    def body(sums, chunk):
        total, negative, (read_slopes, *slopes) = step(*chunk)
        return (read_slopes, negative), tree.map_structure(ops.add, sums, (total, *slopes))

    zeros = ops.zeros((size,), "float32")
    # (count, size, passes, units), (count, size); the second tuple contains sums
    (read_slopes, negative), (total, kernel_slopes, bias_slopes) = loop(
        body,
        (ops.zeros(()), ops.zeros(step.kernel.shape), _bias_zeros(step.bias)),
        (chunked(read), chunked(targets), chunked(weights) * ops.reshape(real, (count, size))),
        template=(ops.zeros((size, *read.shape[1:]), read.dtype), zeros),
    )
    # -> (batch * time, passes, units)
    read_slopes = ops.reshape(read_slopes, (-1, *read.shape[1:]))[:rows]
    gradients = (read_slopes, kernel_slopes, bias_slopes)
    return total, ops.reshape(negative, (-1,))[:rows], gradients


def _bias_zeros(bias):
    return () if bias is None else ops.zeros(bias.shape)
