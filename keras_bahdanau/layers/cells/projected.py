"""Base of the cells that project inputs and context to gates, side by side."""

import keras

from keras_bahdanau.layers.cells.cell import Cell
from keras_bahdanau.layers.registry import untrack_sublayer
from keras_bahdanau.settings import checks


class ProjectedCell(Cell):
    """Base of the cells whose gates are blocks of `units`, side by side.

    Each product (W x + b and, if there is a context, C c) gives all gates at once.
    Subclasses set the class attributes and write `move`.

    Args:
        units: Positive integer. Width of each state, and of the output.
        kernel_initializer: A Keras initializer: that of W and C.

    Attributes:
        gates: Number of blocks that come from the inputs.
        state_count: Number of states.

    Raises:
        ValueError: If `units` is not a positive integer.
    """

    gates = 1
    state_count = 1

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
        """A new layer for one product: `(..., any width)` -> `(..., gates * units)`."""
        return keras.layers.Dense(
            gates * self.units,
            use_bias=use_bias,
            kernel_initializer=initializer,
            dtype=self.dtype_policy,
            name=name,
        )

    @property
    def state_sizes(self):
        """Widths of the states."""
        return (self.units,) * self.state_count

    @property
    def output_units(self):
        """Width of the output."""
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
        """`(output, states)` from W x + b, the old states and the context."""
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
    """An initializer written down: each product makes its own, or equal shapes start alike."""
    return keras.initializers.serialize(keras.initializers.get(initializer))
