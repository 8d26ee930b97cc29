"""A bidirectional RNN for right-padded sentences, without masks inside the loops."""

import keras
from keras import ops

from keras_bahdanau.layers import checks

CELLS = {"gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


def reverse_by_length(inputs, lengths):
    """Turns the real part of each row around; the padding behind it stays.

    Args:
        inputs: Tensor `(batch, time, units)`.
        lengths: Int32 tensor `(batch,)`, the number of real steps.
    """
    batch, time = ops.shape(inputs)[0], ops.shape(inputs)[1]
    steps = ops.expand_dims(ops.arange(time, dtype="int32"), axis=0)
    lengths = ops.expand_dims(lengths, axis=1)
    order = ops.where(steps < lengths, lengths - 1 - steps, steps)  # -> (batch, time)
    rows = ops.expand_dims(ops.arange(batch, dtype="int32"), axis=1) * time
    flat = ops.reshape(inputs, (-1, inputs.shape[-1]))
    return ops.reshape(ops.take(flat, rows + order, axis=0), ops.shape(inputs))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BidirectionalRNN(keras.layers.Layer):
    """Reads each sentence from both ends: h_j = [forward_j; backward_j].

    (Bahdanau et al. 2015, section 3.2.) Padding stands on the right, so the
    forward direction never sees it before a real token; the backward one gets
    each row turned around by its own length. So neither needs a mask, which
    would take Keras' slow path on CPU, and both run on cuDNN where there is one.

    Args:
        units: Positive integer. Width of each direction.
        cell: "gru" or "lstm".

    Call arguments:
        inputs: Float tensor `(batch, time, input_units)`, right-padded.
        lengths: Int32 tensor `(batch,)`, the number of real steps.

    Output:
        Float tensor `(batch, time, 2 * units)`; what stands at padded steps
        means nothing.
    """

    def __init__(self, units, cell="gru", **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of each direction", units)
        self.cell = checks.choice("cell", cell, CELLS)
        rnn = {"return_sequences": True, "dtype": self.dtype_policy}
        self.forward = CELLS[cell](units, name="forward", **rnn)
        self.backward = CELLS[cell](units, name="backward", **rnn)

    def build(self, inputs_shape, lengths_shape=None):
        self.forward.build(inputs_shape)
        self.backward.build(inputs_shape)

    def call(self, inputs, lengths):
        backward = self.backward(reverse_by_length(inputs, lengths))
        return ops.concatenate(
            [self.forward(inputs), reverse_by_length(backward, lengths)], axis=-1
        )

    def compute_output_shape(self, inputs_shape, lengths_shape=None):
        return (*inputs_shape[:-1], 2 * self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "cell": self.cell}
