"""Base of the recurrent cells: one step in two parts, and the dropout masks of a sentence."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.registry import CompositeLayer, untrack_sublayer
from keras_bahdanau.settings import checks


class Cell(CompositeLayer):
    """Base of the cells: the interface of encoders and decoders.

    In training a decoder knows the teacher's tokens beforehand, so `project` (the part without the
    state) runs once for all steps, and only `step` stays in the loop. The context, known only in
    the loop, is a second input of `step`.

    Subclasses have `state_sizes`, a tuple of the widths of the states (of a stack: of such tuples),
    and `output_units`, and write `build` and `step`. Arguments that are not as documented raise
    ValueError.

    Call arguments:
        inputs: Float tensor `(batch, [beam,] input_units)`.
        states: Structure of float tensors `(batch, [beam,] size)`, that of `state_sizes`.
        context: Float tensor `(batch, [beam,] context_units)` for a cell built with a
            `context_shape`, else None.
        training: Python bool. True to drop; a new mask each call.

    Output:
        `(output, states)`: the output, `(batch, [beam,] output_units)`, and the new states.

    `keras.layers.RNN(cell)` runs a cell as one of Keras' own; its recurrent dropout then draws a
    new mask at each step.
    """

    # the names of `keras.layers.RNN`
    state_size = property(lambda self: self.state_sizes)
    output_size = property(lambda self: self.output_units)

    def get_initial_state(self, batch_size=None):
        """Zeros as states: a list of tensors `(batch, size)`, of a stack of such lists."""
        return [ops.zeros((batch_size, size), self.compute_dtype) for size in self.state_sizes]

    def project(self, inputs):
        """Product of the inputs alone, `(..., input_units)` -> `(..., any width)`."""
        return inputs

    def step(self, projected, states, context=None, dropout_masks=()):
        """`(output, states)` from the result of `project`."""
        raise NotImplementedError

    def sequence(self, projected, states, dropout_masks=(), steps=None):
        """Outputs `(batch, time, output_units)` from the projected inputs of all steps.

        Only the first `steps` count (int32 scalar; None for all).
        """
        batch = ops.shape(projected)[0]
        return scan(
            lambda states, x: self.step(x, states, dropout_masks=dropout_masks),
            states,
            projected,
            template=ops.zeros((batch, self.output_units), self.compute_dtype),
            steps=steps,
        )

    def newest(self, states):
        """Vector `(batch, [beam,] units)` that a step adds: s_i; in self-attention another."""
        return states[0]

    def truncate_cache(self, states, steps):
        """First states for `steps` steps at most, with the same outputs, but less to carry."""
        return states

    def dropout_masks(self, batch, training):
        """Dropout masks of a sentence, the same at all its steps; () for none."""
        return ()

    def call(self, inputs, states, context=None, training=None):
        dropout_masks = self.dropout_masks(ops.shape(inputs)[0], training)
        output, after = self.step(self.project(inputs), states, context, dropout_masks)
        # a list of states in `keras.layers.RNN`, which a loop on JAX wants back as a list
        return output, tree.pack_sequence_as(states, tree.flatten(after))


class ProjectedCell(Cell):
    """Base of the cells whose `gates` are blocks of `units`, side by side: one product for all.

    Subclasses set `gates` and `state_count`, and write `move`.
    """

    gates = 1  # blocks from the inputs
    state_count = 1  # the first state is the output

    def __init__(self, units, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the state", units)
        self.kernel_initializer = initializer_config(kernel_initializer)
        self.input_projection = self.projection(
            "input_projection", self.gates, self.kernel_initializer
        )
        self.context_projection = self.projection(
            "context_projection", self.gates, self.kernel_initializer, use_bias=False
        )

    def projection(self, name, gates, initializer, use_bias=True):
        """New layer of one product: `(..., any width)` -> `(..., gates * units)`."""
        return keras.layers.Dense(
            gates * self.units,
            use_bias=use_bias,
            kernel_initializer=initializer,
            dtype=self.dtype_policy,
            name=name,
        )

    @property
    def state_sizes(self):
        return (self.units,) * self.state_count

    @property
    def output_units(self):
        return self.units

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        self.input_projection.build(inputs_shape)
        if context_shape is None:
            untrack_sublayer(self, self.context_projection)
        else:
            self.context_projection.build(context_shape)

    def project(self, inputs):
        """W x + b: `(..., input_units)` -> `(..., gates * units)`."""
        return self.input_projection(inputs)

    def step(self, projected, states, context=None, dropout_masks=()):
        if (context is not None) != self.context_projection.built:
            raise ValueError(
                "`context` must be given to a cell that was built with a `context_shape`, "
                f"and to no other. Received: context={context!r}"
            )
        if context is not None:
            # W x + b + C c: (batch, [beam,] gates * units)
            projected = projected + self.context_projection(context)
        return self.move(projected, states, dropout_masks)

    def move(self, projected, states, dropout_masks=()):
        """`(output, states)` from W x + b, and C c if there is a context, and the old states."""
        raise NotImplementedError

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": self.kernel_initializer,
        }


def initializer_config(initializer):
    """Config of an initializer, so that each product draws its own values."""
    return keras.initializers.serialize(keras.initializers.get(initializer))
