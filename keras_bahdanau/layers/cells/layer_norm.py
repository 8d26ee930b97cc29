"""Cells with layer normalization of each matrix product, before the gates."""

import itertools

import keras
from keras import ops

from keras_bahdanau.layers.cells.gated import GRUCell, LSTMCell

EPSILON = 1e-5


class NormalizedDense(keras.layers.Layer):
    """Dense layer with layer normalization of each block of its outputs (Ba et al. 2016, 3.1).

    LN(W x; alpha, beta) is computed in float32, separately for each of the blocks, whose widths are
    `sizes`:

    LN(a; alpha, beta) = alpha * (a - mean(a)) / sqrt(variance(a) + 1e-5) + beta
    """

    def __init__(self, sizes, kernel_initializer, **kwargs):
        super().__init__(**kwargs)
        self.sizes = sizes
        self.ends = [*itertools.accumulate(sizes)][:-1]
        self.product = keras.layers.Dense(
            sum(sizes),
            use_bias=False,
            kernel_initializer=kernel_initializer,
            dtype=self.dtype_policy,
            name="product",
        )
        self.norms = [_norm(self.dtype_policy, f"norm_{index}") for index in range(len(sizes))]

    def build(self, inputs_shape):
        self.product.build(inputs_shape)
        for norm, size in zip(self.norms, self.sizes, strict=True):
            norm.build((None, size))

    def call(self, inputs):
        product = self.product(inputs)
        if not self.ends:
            return self.norms[0](product)
        blocks = ops.split(product, self.ends, axis=-1)  # -> (..., size) for each size
        return ops.concatenate(
            [norm(block) for norm, block in zip(self.norms, blocks, strict=True)], axis=-1
        )


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LayerNormGRUCell(GRUCell):
    """Layer-normalized GRU (Ba et al. 2016, supplementary material, z and 1 - z exchanged).

    (z, r) = sigmoid(LN(W_zr x) + LN(U_zr h))
    g = tanh(LN(W x) + r * LN(U h))
    h' = z * h + (1 - z) * g

    Each LN has its own gain and bias. If there is a context, LN(C c) is added to the LN of the
    input.
    """

    def projection(self, name, gates, initializer, use_bias=True):
        sizes = (2 * self.units, self.units)
        return NormalizedDense(sizes, initializer, dtype=self.dtype_policy, name=name)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LayerNormLSTMCell(LSTMCell):
    """Layer-normalized LSTM with two states, (h, c) (Ba et al. 2016, supplementary material).

    (i, f, g, o) = LN(W x) + LN(U h), with one LN over all four blocks
    c' = sigmoid(f + 1) * c + sigmoid(i) * tanh(g)
    h' = sigmoid(o) * tanh(LN(c'))
    """

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.memory_norm = _norm(self.dtype_policy, "memory_norm")

    def build(self, inputs_shape, context_shape=None, states_shape=None):
        super().build(inputs_shape, context_shape)
        self.memory_norm.build((None, self.units))

    def projection(self, name, gates, initializer, use_bias=True):
        sizes = (gates * self.units,)
        return NormalizedDense(sizes, initializer, dtype=self.dtype_policy, name=name)

    def output_memory(self, c):
        return self.memory_norm(c)


def _norm(dtype, name):
    return keras.layers.LayerNormalization(epsilon=EPSILON, dtype=dtype, name=name)
