"""The loop over time, once."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.step_seed import LoopDraws

STEPS_AT_ONCE = 4  # of a loop on a GPU, which starts the work of a pass anew


def scan(step, state, inputs, like, steps=None):
    """Run `step` along time and keep the output of each step.

    Args:
        step: Function `(state, input) -> (output, state)`, the state always of
            the same structure, shapes and dtypes.
        state: The first state: a structure of tensors `(batch, ...)`.
        inputs: Structure of tensors `(batch, time, ...)`, one slice a step.
        like: Structure of tensors with the dtype and shape `(batch, ...)` of one
            step's output; their values are not read.
        steps: Int32 scalar, the number of steps that count: the loop may end there, and
            what the outputs hold behind them means nothing. All steps if left out.

    Returns:
        The outputs: the structure of `like`, of tensors `(batch, time, ...)`.
    """
    outputs, _ = loop(step, state, tree.map_structure(_swap, inputs), like, steps)
    return tree.map_structure(_swap, outputs)


def _swap(tensor):
    """`(batch, time, ...)` <-> `(time, batch, ...)`."""
    return ops.transpose(tensor, (1, 0, *range(2, len(tensor.shape))))


def loop(step, state, inputs, like, steps=None):
    """`scan` along the first axis; the last state comes too: (outputs, state)."""
    if keras.backend.backend() == "tensorflow":
        return _loop_tensorflow(step, state, inputs, like, steps)
    return _loop_scan(step, state, inputs)


def _loop_tensorflow(step, state, inputs, like, steps):
    """`tf.while_loop` over arrays: unlike `keras.ops.scan` it has a gradient under XLA."""
    import tensorflow as tf

    time = ops.shape(tree.flatten(inputs)[0])[0]
    xs = tree.map_structure(
        lambda x: tf.TensorArray(x.dtype, time, element_shape=x.shape[1:]).unstack(x), inputs
    )
    ys = tree.map_structure(
        lambda leaf: tf.TensorArray(leaf.dtype, time, element_shape=leaf.shape), like
    )

    def body(t, state, ys):
        output, state = step(state, tree.map_structure(lambda x: x.read(t), xs))
        return t + 1, state, tree.map_structure(lambda y, leaf: y.write(t, leaf), ys, output)

    _, state, ys = tf.while_loop(
        lambda t, *_: t < (time if steps is None else steps),
        body,
        (tf.constant(0), state, ys),
        maximum_iterations=time,  # XLA needs a bound to keep what the gradient reads
    )
    return tree.map_structure(lambda y: y.stack(), ys), state  # (time, ...)


def _loop_scan(step, state, inputs):
    """`keras.ops.scan`, with new random numbers at each step on JAX, too."""
    draws = LoopDraws()

    def body(carry, x):
        t, state = carry
        with draws.at(t):
            output, state = step(state, x)
        return (t + 1, state), output

    # outputs: (time, ...)
    first = ops.zeros((), "int32"), state
    (_, state), outputs = ops.scan(body, first, inputs, unroll=_steps_at_once())
    draws.end(ops.shape(tree.flatten(inputs)[0])[0])
    return outputs, state


def _steps_at_once():
    """Number of steps in a pass of a loop."""
    if keras.backend.backend() != "jax":
        return 1
    import jax

    return STEPS_AT_ONCE if jax.default_backend() == "gpu" else 1
