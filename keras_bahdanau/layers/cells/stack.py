"""Stack of cells."""

import keras

from keras_bahdanau.layers.cells.cell import Cell
from keras_bahdanau.layers.registry import from_config


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class CellStack(Cell):
    """Stack of cells, in which the output of each cell is the input of the next.

    ```python
    stack = CellStack([CELLS.get("gru", 256), CELLS.get("gru", 256)], residual=True)
    stack.build((None, 128), context_shape=(None, 512))
    output, states = stack.step(stack.project(inputs), states, context)
    ```

    Only the first (lowest) cell receives projected inputs and a context. With `residual`, each
    layer except the lowest adds its input to the output of its cell (Wu et al. 2016, section 3.1).
    The states are a tuple with the states of each cell, which are tuples. Raises TypeError if an
    item is not a cell of this package, and ValueError if there are no cells or if `residual` cells
    differ in width. For calls, see `Cell`.
    """

    def __init__(self, cells, residual=False, **kwargs):
        super().__init__(**kwargs)
        self.cells = list(cells)
        self.residual = residual
        wrong_types = [cell for cell in self.cells if not isinstance(cell, Cell)]
        if wrong_types:
            raise TypeError(
                "`cells` must be cells of this package; KerasCell(cell) wraps any Keras "
                f"cell. Received: cells with {wrong_types[0]!r}"
            )
        widths = [cell.output_units for cell in self.cells]
        if not widths:
            raise ValueError("`cells` must contain at least one cell. Received: cells=[]")
        if residual and len(set(widths)) > 1:
            raise ValueError(
                "With `residual`, all cells must have the same width, because their outputs are "
                f"added. Received: cells of widths {widths}. Make them equal, or set "
                "residual=False."
            )

    @property
    def state_sizes(self):
        return tuple(cell.state_sizes for cell in self.cells)

    @property
    def output_units(self):
        return self.cells[-1].output_units

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        if not self.cells[0].built:
            self.cells[0].build(inputs_shape, context_shape=context_shape)
        for below, cell in zip(self.cells, self.cells[1:], strict=False):
            if not cell.built:
                cell.build((None, below.output_units))

    def get_initial_state(self, batch_size=None):
        return [cell.get_initial_state(batch_size) for cell in self.cells]

    def project(self, inputs):
        return self.cells[0].project(inputs)

    def step(self, projected, states, context=None, dropout_masks=()):
        dropout_masks = dropout_masks or ((),) * len(self.cells)
        output, lowest = self.cells[0].step(projected, states[0], context, dropout_masks[0])
        after = [lowest]
        for cell, old, dropped in zip(self.cells[1:], states[1:], dropout_masks[1:], strict=True):
            above, new = cell.step(cell.project(output), old, dropout_masks=dropped)
            output = above + output if self.residual else above
            after.append(new)
        return output, tuple(after)

    def sequence(self, projected, states, dropout_masks=(), steps=None):
        """Return the outputs of all steps, computed layer by layer."""
        dropout_masks = dropout_masks or ((),) * len(self.cells)
        outputs = None
        for cell, first, masks in zip(self.cells, states, dropout_masks, strict=True):
            below, projected = outputs, projected if outputs is None else cell.project(outputs)
            outputs = cell.sequence(projected, first, masks, steps)
            outputs = outputs if below is None or not self.residual else outputs + below
        return outputs

    def truncate_cache(self, states, steps):
        pairs = zip(self.cells, states, strict=True)
        return tuple(cell.truncate_cache(own, steps) for cell, own in pairs)

    def dropout_masks(self, batch, training):
        return tuple(cell.dropout_masks(batch, training) for cell in self.cells)

    def get_config(self):
        cells = [keras.saving.serialize_keras_object(cell) for cell in self.cells]
        return {**super().get_config(), "cells": cells, "residual": self.residual}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "cells": [from_config(cell) for cell in config["cells"]]})
