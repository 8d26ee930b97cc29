"""Readers made of recurrent layers: one direction, or both."""

import keras
from keras import ops

from keras_bahdanau.layers.memory import first_value, last_value
from keras_bahdanau.layers.readers.rnn import new_rnn, read_up_to
from keras_bahdanau.layers.registry import from_config
from keras_bahdanau.settings import checks


class RecurrentReader(keras.layers.Layer):
    """Base of the readers that go through a sentence step by step.

    Padding stands on the right, so a forward direction never sees it before a
    real token. No direction needs a mask, which would take Keras' slow path on
    CPU, and each one runs on cuDNN where its cell can.

    Args:
        units: Positive integer. Width of each direction.
        cell: A name of `layers.CELLS`, or a Keras cell: a pattern, of which each
            direction takes a copy.
        recurrent_dropout: Float in [0, 1). Share of the state that a step does not
            see in training, the same for all steps of a sentence (Gal and
            Ghahramani 2016). The loop then is our own, never cuDNN's.

    Call arguments:
        inputs: Float tensor `(batch, time, input_units)`, right-padded.
        lengths: Int32 tensor `(batch,)`, the number of real steps.
        training: Python bool.

    Output:
        Float tensor `(batch, time, output_units)`; what stands at padded steps
        means nothing.
    """

    def __init__(self, units, cell="gru", recurrent_dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of each direction", units)
        self.recurrent_dropout = checks.rate(
            "recurrent_dropout", "the dropout rate of the state", recurrent_dropout
        )
        is_layer = isinstance(cell, keras.layers.Layer)
        self.cell = keras.saving.serialize_keras_object(cell) if is_layer else cell

    # True while a graph of one padded row is traced, which then ends with its last real step
    stops_early = False

    def read(self, layer, inputs, lengths, training):
        """The output of one direction, `(batch, time, units)`."""
        if self.stops_early and not training:
            return read_up_to(layer, inputs, ops.max(lengths))
        return layer(inputs, training=training)

    def new_direction(self, cell, name):
        """One direction, from the constructor's `cell`."""
        return new_rnn(cell, self.units, self.recurrent_dropout, name=name, dtype=self.dtype_policy)

    @classmethod
    def stack(cls, depth, units, cell, recurrent_dropout, dropout, **kwargs):
        """The layers of an encoder of this depth; dropout between them is its own affair."""
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


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class UnidirectionalRNN(RecurrentReader):
    """Reader from the start of each sentence: h_j depends on the tokens up to j.

    (Sutskever et al. 2014; Luong et al. 2015.)

    Arguments and output: see `RecurrentReader`; the output is `units` wide.
    """

    def __init__(self, units, cell="gru", recurrent_dropout=0.0, **kwargs):
        super().__init__(units, cell, recurrent_dropout, **kwargs)
        self.forward_layer = self.new_direction(cell, "forward")

    @property
    def output_units(self):
        """Width of the output."""
        return self.units

    def build(self, inputs_shape, lengths_shape=None):
        self.forward_layer.build(inputs_shape)

    def call(self, inputs, lengths, training=None):
        return self.read(self.forward_layer, inputs, lengths, training)

    def last(self, values, mask):
        """The state behind the last token, `(batch, output_units)`."""
        return last_value(values, mask)


def reverse_by_length(inputs, lengths):
    """Turn the real part of each row around; the padding behind it stays.

    Args:
        inputs: Tensor `(batch, time, units)`.
        lengths: Int32 tensor `(batch,)`, the number of real steps.
    """
    batch, time = ops.shape(inputs)[0], ops.shape(inputs)[1]
    # -> (1, time)
    steps = ops.expand_dims(ops.arange(time, dtype="int32"), axis=0)
    lengths = ops.expand_dims(lengths, axis=1)  # -> (batch, 1)
    order = ops.where(steps < lengths, lengths - 1 - steps, steps)  # -> (batch, time)
    # start of each sentence in the flat inputs: (batch, 1)
    rows = ops.expand_dims(ops.arange(batch, dtype="int32"), axis=1) * time
    flat = ops.reshape(inputs, (-1, inputs.shape[-1]))  # -> (batch * time, units)
    return ops.reshape(ops.take(flat, rows + order, axis=0), ops.shape(inputs))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BidirectionalRNN(RecurrentReader):
    """Reader from both ends of each sentence: h_j = [forward_j; backward_j].

    (Bahdanau et al. 2015, section 3.2.) The backward direction gets each row
    turned around by its own length, so it too sees padding behind the real
    tokens only.

    Arguments and output: see `RecurrentReader`; the output is `2 * units` wide.
    """

    def __init__(self, units, cell="gru", recurrent_dropout=0.0, **kwargs):
        super().__init__(units, cell, recurrent_dropout, **kwargs)
        self.forward_layer = self.new_direction(cell, "forward")
        self.backward_layer = self.new_direction(cell, "backward")

    @property
    def output_units(self):
        """Width of the output."""
        return 2 * self.units

    def build(self, inputs_shape, lengths_shape=None):
        self.forward_layer.build(inputs_shape)
        self.backward_layer.build(inputs_shape)

    def call(self, inputs, lengths, training=None):
        # turned around: (batch, time, units)
        backward = self.read(
            self.backward_layer, reverse_by_length(inputs, lengths), lengths, training
        )
        forward = self.read(self.forward_layer, inputs, lengths, training)
        # h_j: (batch, time, 2 * units)
        return ops.concatenate([forward, reverse_by_length(backward, lengths)], axis=-1)

    def last(self, values, mask):
        """Both directions' states behind their last token, `(batch, output_units)`."""
        forward = last_value(values[:, :, : self.units], mask)
        return ops.concatenate([forward, self.first_backward(values, mask)], axis=-1)

    def first_backward(self, values, mask):
        """The backward state at the first token, which has read all, `(batch, units)`."""
        return first_value(values[:, :, self.units :], mask)
