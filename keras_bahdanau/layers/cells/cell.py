"""Base of the recurrent cells: a step in two parts, and one dropout mask per sentence."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.registry import CompositeLayer, untrack_sublayer
from keras_bahdanau.settings import checks


class Cell(CompositeLayer):
    """Base of the cells: the interface of encoders and decoders.

    In training a decoder knows the target tokens beforehand, so `project` (the part without the
    state) runs once for all steps, and only `step` stays in the loop. The context, known only in
    the loop, is a second input of `step`.

    Subclasses define `state_sizes`, a tuple of the widths of the states (for a stack, a tuple of
    such tuples), and `output_units`, and implement `build` and `step`. Invalid arguments raise
    ValueError.

    Call arguments:
        inputs: Float tensor `(batch, [beam,] input_units)`.
        states: Float tensors `(batch, [beam,] size)`, structured like `state_sizes`.
        context: Float tensor `(batch, [beam,] context_units)` for a cell built with a
            `context_shape`, else None.
        training: Python bool. True for dropout; each call draws a new mask.

    Output:
        `(output, states)`: the output, `(batch, [beam,] output_units)`, and the new states.

    `keras.layers.RNN(cell)` runs it like a Keras cell; its recurrent dropout then draws a new mask
    at each step.
    """

    # names that `keras.layers.RNN` uses
    state_size = property(lambda self: self.state_sizes)
    output_size = property(lambda self: self.output_units)

    def get_initial_state(self, batch_size=None):
        """Zero states: a list of tensors `(batch, size)`; for a stack, a list of such lists."""
        return [ops.zeros((batch_size, size), self.compute_dtype) for size in self.state_sizes]

    def project(self, inputs):
        """Project the inputs, without the state: `(..., input_units)` -> `(..., any width)`."""
        return inputs

    def step(self, projected, states, context=None, dropout_masks=()):
        """`(output, new states)` from the result of `project`."""
        raise NotImplementedError

    def sequence(self, projected, states, dropout_masks=(), steps=None):
        """Outputs `(batch, time, output_units)` from the projected inputs of all steps.

        Computes only the first `steps` (int32 scalar; None for all).
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
        """Vector `(batch, [beam,] units)` added by the last step: s_i, or a key."""
        return states[0]

    def truncate_cache(self, states, steps):
        """Smaller initial states that suffice for `steps` steps, with the same outputs."""
        return states

    def dropout_masks(self, batch, training):
        """Dropout masks of a sentence, the same for all steps; () for none."""
        return ()

    def call(self, inputs, states, context=None, training=None):
        dropout_masks = self.dropout_masks(ops.shape(inputs)[0], training)
        output, after = self.step(self.project(inputs), states, context, dropout_masks)
        # `keras.layers.RNN` passes a list, and a loop on JAX needs a list back
        return output, tree.pack_sequence_as(states, tree.flatten(after))


class ProjectedCell(Cell):
    """Base of the cells with one product for all `gates`, as adjacent blocks of `units`.

    Subclasses set `gates` and `state_count`, and implement `move`.
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
        """New dense layer: `(..., any width)` -> `(..., gates * units)`."""
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
                "`context` must be given if and only if the cell was built with a "
                f"`context_shape`. Received: context={context!r}"
            )
        if context is not None:
            # W x + b + C c: (batch, [beam,] gates * units)
            projected = projected + self.context_projection(context)
        return self.move(projected, states, dropout_masks)

    def move(self, projected, states, dropout_masks=()):
        """`(output, new states)` from W x + b, plus C c with a context, and the old states."""
        raise NotImplementedError

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": self.kernel_initializer,
        }


def initializer_config(initializer):
    """Config of an initializer, so that each layer draws its own values."""
    return keras.initializers.serialize(keras.initializers.get(initializer))
