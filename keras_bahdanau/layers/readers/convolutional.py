"""Convolutional reader with position embeddings and residual convolutions."""

import keras
from keras import ops

from keras_bahdanau.layers.readers.reader import StatelessReader
from keras_bahdanau.settings import checks


def _tanh(convolved, inputs):
    return ops.tanh(convolved + inputs)


def _gated(convolved, inputs):
    content, gate = ops.split(convolved, 2, axis=-1)  # -> 2 of (batch, time, units)
    return (content * ops.sigmoid(gate) + inputs) * 0.5**0.5  # preserves the variance


BLOCKS = {"glu": (_gated, 2), "tanh": (_tanh, 1)}  # name -> (residual block, kernels per unit)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ConvolutionalReader(StatelessReader):
    """Convolutional reader, which combines each token with its neighbors, all in parallel.

    x_j^0 = W (e_j + p_j) + b                              p_j: embedding of position j
    x^l   = tanh(conv(x^{l-1}) + x^{l-1})                  (Gehring et al. 2017a, section 3)
    x^l   = (glu(conv(x^{l-1})) + x^{l-1}) / sqrt(2)       (Gehring et al. 2017b)

    (2017a: "A convolutional encoder model for neural machine translation"; 2017b: "Convolutional
    sequence to sequence learning".) Padding is set to zero before each convolution. With kernels of
    width k, a value depends on depth * (k - 1) / 2 tokens on each side.

    `depth` is the number of convolutions, and `activation` is "glu" or "tanh". `positions` is the
    number of position embeddings; all later positions share the last one. `dropout` is the dropout
    rate before each convolution. The output is `units` wide. For calls, see `BidirectionalRNN`.
    """

    stack_name = "convolutions"

    def __init__(
        self, units, depth=1, kernel_size=3, activation="glu", positions=512, dropout=0.0, **kwargs
    ):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the values", units)
        self.depth = checks.positive_integer("depth", "the number of convolutions", depth)
        self.kernel_size = checks.positive_integer("kernel_size", "the tokens seen", kernel_size)
        self.activation = checks.choice("activation", activation, BLOCKS)
        self.positions = checks.positive_integer("positions", "the positions known", positions)
        self.dropout = checks.rate("dropout", "the dropout rate", dropout)
        policy = {"dtype": self.dtype_policy}
        self.input_projection = keras.layers.Dense(units, name="input_projection", **policy)
        self.join, width = BLOCKS[activation]
        padding = {"padding": "same", "data_format": "channels_last", **policy}
        self.convolutions = [
            keras.layers.Conv1D(width * units, kernel_size, name=f"convolution_{index}", **padding)
            for index in range(depth)
        ]
        self.dropouts = [keras.layers.Dropout(dropout, **policy) for _ in range(depth)]

    def build(self, inputs_shape, lengths_shape=None):
        width = inputs_shape[-1]
        self.table = self.add_weight(
            name="positions",
            shape=(self.positions, width),
            initializer=keras.initializers.RandomNormal(stddev=width**-0.5),
        )
        self.input_projection.build(inputs_shape)
        for convolution in self.convolutions:
            convolution.build((None, None, self.units))

    def call(self, inputs, lengths, training=None):
        steps = ops.arange(ops.shape(inputs)[1], dtype="int32")
        # p_j: (time, input_units)
        positions = ops.take(self.table, ops.minimum(steps, self.positions - 1), axis=0)
        values = self.input_projection(inputs + positions)  # -> (batch, time, units)
        # -> (batch, time, 1)
        real = ops.expand_dims(steps < ops.expand_dims(lengths, axis=1), axis=-1)
        for convolution, dropout in zip(self.convolutions, self.dropouts, strict=True):
            seen = dropout(ops.where(real, values, ops.zeros_like(values)), training=training)
            values = self.join(convolution(seen), values)  # x^l: (batch, time, units)
        return values

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "depth": self.depth,
            "kernel_size": self.kernel_size,
            "activation": self.activation,
            "positions": self.positions,
            "dropout": self.dropout,
        }
