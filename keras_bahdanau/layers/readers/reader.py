"""Base classes of the readers, and a recurrent layer in one direction for any cell."""

import functools

import keras
from keras import ops

from keras_bahdanau.layers.cells.keras_cell import CELLS, KerasCell
from keras_bahdanau.layers.initializers import ORTHOGONAL
from keras_bahdanau.layers.memory import masked_mean
from keras_bahdanau.layers.registry import CompositeLayer, from_config
from keras_bahdanau.settings import checks

STOCK = {  # cells for which Keras has a layer, which is fast on CPU and in some cases uses cuDNN
    "simple": keras.layers.SimpleRNN,
    "gru": keras.layers.GRU,
    "gru-reset-before": functools.partial(keras.layers.GRU, reset_after=False),
    "lstm": keras.layers.LSTM,
}


def new_rnn(cell, units, recurrent_dropout=0.0, **kwargs):
    """Return a left-to-right layer `(batch, time, input_units) -> (batch, time, units)`.

    Uses the Keras layer of the cell, if there is one. With recurrent dropout, the layer scans a
    cell of this package instead, because the Keras layer would draw masks even in inference, and
    therefore in every export.
    """
    if isinstance(cell, str) and cell in STOCK and not recurrent_dropout:
        options = {"return_sequences": True, "recurrent_initializer": ORTHOGONAL}
        return STOCK[cell](units, **options, **kwargs)
    dtype = kwargs.get("dtype")
    cell = CELLS.get(cell, units, recurrent_dropout=recurrent_dropout, name="cell", dtype=dtype)
    return ScannedRNN(cell, **kwargs)


def read_up_to(layer, inputs, steps):
    """Return the output of a `new_rnn` layer for the first `steps`; later outputs are undefined."""
    scanned = isinstance(layer, ScannedRNN)
    # the Keras cell is already built, and its wrapper adds no weights
    cell = layer.cell if scanned else KerasCell(layer.cell, dtype=layer.dtype_policy)
    return cell.sequence(cell.project(inputs), _zeros(cell.state_sizes, inputs), steps=steps)


def state_sizes(layer):
    """Return the widths of the states of a `new_rnn` layer."""
    if isinstance(layer, ScannedRNN):
        return layer.cell.state_sizes
    sizes = layer.cell.state_size
    return tuple(sizes) if isinstance(sizes, list | tuple) else (sizes,)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ScannedRNN(keras.layers.Layer):
    """Left-to-right layer with a cell of this package: h_t = f(x_t, h_{t-1}), h_0 = 0.

    `initial_state`, a list of tensors `(batch, size)`, replaces h_0 = 0.
    """

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        self.cell = cell

    def build(self, inputs_shape):
        self.cell.build(inputs_shape)

    def call(self, inputs, initial_state=None, training=None):
        if initial_state is None:
            initial_state = _zeros(state_sizes(self), inputs)
        dropout_masks = self.cell.dropout_masks(ops.shape(inputs)[0], training)
        # the projections of all steps in one product: (batch, time, any width)
        return self.cell.sequence(self.cell.project(inputs), tuple(initial_state), dropout_masks)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.cell.output_units)

    def get_config(self):
        return {**super().get_config(), "cell": keras.saving.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "cell": from_config(config["cell"])})


def _zeros(sizes, inputs):
    """Return h_0 for each row, a tuple of tensors `(batch, size)`."""
    return tuple(ops.zeros((ops.shape(inputs)[0], size), inputs.dtype) for size in sizes)


class RecurrentReader(CompositeLayer):
    """Base class of readers that read a source step by step.

    Padding is on the right, so a forward direction never sees it before a real token. No direction
    needs a mask, which would make Keras slow on CPU. Each direction uses cuDNN if its cell supports
    it. For arguments, calls and errors, see `BidirectionalRNN`.
    """

    def __init__(self, units, cell="gru", recurrent_dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of each direction", units)
        self.recurrent_dropout = checks.rate(
            "recurrent_dropout", "the dropout rate of the state", recurrent_dropout
        )
        is_layer = isinstance(cell, keras.layers.Layer)
        self.cell = keras.saving.serialize_keras_object(cell) if is_layer else cell

    # True while tracing a graph for a single padded row, to stop after its last real step
    stops_early = False

    def read(self, layer, inputs, lengths, training):
        """Return the output of one direction, `(batch, time, units)`."""
        if self.stops_early and not training:
            return read_up_to(layer, inputs, ops.max(lengths))
        return layer(inputs, training=training)

    def new_direction(self, cell, name):
        """Return a new layer for one direction, where `cell` is as in the constructor."""
        return new_rnn(cell, self.units, self.recurrent_dropout, name=name, dtype=self.dtype_policy)

    @classmethod
    def stack(cls, depth, units, cell, recurrent_dropout, dropout, **kwargs):
        """Return `depth` layers for an encoder, which applies dropout between them."""
        return [
            cls(units, cell, recurrent_dropout, name=f"rnn_{index}", **kwargs)
            for index in range(depth)
        ]

    def compute_output_shape(self, inputs_shape, lengths_shape=None):
        return (*inputs_shape[:-1], self.output_units)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "cell": self.cell,
            "recurrent_dropout": self.recurrent_dropout,
        }

    @classmethod
    def from_config(cls, config):
        cell = config["cell"]
        return cls(**{**config, "cell": from_config(cell) if isinstance(cell, dict) else cell})


class StatelessReader(CompositeLayer):
    """Base class of readers that read all steps in parallel, with the whole depth in one layer.

    Subclasses implement `build` and `call`. `stack_name` is the name of the layer that `stack`
    returns.
    """

    stack_name = None

    @classmethod
    def stack(cls, depth, units, cell, recurrent_dropout, dropout, **kwargs):
        """Return a list of one layer of this depth; raise ValueError for `recurrent_dropout`."""
        if recurrent_dropout:
            raise ValueError(
                "`recurrent_dropout` works only for readers with a recurrent state. Received: "
                f"recurrent_dropout={recurrent_dropout} for {cls.__name__}. Use `dropout`."
            )
        return [cls(units, depth, dropout=dropout, name=cls.stack_name, **kwargs)]

    @property
    def output_units(self):
        return self.units

    def last(self, values, mask):
        """Return the mean of the values, `(batch, output_units)`, since there is no last state."""
        return masked_mean(values, mask)

    def compute_output_shape(self, inputs_shape, lengths_shape=None):
        return (*inputs_shape[:-1], self.units)
