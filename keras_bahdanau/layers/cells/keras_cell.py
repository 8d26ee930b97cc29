"""Adapter for Keras cells, and the registry of cells by name."""

import keras
from keras import ops

from keras_bahdanau.layers import names
from keras_bahdanau.layers.cells.cell import Cell
from keras_bahdanau.layers.registry import Registry, from_config
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class KerasCell(Cell):
    """Adapter for any cell that `keras.layers.RNN` accepts, built-in or custom.

    A Keras cell computes everything in one call, so nothing can be projected beforehand, which
    makes it slower than the cells of this package. The context is appended to the inputs: [x; c].
    `cell` must be a Keras layer with `state_size` (an integer or a flat tuple) and
    `call(inputs, states) -> (output, states)`. The width of its output is `output_size`, if set, or
    the width of the first state. Raises TypeError for any other object, and ValueError for invalid
    sizes or for a cell with dropout, because Keras draws its masks outside of the cell. For calls,
    see `Cell`.
    """

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        is_cell = isinstance(cell, keras.layers.Layer) and hasattr(cell, "state_size")
        if not is_cell or isinstance(cell, keras.layers.RNN):
            raise TypeError(
                "`cell` must be a Keras layer with a `state_size`, such as "
                f"keras.layers.GRUCell(256). Received: cell={cell!r}"
            )
        _check_no_dropout(cell)
        self.cell = cell
        self.state_sizes = _sizes("state_size", cell.state_size)
        size = getattr(cell, "output_size", None)
        (self.output_units,) = self.state_sizes[:1] if size is None else _sizes("output_size", size)

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        width = inputs_shape[-1] + (0 if context_shape is None else context_shape[-1])
        if not self.cell.built:
            self.cell.build((None, width))

    def get_initial_state(self, batch_size=None):
        if not hasattr(self.cell, "get_initial_state"):
            return super().get_initial_state(batch_size)
        return keras.tree.flatten(self.cell.get_initial_state(batch_size=batch_size))

    def step(self, projected, states, context=None, dropout_masks=()):
        # [x; c]: (batch, [beam,] input_units + context_units)
        inputs = projected if context is None else ops.concatenate([projected, context], axis=-1)
        axes = ops.shape(inputs)[:-1]
        output, after = self.cell(_flat(inputs), [_flat(state) for state in states])
        # states in a loop keep their shape and dtype under any policy
        after = tuple(
            # (batch * beam, size) -> (batch, [beam,] size)
            ops.cast(ops.reshape(new, (*axes, size)), old.dtype)
            for new, old, size in zip(
                keras.tree.flatten(after), states, self.state_sizes, strict=True
            )
        )
        output = ops.cast(ops.reshape(output, (*axes, self.output_units)), self.compute_dtype)
        return output, after

    def get_config(self):
        return {**super().get_config(), "cell": keras.saving.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "cell": from_config(config["cell"])})


def _flat(tensor):
    """Reshape `(batch, beam, units)` to `(batch * beam, units)`: Keras cells have no beam axis."""
    return ops.reshape(tensor, (-1, tensor.shape[-1]))


def _sizes(name, size):
    sizes = tuple(size) if isinstance(size, list | tuple) else (size,)
    return tuple(checks.positive_integer(name, "of the Keras cell", size) for size in sizes)


def _check_no_dropout(cell):
    names = ("dropout", "recurrent_dropout") if hasattr(cell, "reset_dropout_mask") else ()
    shares = {name: getattr(cell, name, 0.0) for name in names}
    if any(shares.values()):
        received = ", ".join(f"{name}={share!r}" for name, share in shares.items())
        raise ValueError(
            "A Keras cell must not use dropout: its masks are created by `keras.layers.RNN`, which "
            f"is not used here. Received: {received}. Use a cell of this package with "
            "`recurrent_dropout`, and the decoder's `dropout` for the inputs."
        )


class CellRegistry(Registry):
    """Registry of the cells by name; a Keras cell is a template that each call copies."""

    def get(self, identifier, /, units, recurrent_dropout=0.0, **kwargs):
        """Return a new cell of width `units` for an identifier.

        `identifier` is a name, or a template: a Keras cell, a cell of this package, or the config
        of either. In training, a fraction `recurrent_dropout` of the state is dropped, the same at
        all steps. Raises ValueError for an unknown name, a template of another width, or
        `recurrent_dropout` with a Keras cell, and TypeError for any other kind of identifier.
        """
        if isinstance(identifier, str):
            return self.make(identifier, units, recurrent_dropout=recurrent_dropout, **kwargs)
        pattern = from_config(identifier) if isinstance(identifier, dict) else identifier
        if isinstance(pattern, Cell):
            return _copied(pattern, units, recurrent_dropout, **kwargs)
        KerasCell(pattern)  # raise an error before copying if it is not a cell
        cell = KerasCell(type(pattern).from_config(pattern.get_config()), **kwargs)
        if recurrent_dropout:
            raise ValueError(
                "`recurrent_dropout` must be 0 for a Keras cell, because its matrix products are "
                f"not accessible. Received: recurrent_dropout={recurrent_dropout!r}. "
                f"Use one of {[*self]}."
            )
        if cell.output_units != units:
            raise ValueError(
                "`units` must equal the width of the Keras cell's output, "
                f"{cell.output_units}. Received: units={units!r}"
            )
        return cell


def _copied(pattern, units, recurrent_dropout, **kwargs):
    """Return a new cell with the settings of `pattern`, a cell of this package."""
    if pattern.output_units != units or recurrent_dropout:
        raise ValueError(
            "A cell layer must be `units` wide, and must set its own `recurrent_dropout`. "
            f"Received: units={units!r}, recurrent_dropout={recurrent_dropout!r} with a cell of "
            f"width {pattern.output_units}."
        )
    return type(pattern).from_config({**pattern.get_config(), **kwargs})


CELLS = CellRegistry("cell", names.CELLS)
