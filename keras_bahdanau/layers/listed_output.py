"""The output layer of a few tokens, which each sentence has its own list of."""

from typing import Any, NamedTuple

from keras import ops


class ListedOutput(NamedTuple):
    """Part of an output layer, gathered once per sentence for all steps of a search.

    Attributes:
        kernel: Float tensor `(batch, units, listed)`: the columns of the listed tokens.
        bias: Float tensor `(batch, 1, listed)`, or () of a layer without.
    """

    kernel: Any
    bias: Any = ()


def listed_output(weights, tokens, dtype):
    """Gather the part of an output layer that some tokens have.

    Args:
        weights: `Decoder.output_weights`: kernel, bias or None, and True if the kernel is an
            embedding `(vocabulary, units)`, else it is `(units, vocabulary)`.
        tokens: Int32 tensor `(batch, listed)`, ids.
        dtype: String, the dtype of the readout.

    Returns:
        `ListedOutput`.
    """
    kernel, bias, is_embedding = weights
    if is_embedding:
        # (batch, listed, units) -> (batch, units, listed)
        columns = ops.transpose(ops.take(kernel, tokens, axis=0), (0, 2, 1))
    else:
        # (units, batch, listed) -> (batch, units, listed)
        columns = ops.transpose(ops.take(kernel, tokens, axis=1), (1, 0, 2))
    if bias is not None:
        bias = ops.expand_dims(ops.cast(ops.take(bias, tokens, axis=0), dtype), axis=1)
    return ListedOutput(ops.cast(columns, dtype), () if bias is None else bias)


def listed_logits(readout, output):
    """Float32 logits of the listed tokens alone.

    Args:
        readout: Float tensor `(batch, [beam,] units)`.
        output: `ListedOutput`.

    Returns:
        Float32 tensor `(batch, [beam,] listed)`.
    """
    beam = len(readout.shape) == 3
    if not beam:
        readout = ops.expand_dims(readout, axis=1)
    # (batch, beam, units) x (batch, units, listed)
    logits = ops.matmul(readout, output.kernel)
    if not isinstance(output.bias, tuple):
        logits = logits + output.bias
    logits = ops.cast(logits, "float32")
    return logits if beam else ops.squeeze(logits, axis=1)
