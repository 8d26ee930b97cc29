"""Causal self-attention as a cell, with a state that contains the previous steps."""

import numbers

import keras
from keras import ops

from keras_bahdanau.layers.cells.cell import Cell
from keras_bahdanau.layers.rules import check_layer, head_rules
from keras_bahdanau.layers.sublayers import dot_product_attention
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.limits import MOST_OF_A_STATE


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class SelfAttentionCell(Cell):
    """Cell that applies self-attention to the last steps, as in a Transformer decoder.

    q, k, v = W_q x, W_k x, W_v x
    head    = softmax(q K^T / sqrt(d)) V      K, V: the keys and values of the last `length` steps
    output  = W_o [head_1; ...; head_n]       (Vaswani et al. 2017, sections 3.2.1 to 3.2.3)

    The cell has three states of fixed shape, initialized to zeros: a buffer of keys and a buffer of
    values, each `length * units` wide with the newest step last, and `length` flags, which are 1
    for steps that have been written. The softmax is computed in float32. Raises ValueError if
    `heads` does not divide `units`, or if the buffers are too large.
    """

    def __init__(self, units, heads=4, length=128, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the output", units)
        self.heads = checks.positive_integer("heads", "the number of heads", heads)
        self.length = checks.positive_integer("length", "the steps of a buffer", length)
        if length * units > MOST_OF_A_STATE:
            raise ValueError(
                f"`length` * `units`, the size of a buffer, must be at most {MOST_OF_A_STATE}. "
                f"Received: length={length}, units={units}. Lower one of them."
            )
        check_layer(head_rules, {"heads": heads, "units": units}, "units")
        policy = {"dtype": self.dtype_policy}
        # [W_q W_k W_v], and W_o
        self.projection = keras.layers.Dense(3 * units, name="projection", **policy)
        self.output_projection = keras.layers.Dense(units, name="output_projection", **policy)

    @property
    def state_sizes(self):
        return (self.length * self.units, self.length * self.units, self.length)

    @property
    def output_units(self):
        return self.units

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        self.projection.build(inputs_shape)
        self.output_projection.build((None, self.units))

    def project(self, inputs):
        """Compute queries, keys and values: `(..., input_units)` -> `(..., 3 * units)`."""
        return self.projection(inputs)

    def step(self, projected, states, context=None, dropout_masks=()):
        axes = ops.shape(projected)[:-1]  # (batch, [beam])
        query, key, value = ops.split(projected, 3, axis=-1)
        keys, values, written = states
        # drop the oldest step: (batch, [beam,] length * units)
        keys = ops.concatenate([keys[..., self.units :], ops.cast(key, keys.dtype)], axis=-1)
        values = ops.concatenate(
            [values[..., self.units :], ops.cast(value, values.dtype)], axis=-1
        )
        written = ops.concatenate([written[..., 1:], ops.ones_like(written[..., :1])], axis=-1)
        length = ops.shape(written)[-1]
        # -> (batch * beam, 1, 1, length)
        real = ops.reshape(written, (-1, 1, 1, length)) > 0
        buffers = (self._heads(buffer, length) for buffer in (keys, values))
        heads = dot_product_attention(
            self._heads(query, 1), *buffers, real
        )  # (batch * beam, heads, 1, width)
        output = ops.reshape(heads, (*axes, self.units))
        return self.output_projection(output), (keys, values, written)

    def sequence(self, projected, states, dropout_masks=(), steps=None):
        """Return the outputs of all steps; the initial states must be zeros."""
        time = ops.shape(projected)[1]
        query, key, value = ops.split(projected, 3, axis=-1)
        positions = ops.arange(time, dtype="int32")
        distance = ops.expand_dims(positions, axis=1) - positions  # -> (time, time)
        real = ops.logical_and(distance >= 0, distance < self.length)
        heads = dot_product_attention(
            *(self._heads(each, time) for each in (query, key, value)), real
        )
        # (batch, heads, time, width) -> (batch, time, units)
        output = ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), ops.shape(query))
        return self.output_projection(output)

    def truncate_cache(self, states, steps):
        keys, values, written = states
        known = isinstance(steps, numbers.Integral)
        steps = min(int(steps), self.length) if known else ops.minimum(steps, self.length)
        width = steps * self.units
        return keys[..., -width:], values[..., -width:], written[..., -steps:]

    def newest(self, states):
        """Return the key of the last step, to which later steps attend, or zeros before it."""
        keys, _, _ = states
        return keys[..., -self.units :]

    def _heads(self, vectors, time):
        """Turn `(..., time * units)` or `(batch, time, units)` into `(batch, heads, time, width)`.

        The first form has the time and the units in one axis, as in a buffer.
        """
        width = self.units // self.heads
        split = ops.reshape(vectors, (-1, time, self.heads, width))
        return ops.transpose(split, (0, 2, 1, 3))

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "heads": self.heads,
            "length": self.length,
        }
