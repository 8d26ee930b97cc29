"""Export Keras' recurrent layers with the input projection W x computed before the loop."""

import contextlib
import functools
import math

import keras
from keras import ops

from keras_bahdanau.models.inspection import replaced_methods

LARGEST_IN_PAIRS = 2**16  # weights of U: a runtime packs both copies, which should fit in a cache


@contextlib.contextmanager
def projected_inputs(layers, except_for=()):
    """Inside the block, Keras' recurrent layers compute W x + b before the loop over time.

    Each step then reads only the recurrent weights: half as many bytes if x is as wide as the
    state. If x is less than half as wide, W x stays in the loop. If all outputs are returned, there
    is no mask and the number of steps is even, each iteration computes two steps, because a runtime
    copies all outputs in each iteration.

    Subclasses, stacked cells, cells with a dtype of their own and layers with replaced methods are
    left as they are. `except_for` are classes of cells to skip.
    """
    cells = _STEPS.keys() - {*except_for}
    changed = [
        layer
        for layer in layers
        if type(layer) in _LAYERS and type(layer.cell) in cells and not _is_special(layer)
    ]
    with replaced_methods(
        "inner_loop", [(layer, functools.partial(_inner_loop, layer)) for layer in changed]
    ):
        yield


def _is_special(layer):
    is_patched = "inner_loop" in vars(layer) or "call" in vars(layer.cell)
    return is_patched or layer.compute_dtype != layer.cell.compute_dtype


def _inner_loop(layer, sequences, initial_state, mask, training=False):
    """Return (last output, outputs, states), like `keras.layers.RNN.inner_loop`."""
    cell = layer.cell
    mask = mask[0] if keras.tree.is_nested(mask) else mask
    bias, step = _STEPS[type(cell)](cell)

    def project(inputs):
        projected = ops.matmul(inputs, cell.kernel)
        return projected if bias is None else projected + bias

    inputs = sequences
    if 2 * inputs.shape[2] >= cell.units:
        inputs = project(inputs)  # (batch, time, gates * units)
    else:
        step = _after(project, step)
    in_pairs = mask is None and _is_faster_in_pairs(layer, inputs.shape[1])
    if in_pairs:
        inputs = ops.reshape(inputs, (-1, inputs.shape[1] // 2, 2 * inputs.shape[2]))
        step = _two_steps(step, layer.go_backwards)
    vars(layer)["cell"] = step  # `RNN.inner_loop` calls `layer.cell`
    try:
        last, outputs, states = keras.layers.RNN.inner_loop(layer, inputs, initial_state, mask)
    finally:
        vars(layer)["cell"] = cell
    if in_pairs:
        last = ops.split(last, 2, axis=-1)[1]
        outputs = ops.reshape(outputs, (-1, sequences.shape[1], cell.units))
    return last, outputs, states


def _is_faster_in_pairs(layer, time):
    is_even = bool(time) and time % 2 == 0
    is_small = math.prod(layer.cell.recurrent_kernel.shape) <= LARGEST_IN_PAIRS
    return layer.return_sequences and not layer.unroll and is_even and is_small


def _after(project, step):
    return lambda inputs, states: step(project(inputs), states)


def _two_steps(step, go_backwards):
    """Return a step that computes two steps, with their inputs and outputs concatenated."""

    def both(inputs, states):
        first, second = ops.split(inputs, 2, axis=-1)
        if go_backwards:  # the loop reverses the pairs, but not the steps inside a pair
            first, second = second, first
        one, states = step(first, states)
        two, states = step(second, states)
        return ops.concatenate([one, two], axis=-1), states

    return both


def _simple(cell):
    def step(projected, states):
        h = cell.activation(projected + ops.matmul(states[0], cell.recurrent_kernel))
        return h, [h]

    return cell.bias, step


def _gru(cell):
    bias, recurrent_bias = cell.bias, None
    if cell.use_bias and cell.reset_after:
        bias, recurrent_bias = cell.bias[0], cell.bias[1]
    if not cell.reset_after:
        gates, candidate = ops.split(cell.recurrent_kernel, [2 * cell.units], axis=-1)

    def step(projected, states):
        (h,) = states
        x_z, x_r, x_g = ops.split(projected, 3, axis=-1)
        if cell.reset_after:
            recurrent = ops.matmul(h, cell.recurrent_kernel)
            recurrent = recurrent if recurrent_bias is None else recurrent + recurrent_bias
            u_z, u_r, u_g = ops.split(recurrent, 3, axis=-1)
        else:
            u_z, u_r = ops.split(ops.matmul(h, gates), 2, axis=-1)
        z, r = cell.recurrent_activation(x_z + u_z), cell.recurrent_activation(x_r + u_r)
        u_g = r * u_g if cell.reset_after else ops.matmul(r * h, candidate)
        h = z * h + (1 - z) * cell.activation(x_g + u_g)
        return h, [h]

    return bias, step


def _lstm(cell):
    def step(projected, states):
        h, c = states
        gates = projected + ops.matmul(h, cell.recurrent_kernel)
        i, f, g, o = ops.split(gates, 4, axis=-1)
        i, f, o = (cell.recurrent_activation(gate) for gate in (i, f, o))
        c = f * c + i * cell.activation(g)
        h = o * cell.activation(c)
        return h, [h, c]

    return cell.bias, step


_LAYERS = keras.layers.RNN, keras.layers.SimpleRNN, keras.layers.GRU, keras.layers.LSTM
_STEPS = {  # functions that return (bias of W x, step for W x + bias)
    keras.layers.SimpleRNNCell: _simple,
    keras.layers.GRUCell: _gru,
    keras.layers.LSTMCell: _lstm,
}
