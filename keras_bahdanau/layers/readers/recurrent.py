"""Recurrent readers: unidirectional, bidirectional, and bidirectional over pairs of steps."""

import keras
from keras import ops

from keras_bahdanau.layers.memory import first_value, last_value
from keras_bahdanau.layers.readers.reader import RecurrentReader


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class UnidirectionalRNN(RecurrentReader):
    """Reader that reads each source from start to end (Sutskever et al. 2014).

    The output is `units` wide. In other respects, it is like `BidirectionalRNN`.
    """

    def __init__(self, units, cell="gru", recurrent_dropout=0.0, **kwargs):
        super().__init__(units, cell, recurrent_dropout, **kwargs)
        self.forward_layer = self.new_direction(cell, "forward")

    @property
    def output_units(self):
        return self.units

    def build(self, inputs_shape, lengths_shape=None):
        self.forward_layer.build(inputs_shape)

    def call(self, inputs, lengths, training=None):
        return self.read(self.forward_layer, inputs, lengths, training)

    def last(self, values, mask):
        """Return the state after the last token, `(batch, output_units)`."""
        return last_value(values, mask)


def reverse_by_length(inputs, lengths):
    """Reverse the first `lengths` (int32 `(batch,)`) steps of each row, but not its padding."""
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
    """Bidirectional reader: h_j = [forward_j; backward_j] (Bahdanau et al. 2015, section 3.2).

    For the backward direction, the real tokens of each row are reversed, so that it also sees
    padding only after the real tokens.

    ```python
    encoder = keras_bahdanau.Encoder(6000, 256, readers=[BidirectionalRNN(256, "lstm")])
    ```

    Args:
        units: Positive integer. Width of each direction.
        cell: A name in `layers.CELLS`, or a Keras cell, which each direction copies.
        recurrent_dropout: Float in [0, 1). Fraction of the state dropped in training, the same for
            all steps of a sentence (Gal and Ghahramani 2016). Keras layers are used only if it
            is 0.

    Call arguments:
        inputs: Float tensor `(batch, time, input_units)`, right-padded.
        lengths: Int32 tensor `(batch,)`, number of real steps in each row.
        training: Python bool.

    Output:
        Float tensor `(batch, time, 2 * units)`, undefined at padded steps.

    Raises:
        ValueError: If an argument is out of range.
    """

    def __init__(self, units, cell="gru", recurrent_dropout=0.0, **kwargs):
        super().__init__(units, cell, recurrent_dropout, **kwargs)
        self.forward_layer = self.new_direction(cell, "forward")
        self.backward_layer = self.new_direction(cell, "backward")

    @property
    def output_units(self):
        return 2 * self.units

    def build(self, inputs_shape, lengths_shape=None):
        self.forward_layer.build(inputs_shape)
        self.backward_layer.build(inputs_shape)

    def call(self, inputs, lengths, training=None):
        # reversed: (batch, time, units)
        backward = self.read(
            self.backward_layer, reverse_by_length(inputs, lengths), lengths, training
        )
        forward = self.read(self.forward_layer, inputs, lengths, training)
        # h_j: (batch, time, 2 * units)
        return ops.concatenate([forward, reverse_by_length(backward, lengths)], axis=-1)

    def last(self, values, mask):
        """Return the states of both directions after their last token, `(batch, output_units)`."""
        forward = last_value(values[:, :, : self.units], mask)
        return ops.concatenate([forward, self.first_backward(values, mask)], axis=-1)

    def first_backward(self, values, mask):
        """Return the backward state at the first token, `(batch, units)`."""
        return first_value(values[:, :, self.units :], mask)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PyramidalRNN(BidirectionalRNN):
    """Bidirectional reader of pairs of steps, which makes one value from two inputs.

    h_i^j = BRNN(h_{i-1}^j, [h_{2i}^{j-1}; h_{2i+1}^{j-1}])

    (Chan et al. 2016, "Listen, attend and spell", equation 5.) If the number of steps is odd, the
    last pair is completed with zeros. The output is `(batch, ceil(time / 2), 2 * units)`. An
    encoder of kind "pyramidal" has a `BidirectionalRNN` as its lowest layer, so a depth of 3
    shortens the time axis by a factor of 4.
    """

    reduction = 2

    @classmethod
    def stack(cls, depth, units, cell, recurrent_dropout, dropout, **kwargs):
        """Return `depth` layers for an encoder; the lowest does not shorten the time axis."""
        floors = [BidirectionalRNN, *[cls] * (depth - 1)]
        return [
            floor(units, cell, recurrent_dropout, name=f"rnn_{index}", **kwargs)
            for index, floor in enumerate(floors)
        ]

    def build(self, inputs_shape, lengths_shape=None):
        batch, time, width = inputs_shape
        super().build((batch, time if time is None else -(-time // 2), 2 * width))

    def call(self, inputs, lengths, training=None):
        time, width = ops.shape(inputs)[1], inputs.shape[-1]
        real = ops.arange(time, dtype="int32") < ops.expand_dims(lengths, axis=1)
        inputs = ops.where(ops.expand_dims(real, axis=-1), inputs, ops.zeros_like(inputs))
        even = ops.pad(inputs, ((0, 0), (0, time % 2), (0, 0)))
        # -> (batch, ceil(time / 2), 2 * width)
        pairs = ops.reshape(even, (-1, (time + 1) // 2, 2 * width))
        return super().call(pairs, (lengths + 1) // 2, training=training)

    def compute_output_shape(self, inputs_shape, lengths_shape=None):
        batch, time = inputs_shape[:2]
        return (batch, time if time is None else -(-time // 2), self.output_units)
