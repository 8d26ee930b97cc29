"""Recurrent cells in two parts: what the inputs give, and what the state adds."""

from keras_bahdanau import checks
from keras_bahdanau.layers.cells.cell import Cell
from keras_bahdanau.layers.cells.gated import (
    GRUCell,
    LSTMCell,
    RecurrentCell,
    ResetBeforeGRUCell,
    SimpleCell,
)
from keras_bahdanau.layers.cells.keras_cell import KerasCell
from keras_bahdanau.layers.cells.layer_norm import LayerNormGRUCell, LayerNormLSTMCell
from keras_bahdanau.layers.cells.stack import CellStack
from keras_bahdanau.layers.initializers import BlockOrthogonal

__all__ = [
    "CELLS",
    "BlockOrthogonal",
    "Cell",
    "CellStack",
    "GRUCell",
    "KerasCell",
    "LSTMCell",
    "LayerNormGRUCell",
    "LayerNormLSTMCell",
    "RecurrentCell",
    "ResetBeforeGRUCell",
    "SimpleCell",
    "new_cell",
]

CELLS = {
    "simple": SimpleCell,
    "gru": GRUCell,
    "gru-reset-before": ResetBeforeGRUCell,
    "lstm": LSTMCell,
    "layer-norm-gru": LayerNormGRUCell,
    "layer-norm-lstm": LayerNormLSTMCell,
}


def new_cell(kind, units, recurrent_dropout=0.0, **kwargs):
    """A cell by its name, or one with the settings of a Keras cell.

    Args:
        kind: A name in `CELLS`, or a Keras cell: a pattern, of which each call makes
            a new cell with weights of its own.
        units: Positive integer. Width of the state and of the output.
        recurrent_dropout: Float in [0, 1). Share of the state dropped in training,
            the same units at all steps of a sentence; 0 for a Keras cell.
        **kwargs: Further arguments of the cell, such as `dtype` and `name`.

    Returns:
        A `Cell`.

    Raises:
        ValueError: If `kind` is an unknown name, if a Keras cell is not `units` wide,
            or if a Keras cell is to have our dropout.
        TypeError: If `kind` is neither a name nor a Keras cell.
    """
    if isinstance(kind, str):
        cell = CELLS[checks.choice("cell", kind, CELLS)]
        return cell(units, recurrent_dropout=recurrent_dropout, **kwargs)
    KerasCell(kind)  # refuses what is none before it is copied
    cell = KerasCell(type(kind).from_config(kind.get_config()), **kwargs)
    if recurrent_dropout:
        raise ValueError(
            "`recurrent_dropout` must be 0 for a Keras cell, whose products can't be reached from "
            f"outside. Received: recurrent_dropout={recurrent_dropout!r}. Use one of {[*CELLS]}."
        )
    if cell.output_units != units:
        raise ValueError(
            "`units` must be the width of the Keras cell's output, "
            f"{cell.output_units}. Received: units={units!r}"
        )
    return cell
