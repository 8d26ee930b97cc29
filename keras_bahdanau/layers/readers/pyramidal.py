"""A bidirectional reader that halves the time."""

import keras
from keras import ops

from keras_bahdanau.layers.readers.recurrent import BidirectionalRNN


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PyramidalRNN(BidirectionalRNN):
    """Reader of pairs of steps, from both ends: one value for two inputs.

    h_i^j = BRNN(h_{i-1}^j, [h_{2i}^{j-1}; h_{2i+1}^{j-1}])

    (Chan et al. 2016, "Listen, attend and spell", equation 5.) Where a row has an odd number of
    steps, zeros stand for the missing half of its last pair. By the name "pyramidal" an encoder
    has a `BidirectionalRNN` below and one of these on each further floor: a depth of 3 reduces
    the time by 4. An encoder of text refuses it.

    Arguments: see `RecurrentReader`.

    Output:
        Float tensor `(batch, ceil(time / 2), 2 * units)`; what stands at padded steps means
        nothing.
    """

    reduction = 2

    @classmethod
    def stack(cls, depth, units, cell, recurrent_dropout, dropout, **kwargs):
        """The layers of an encoder of this depth, the lowest of which keeps the time."""
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
