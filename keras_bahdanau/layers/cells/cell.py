"""Base classes of the recurrent cells, with a two-part step and one dropout mask per sentence."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.registry import CompositeLayer, untrack_sublayer
from keras_bahdanau.settings import checks


class Cell(CompositeLayer):
    """Base class of the cells, with the interface that encoders and decoders use.

    In training, a decoder knows the target tokens beforehand, so `project`, the part that does not
    need the state, runs once for all steps, and only `step` runs in the loop. The context, which is
    known only inside the loop, is a separate argument of `step`.

    Subclasses define `state_sizes`, a tuple of the widths of the states (for a stack, a tuple of
    such tuples), and `output_units`, and implement `build` and `step`. Invalid arguments raise
    ValueError.

    Call arguments:
        inputs: Float tensor `(batch, [beam,] input_units)`.
        states: Float tensors `(batch, [beam,] size)`, structured like `state_sizes`.
        context: Float tensor `(batch, [beam,] context_units)` for a cell built with a
            `context_shape`, else None.
        training: Python bool. True to apply dropout; each call draws a new mask.

    Output:
        `(output, states)`: the output, `(batch, [beam,] output_units)`, and the new states.

    `keras.layers.RNN(cell)` runs the cell like a Keras cell; recurrent dropout then draws a new
    mask at each step.
    """

    # the names that `keras.layers.RNN` expects
    state_size = property(lambda self: self.state_sizes)
    output_size = property(lambda self: self.output_units)

    def get_initial_state(self, batch_size=None):
        """Return zero states, a list of tensors `(batch, size)`, or for a stack a list of lists."""
        return [ops.zeros((batch_size, size), self.compute_dtype) for size in self.state_sizes]

    def project(self, inputs):
        """Project the inputs, without the state: `(..., input_units)` -> `(..., any width)`."""
        return inputs

    def step(self, projected, states, context=None, dropout_masks=()):
        """Compute one step from the result of `project`; return `(output, new states)`."""
        raise NotImplementedError

    def sequence(self, projected, states, dropout_masks=(), steps=None):
        """Return the outputs `(batch, time, output_units)` for the projected inputs of all steps.

        Computes only the first `steps` steps (int32 scalar), or all steps if it is None.
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
        """Return the vector `(batch, [beam,] units)` that the last step added: s_i, or a key."""
        return states[0]

    def truncate_cache(self, states, steps):
        """Return smaller initial states that give the same outputs for at most `steps` steps."""
        return states

    def dropout_masks(self, batch, training):
        """Return dropout masks for a sentence, shared by all steps; () if there is no dropout."""
        return ()

    def call(self, inputs, states, context=None, training=None):
        dropout_masks = self.dropout_masks(ops.shape(inputs)[0], training)
        output, after = self.step(self.project(inputs), states, context, dropout_masks)
        # `keras.layers.RNN` passes a list, and on JAX its loop expects a list back
        return output, tree.pack_sequence_as(states, tree.flatten(after))


class ProjectedCell(Cell):
    """Base class of cells that compute `gates` blocks of `units` columns in one matrix product.

    Subclasses set `gates` and `state_count`, and implement `move`.
    """

    gates = 1  # number of blocks computed from the inputs
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
        """Return a new dense layer: `(..., any width)` -> `(..., gates * units)`."""
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
        """Compute W x + b: `(..., input_units)` -> `(..., gates * units)`."""
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
        """Return `(output, new states)`; `projected` is W x + b, plus C c if there is a context."""
        raise NotImplementedError

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": self.kernel_initializer,
        }


def initializer_config(initializer):
    """Return the config of an initializer, so that each layer draws its own values."""
    return keras.initializers.serialize(keras.initializers.get(initializer))
