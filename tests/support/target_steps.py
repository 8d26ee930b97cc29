"""Run a decoder cell over a target step by step and in one call; results must be equal."""

import tensorflow as tf


def stepwise(cell, inputs, prepared):
    """Return output, context and weights of single steps, concatenated: `(batch, time, ...)`."""
    state, steps = cell.initial_state(prepared), []
    for t in range(inputs.shape[1]):
        shown, state = cell(inputs[:, t], state, prepared)
        steps.append(side_by_side(shown))
    return tf.stack(steps, axis=1)


def at_once(cell, inputs, prepared):
    """Return output, context and weights of the whole target in one call, concatenated."""
    shown = cell.teacher_forced(inputs, prepared, return_weights=True)
    return side_by_side(shown)


def side_by_side(shown):
    """Concatenate output, context and weights; the weights are float32 under every policy."""
    return tf.concat([tf.cast(each, shown.output.dtype) for each in shown[:3]], axis=-1)
