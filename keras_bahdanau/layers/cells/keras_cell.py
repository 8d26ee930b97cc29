"""Any cell of Keras as one of ours, and the cells by name."""

import keras
from keras import ops

from keras_bahdanau.layers import names
from keras_bahdanau.layers.cells.cell import Cell
from keras_bahdanau.layers.registry import Registry, from_config
from keras_bahdanau.settings import checks


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class KerasCell(Cell):
    """Any cell of `keras.layers.RNN`: one of Keras' own, or a user's.

    It does all its work in one call, so nothing is projected beforehand: a cell of ours is faster.
    The context follows the inputs, [x; c]. `cell` is a Keras layer with `state_size` (an integer or
    a flat tuple of them) and `call(inputs, states) -> (output, states)`, or TypeError; its output
    is `output_size` wide, if it has one, or as wide as the first state. Another size, and dropout,
    whose masks Keras draws outside of the cell, raise ValueError. Calls: see `Cell`.
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
        # a loop's states keep their shape and dtype, whatever policy the cell has
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
    """`(batch, beam, units)` -> `(batch * beam, units)`, as Keras' cells know no beam."""
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
            "A Keras cell must be without dropout: `keras.layers.RNN` draws its masks, and there "
            f"is none here. Received: {received}. Take one of our cells with `recurrent_dropout`, "
            "and the decoder's `dropout` for the inputs."
        )


class CellRegistry(Registry):
    """The cells by name; a Keras cell is a pattern, and each call copies it."""

    def get(self, identifier, /, units, recurrent_dropout=0.0, **kwargs):
        """Return the cell of an identifier, of width `units`.

        `identifier` is a name, or a Keras cell, one of ours, or its config: a pattern, of which
        each call makes a new cell. Training drops `recurrent_dropout` of the state, the same at all
        steps; with a Keras cell it raises ValueError, as do an unknown name and another width.
        Anything else raises TypeError.
        """
        if isinstance(identifier, str):
            return self.make(identifier, units, recurrent_dropout=recurrent_dropout, **kwargs)
        pattern = from_config(identifier) if isinstance(identifier, dict) else identifier
        if isinstance(pattern, Cell):
            return _copied(pattern, units, recurrent_dropout, **kwargs)
        KerasCell(pattern)  # refuses what is none before it is copied
        cell = KerasCell(type(pattern).from_config(pattern.get_config()), **kwargs)
        if recurrent_dropout:
            raise ValueError(
                "`recurrent_dropout` must be 0 for a Keras cell, whose products can't be reached "
                f"from outside. Received: recurrent_dropout={recurrent_dropout!r}. "
                f"Use one of {[*self]}."
            )
        if cell.output_units != units:
            raise ValueError(
                "`units` must be the width of the Keras cell's output, "
                f"{cell.output_units}. Received: units={units!r}"
            )
        return cell


def _copied(pattern, units, recurrent_dropout, **kwargs):
    """A new cell with the settings of one of ours."""
    if pattern.output_units != units or recurrent_dropout:
        raise ValueError(
            "A cell that is given whole must have the width `units`, and dropout of its own. "
            f"Received: units={units!r}, recurrent_dropout={recurrent_dropout!r} with a cell of "
            f"width {pattern.output_units}."
        )
    return type(pattern).from_config({**pattern.get_config(), **kwargs})


CELLS = CellRegistry("cell", names.CELLS)
