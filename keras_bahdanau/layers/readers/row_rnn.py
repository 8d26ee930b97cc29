"""Reader for grids that reads along each row in both directions."""

import keras
from keras import ops

from keras_bahdanau.layers.memory import first_value, last_value
from keras_bahdanau.layers.readers.reader import state_sizes
from keras_bahdanau.layers.readers.recurrent import BidirectionalRNN, reverse_by_length
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class RowRNN(BidirectionalRNN):
    """Reader that reads each row of a grid in both directions, with learned initial states.

    V~_hw = RNN(V~_h,w-1, V_hw),  V~_h0 learned       (Deng et al. 2017, section 3)

    (The paper is "What you get is what you see: a visual markup decompiler".) Both directions are
    concatenated, so the output is `2 * units` wide. All rows share the RNN, and the initial state
    identifies the row. The inputs are cells in column order. A sequence is a grid with one row.

    `grid_height` is the number of rows. If it is None, an `Encoder` copies it from the front end.
    The other arguments are as in `BidirectionalRNN`.
    """

    def __init__(self, units, cell="gru", recurrent_dropout=0.0, grid_height=None, **kwargs):
        super().__init__(units, cell, recurrent_dropout, **kwargs)
        if grid_height is not None:
            checks.positive_integer("grid_height", "the rows of a grid", grid_height)
        self.grid_height = grid_height

    def build(self, inputs_shape, lengths_shape=None):
        self.grid_height = self.grid_height or 1
        for layer in (self.forward_layer, self.backward_layer):
            layer.build(inputs_shape)
        self.initial_states = [
            [
                self.add_weight(name=f"{layer.name}_{index}", shape=(self.grid_height, size))
                for index, size in enumerate(state_sizes(layer))
            ]
            for layer in (self.forward_layer, self.backward_layer)
        ]

    def call(self, inputs, lengths, training=None):
        rows = self._rows(inputs)  # -> (batch * grid_height, columns, input_units)
        lengths = self._row_lengths(lengths)
        forward, backward = (
            [ops.tile(state, (ops.shape(inputs)[0], 1)) for state in states]
            for states in self.initial_states
        )
        # reversed: (batch * grid_height, columns, units)
        turned = self.backward_layer(
            reverse_by_length(rows, lengths), initial_state=backward, training=training
        )
        values = ops.concatenate(
            [
                self.forward_layer(rows, initial_state=forward, training=training),
                reverse_by_length(turned, lengths),
            ],
            axis=-1,
        )
        grid = ops.reshape(values, (-1, self.grid_height, *ops.shape(values)[1:]))
        # (batch, grid_height, columns, 2 * units) -> (batch, time, 2 * units)
        grid = ops.transpose(grid, (0, 2, 1, 3))
        return ops.reshape(grid, (*ops.shape(inputs)[:2], self.output_units))

    def last(self, values, mask):
        """Return the mean over rows of both directions' last states, `(batch, output_units)`."""
        forward = last_value(self._rows(values)[..., : self.units], self._row_mask(mask))
        return ops.concatenate([self._mean(forward), self.first_backward(values, mask)], axis=-1)

    def first_backward(self, values, mask):
        """Return the mean over rows of the backward states at the first cell, `(batch, units)`."""
        first = first_value(self._rows(values)[..., self.units :], self._row_mask(mask))
        return self._mean(first)

    def _rows(self, cells):
        """Reshape cells `(batch, time, units)` to `(batch * grid_height, columns, units)`."""
        batch, time = ops.shape(cells)[0], ops.shape(cells)[1]
        columns, units = time // self.grid_height, cells.shape[-1]
        grid = ops.reshape(cells, (batch, columns, self.grid_height, units))
        grid = ops.transpose(grid, (0, 2, 1, 3))
        return ops.reshape(grid, (batch * self.grid_height, columns, units))

    def _row_mask(self, mask):
        """Reshape a mask `(batch, time)` to `(batch * grid_height, columns)`."""
        return self._rows(ops.expand_dims(mask, axis=-1))[..., 0]

    def _row_lengths(self, lengths):
        """Return the number of real cells in each row, int32 `(batch * grid_height,)`."""
        before = ops.arange(self.grid_height, dtype="int32")  # number of cells above each row
        behind = ops.maximum(ops.expand_dims(lengths, axis=1) - before, 0)
        return ops.reshape(-(-behind // self.grid_height), (-1,))

    def _mean(self, states):
        """Average states `(batch * grid_height, units)` over rows, to `(batch, units)`."""
        return ops.mean(ops.reshape(states, (-1, self.grid_height, self.units)), axis=1)

    def get_config(self):
        return {**super().get_config(), "grid_height": self.grid_height}
