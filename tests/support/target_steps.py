"""A target read by a decoder cell in two ways, which must give the same."""

import tensorflow as tf


def stepwise(cell, inputs, prepared):
    """Output, context and weights side by side, step after step: `(batch, time, ...)`."""
    state, steps = cell.initial_state(prepared), []
    for t in range(inputs.shape[1]):
        shown, state = cell(inputs[:, t], state, prepared)
        steps.append(side_by_side(shown))
    return tf.stack(steps, axis=1)


def at_once(cell, inputs, prepared):
    """The same of the whole target."""
    shown = cell.teacher_forced(inputs, prepared, return_weights=True)
    return side_by_side(shown)


def side_by_side(shown):
    """Output, context and weights, of which the last are float32 under every policy."""
    return tf.concat([tf.cast(each, shown.output.dtype) for each in shown[:3]], axis=-1)
