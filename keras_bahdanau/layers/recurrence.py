"""The loop over time, once."""

import keras
from keras import ops, tree


def scan(step, state, inputs):
    """Runs `step` along time and keeps every state it went through.

    What shall come out of the loop stands in the state: then the loop has one
    structure only, and search can reorder a state as it is.

    Args:
        step: Function `(state, input) -> state`, of the same structure,
            shapes and dtypes.
        state: The first state: a structure of tensors `(batch, ...)`.
        inputs: Tensor `(batch, time, ...)`, one slice a step.

    Returns:
        The states after each step: the structure of `state`, of tensors
        `(batch, time, ...)`.
    """
    inputs = _swap(inputs)
    if keras.backend.backend() == "tensorflow":
        states = _scan_tensorflow(step, state, inputs)
    else:
        _, states = ops.scan(lambda carry, x: (step(carry, x),) * 2, state, inputs)
    return tree.map_structure(_swap, states)


def _swap(tensor):
    """`(batch, time, ...)` <-> `(time, batch, ...)`."""
    return ops.transpose(tensor, (1, 0, *range(2, len(tensor.shape))))


def _scan_tensorflow(step, state, inputs):
    """`tf.while_loop` over arrays: unlike `keras.ops.scan` it has a gradient under XLA."""
    import tensorflow as tf

    time = tf.shape(inputs)[0]
    xs = tf.TensorArray(inputs.dtype, time, element_shape=inputs.shape[1:]).unstack(inputs)
    ys = tree.map_structure(
        lambda leaf: tf.TensorArray(leaf.dtype, time, element_shape=leaf.shape), state
    )

    def body(t, state, ys):
        state = step(state, xs.read(t))
        return t + 1, state, tree.map_structure(lambda y, leaf: y.write(t, leaf), ys, state)

    _, _, ys = tf.while_loop(
        lambda t, *_: t < time,
        body,
        (tf.constant(0), state, ys),
        maximum_iterations=time,  # XLA needs a bound to keep what the gradient reads
    )
    return tree.map_structure(lambda y: y.stack(), ys)
