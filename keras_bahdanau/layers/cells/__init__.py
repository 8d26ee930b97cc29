"""Recurrent cells in two parts: what the inputs give, and what the state adds."""

from keras_bahdanau.layers.cells.causal_attention import SelfAttentionCell
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
from keras_bahdanau.layers.cells.parallel import (
    MinGRUCell,
    MinLSTMCell,
    ParallelCell,
    SRUCell,
    SSRUCell,
)
from keras_bahdanau.layers.cells.projected import ProjectedCell
from keras_bahdanau.layers.cells.stack import CellStack
from keras_bahdanau.layers.initializers import BlockOrthogonal
from keras_bahdanau.layers.registry import Registry, from_config

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
    "MinGRUCell",
    "MinLSTMCell",
    "ParallelCell",
    "ProjectedCell",
    "RecurrentCell",
    "ResetBeforeGRUCell",
    "SRUCell",
    "SSRUCell",
    "SelfAttentionCell",
    "SimpleCell",
]


class CellRegistry(Registry):
    """The cells by name; a Keras cell is a pattern, of which each call makes a copy."""

    def get(self, identifier, /, units, recurrent_dropout=0.0, **kwargs):
        """The cell that an identifier stands for.

        Args:
            identifier: A name of this registry; or a Keras cell, one of ours, or the config of
                one: a pattern, of which each call makes a new cell with weights of its own.
            units: Positive integer. Width of the state and of the output.
            recurrent_dropout: Float in [0, 1). Rate at which training drops the state,
                the same units at all steps of a sentence; 0 for a Keras cell.
            **kwargs: Further arguments of the cell, such as `dtype` and `name`.

        Returns:
            A `Cell`.

        Raises:
            ValueError: If there is no cell of this name, if a Keras cell is not `units` wide,
                or if a Keras cell is to have our dropout.
            TypeError: If `identifier` is neither a name nor a Keras cell.
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


CELLS = CellRegistry(
    "cell",
    {
        "simple": SimpleCell,
        "gru": GRUCell,
        "gru-reset-before": ResetBeforeGRUCell,
        "lstm": LSTMCell,
        "layer-norm-gru": LayerNormGRUCell,
        "layer-norm-lstm": LayerNormLSTMCell,
        "ssru": SSRUCell,
        "sru": SRUCell,
        "min-gru": MinGRUCell,
        "min-lstm": MinLSTMCell,
    },
)
